# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the protocol analyser says of a capture."""

import subprocess
from ipaddress import IPv4Address
from pathlib import Path

from lab.network import HOST_ADDRESS

LIMIT_S = 180
MALFORMED = "(_ws.malformed || _ws.expert.group == malformed)"
SUM_IS_WRONG = (
    "(ip.checksum.status == 0 || icmp.checksum.status == 0"
    " || tcp.checksum.status == 0 || udp.checksum.status == 0)"
)
# The last two are all that a frame has whose checksum is left to a device.
FIELDS = ("ip.src", "ip.dst", "ip.proto", "ip.len", "ip.hdr_len", "tcp.checksum", "udp.checksum")


def frames(capture: Path, condition: str, *options: str) -> list[str]:
    """The frames of a capture that meet a condition, a line for each."""
    words = ["tshark", "-n", "-r", str(capture), "-Y", condition, *options]
    for protocol in ("ip", "tcp", "udp"):
        words += ["-o", f"{protocol}.check_checksum:TRUE"]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def is_left_to_the_device(fields: str) -> bool:
    """Whether a checksum is that of the pseudo-header alone, which a device completes."""
    source, to, protocol, length, header, *sums = fields.split("\t")
    if not any(sums) or "," in fields:
        return False
    words = [int(IPv4Address(source)), int(IPv4Address(to)), int(protocol)]
    total = sum((word >> 16) + (word & 0xFFFF) for word in words) + int(length) - int(header)
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return total == int(next(s for s in sums if s), 16)


def wrong_frames(capture: Path) -> list[str]:
    """What a board has sent that is malformed, or has a checksum that is wrong."""
    ours = f"!(ip.src == {HOST_ADDRESS})"
    wrong = frames(capture, f"{ours} && ({MALFORMED} || {SUM_IS_WRONG})")
    if not wrong:
        return []
    found = frames(capture, f"{ours} && {MALFORMED}")
    words = [word for name in FIELDS for word in ("-e", name)]
    told = frames(capture, f"{ours} && !{MALFORMED} && {SUM_IS_WRONG}", "-T", "fields", *words)
    whole = frames(capture, f"{ours} && ip.checksum.status == 0")
    return found + whole + [line for line in told if not is_left_to_the_device(line)]
