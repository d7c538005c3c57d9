# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What looks through the other tests' captures finds what is put into one on purpose."""

import struct
from ipaddress import IPv4Address
from pathlib import Path

import pytest
import wire

from lab.network import BOARD_ADDRESS, HOST_ADDRESS

ICMP, TCP, UDP = 1, 6, 17
SUM_AT = {ICMP: 2, TCP: 16, UDP: 6}


def checksum(data: bytes) -> int:
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return total ^ 0xFFFF


def with_sum(data: bytes, at: int, value: int) -> bytes:
    """With a checksum in its place."""
    return data[:at] + struct.pack(">H", value) + data[at + 2 :]


def pseudo_header(source: str, to: str, protocol: int, length: int) -> bytes:
    """Of a segment or datagram."""
    return IPv4Address(source).packed + IPv4Address(to).packed + struct.pack(">HH", protocol, length)


def body_of(protocol: int) -> bytes:
    """A message without its checksum."""
    if protocol == ICMP:
        return struct.pack(">BBHHH", 8, 0, 0, 1, 1) + b"abcdefgh"
    if protocol == UDP:
        return struct.pack(">HHHH", 7, 5000, 16, 0) + b"abcdefgh"
    return struct.pack(">HHIIBBHHH", 7, 5000, 1, 1, 0x50, 0x18, 8192, 0, 0) + b"abcdefgh"


def frame(protocol: int, wrong: str = "", source: str = BOARD_ADDRESS) -> bytes:
    """A frame from the board, with something wrong."""
    to = HOST_ADDRESS if source == BOARD_ADDRESS else BOARD_ADDRESS
    body = body_of(protocol)
    if wrong == "malformed":
        body = body[:12] + b"\xf0" + body[13:] if protocol == TCP else body[:4] + b"\0\3" + body[6:]
    over = b"" if protocol == ICMP else pseudo_header(source, to, protocol, len(body))
    right = checksum(over + body)
    if wrong == "left to the device":
        right = 0
    body = with_sum(body, SUM_AT[protocol], right ^ (wrong == "sum"))
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0)
    head += IPv4Address(source).packed + IPv4Address(to).packed
    head = with_sum(head, 10, checksum(head) ^ (wrong == "header"))
    return bytes.fromhex("020000000002 020000000001 0800") + head + body


def capture_of(path: Path, *frames: bytes) -> Path:
    """A capture of these."""
    records = b"".join(struct.pack("<IIII", n, 0, len(f), len(f)) + f for n, f in enumerate(frames))
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + records)
    return path


@pytest.mark.parametrize(
    ("protocol", "wrong"),
    [(p, w) for p in (ICMP, TCP, UDP) for w in ("sum", "header")] + [(TCP, "malformed"), (UDP, "malformed")],
)
def test_what_is_wrong_is_found(tmp_path: Path, protocol: int, wrong: str):
    right = [frame(ICMP), frame(TCP), frame(UDP)]
    path = capture_of(tmp_path / "wrong.pcap", *right, frame(protocol, wrong), *right)
    assert len(wire.wrong_frames(path)) == len(wire.wrong_frames(path, leaves_sums=True)) == 1


def test_what_is_right_is_left(tmp_path: Path):
    rights = [frame(ICMP), frame(TCP), frame(UDP)]
    rights += [frame(p, "sum", HOST_ADDRESS) for p in (TCP, UDP)]  # the host's own affair
    assert wire.wrong_frames(capture_of(tmp_path / "right.pcap", *rights)) == []


def test_what_is_left_to_the_device_is_wrong_unless_it_may_be(tmp_path: Path):
    path = capture_of(tmp_path / "left.pcap", frame(TCP, "left to the device"), frame(TCP))
    assert len(wire.wrong_frames(path)) == 1
    assert wire.wrong_frames(path, leaves_sums=True) == []
