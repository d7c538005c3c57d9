# SPDX-License-Identifier: Apache-2.0 OR MIT
"""TCP segments in IPv4: made, read, and written as scripts write them."""

import socket
import struct
from dataclasses import dataclass, field

FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16, "U": 32, "E": 64, "W": 128}
MASK = 0xFFFFFFFF
PLAIN = {"nop": b"\x01", "eol": b"\x00", "sackOK": b"\x04\x02"}


def checksum(data: bytes) -> int:
    """The Internet checksum."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Segment:
    """A segment, its numbers as in the header."""

    source: tuple[str, int]
    destination: tuple[str, int]
    flags: str = "A"
    seq: int = 0
    ack: int = 0
    win: int = 65535
    options: bytes = b""
    payload: bytes = b""
    tos: int = 0
    faults: list[str] = field(default_factory=list)


def pseudo_header(segment: Segment, length: int) -> bytes:
    """What the checksum begins with."""
    ends = (segment.source, segment.destination)
    return b"".join(socket.inet_aton(end[0]) for end in ends) + struct.pack(">BBH", 0, 6, length)


def build(segment: Segment) -> bytes:
    """The packet."""
    flags = sum(FLAGS[f] for f in segment.flags if f != ".")
    header = struct.pack(
        ">HHIIBBHHH",
        segment.source[1],
        segment.destination[1],
        segment.seq & MASK,
        segment.ack & MASK,
        (20 + len(segment.options)) // 4 << 4,
        flags,
        segment.win,
        0,
        0,
    )
    tcp = header + segment.options + segment.payload
    total = checksum(pseudo_header(segment, len(tcp)) + tcp)
    tcp = tcp[:16] + total.to_bytes(2, "big") + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, segment.tos, 20 + len(tcp), 0, 0x4000, 64, 6, 0)
    ip += socket.inet_aton(segment.source[0]) + socket.inet_aton(segment.destination[0])
    return ip[:10] + checksum(ip).to_bytes(2, "big") + ip[12:] + tcp


def parse(packet: bytes) -> Segment:
    """A packet that was sent, and what is wrong with it."""
    head = (packet[0] & 15) * 4
    total = int.from_bytes(packet[2:4], "big")
    tcp = packet[head:total]
    ports = struct.unpack(">HH", tcp[:4])
    seq, ack = struct.unpack(">II", tcp[4:12])
    offset = (tcp[12] >> 4) * 4
    segment = Segment(
        source=(socket.inet_ntoa(packet[12:16]), ports[0]),
        destination=(socket.inet_ntoa(packet[16:20]), ports[1]),
        flags="".join(name for name, bit in FLAGS.items() if tcp[13] & bit),
        seq=seq,
        ack=ack,
        win=int.from_bytes(tcp[14:16], "big"),
        options=tcp[20:offset],
        payload=tcp[offset:],
        tos=packet[1],
    )
    if packet[9] != 6:
        segment.faults.append(f"protocol {packet[9]}")
    if checksum(packet[:head]):
        segment.faults.append("IPv4 checksum")
    if checksum(pseudo_header(segment, len(tcp)) + tcp):
        segment.faults.append("TCP checksum")
    return segment


def build_option(text: str, base: int = 0) -> bytes:
    """One option; the numbers of `sack` are relative to `base`."""
    name, *values = text.split()
    if name in PLAIN:
        return PLAIN[name]
    if name == "mss":
        return struct.pack(">BBH", 2, 4, int(values[0]))
    if name == "wscale":
        return struct.pack(">BBB", 3, 3, int(values[0]))
    if name == "TS":
        return struct.pack(">BBII", 8, 10, int(values[0]) & MASK, int(values[1]) & MASK)
    if name == "sack":
        edges = [base + int(edge) & MASK for block in values for edge in block.split(":")]
        return struct.pack(f">BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
    if name == "raw":
        return bytes.fromhex(values[0])
    raise ValueError(f"no option is called {name}")


def build_options(text: str, base: int = 0) -> bytes:
    """Several with commas between, filled up to a word by NOPs in front."""
    made = b"".join(build_option(part.strip(), base) for part in text.split(",") if part.strip())
    return b"\x01" * (-len(made) % 4) + made


def describe_options(options: bytes, base: int = 0) -> str:
    """The same the other way, NOPs and all."""
    parts, at = [], 0
    while at < len(options):
        kind = options[at]
        if kind in (0, 1):
            parts.append("eol" if kind == 0 else "nop")
            at += 1
            continue
        length = options[at + 1]
        value = options[at + 2 : at + length]
        at += max(length, 2)
        parts.append(describe_option(kind, value, base))
    return ", ".join(parts)


def describe_option(kind: int, value: bytes, base: int) -> str:
    """One of them."""
    if kind == 2:
        return f"mss {int.from_bytes(value, 'big')}"
    if kind == 3:
        return f"wscale {value[0]}"
    if kind == 4:
        return "sackOK"
    if kind == 8:
        return "TS {} {}".format(*struct.unpack(">II", value))
    if kind == 5:
        edges = [edge - base & MASK for edge in struct.unpack(f">{len(value) // 4}I", value)]
        blocks = zip(edges[::2], edges[1::2], strict=True)
        return "sack " + " ".join(f"{left}:{right}" for left, right in blocks)
    return f"raw {bytes((kind, len(value) + 2)).hex()}{value.hex()}"
