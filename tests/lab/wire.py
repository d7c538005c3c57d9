# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the protocol analyser says of a capture."""

import subprocess
from pathlib import Path

from lab.network import HOST_ADDRESS

LIMIT_S = 180
# The host leaves its checksums to a device that there is not: they are wrong in a capture.
OURS = f"!(ip.src == {HOST_ADDRESS})"
MALFORMED = "_ws.malformed || _ws.expert.group == malformed"
SUMS = " || ".join(f"{p}.checksum.status == 0" for p in ("ip", "icmp", "tcp", "udp"))
# What a board leaves to its device is zero where it is captured.
SUMS_OR_LEFT = SUMS.replace("tcp.checksum.status", "tcp.checksum != 0 && tcp.checksum.status")


def frames(capture: Path, condition: str) -> list[str]:
    """The frames of a capture that meet a condition, a line for each."""
    words = ["tshark", "-n", "-r", str(capture), "-Y", condition]
    for protocol in ("ip", "tcp", "udp"):
        words += ["-o", f"{protocol}.check_checksum:TRUE"]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def wrong_frames(capture: Path, leaves_sums: bool = False) -> list[str]:
    """What a board has sent that is malformed, or has a checksum that is wrong; of one that
    `leaves_sums` to its device, those of TCP that are there at all."""
    return frames(capture, f"{OURS} && ({MALFORMED} || {SUMS_OR_LEFT if leaves_sums else SUMS})")
