# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The stacks that are measured beside each other on this host, and how each gets a link.

Plumb, lwIP and smoltcp are each a process over a TAP device, which does as much as the stack
asks for. The kernel has no such device to itself: its TCP is measured from one namespace to
another over a pair of virtual Ethernet devices, which costs it no system call per frame; as it
is, where segments of up to 64 KB cross the pair as one and nobody sums anything, and with frames
of one segment.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import build, lwip, smoltcp
from .errors import LabError
from .network import BOARD_ADDRESS, HOST_ADDRESS, TAP_NAME, TapNetwork, ip
from .payload import of_plumb
from .profile import Firmware

IDLE = Firmware({"idle": ("*:board_idle",)}, lambda program: ())
READY_S = 10.0


@dataclass(frozen=True, eq=False)
class Contender:
    """A stack in one of its ways; `program` is None for the kernel."""

    stack: str
    variant: str
    title: str
    program: Callable[[], Path] | None = None
    offload: str = ""
    about: Firmware = IDLE
    has_single_segments: bool = False  # of the kernel


def _plumb(offload: str, title: str) -> Contender:
    about = Firmware({"idle": ("boards/*:board_idle",)}, of_plumb)
    return Contender(
        "plumb", offload, title, lambda: build.firmware("linux", "iperf"), offload, about
    )


CONTENDERS = (
    _plumb("none", "Plumb, nothing left to the device"),
    _plumb("checksums", "Plumb, checksums left to it"),
    _plumb("segments", "Plumb, checksums and segmentation left to it"),
    Contender("lwip", "tuned", "lwIP 2.1.3, tuned", lambda: lwip.process("tuned")),
    Contender(
        "lwip", "assembly", "the same, with Plumb's checksum", lambda: lwip.process("assembly")
    ),
    Contender("smoltcp", "default", f"smoltcp {smoltcp.VERSION}", smoltcp.process),
    Contender("linux", "segments", "the kernel, from one namespace to another"),
    Contender(
        "linux", "none", "the same, with frames of one segment", has_single_segments=True
    ),
)


@contextmanager
def kernel(has_single_segments: bool) -> Iterator[TapNetwork]:
    """An iperf server in a namespace of its own, at the board's address."""
    words = ["setpriv", "--pdeathsig", "KILL", "unshare", "-n", "iperf", "-s"]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    other = TAP_NAME + "-peer"
    try:
        _wait_for_namespace(server)
        ip("link", "add", TAP_NAME, "type", "veth", "peer", "name", other)
        ip("link", "set", other, "netns", str(server.pid))
        more = ["gso_max_segs", "1"] if has_single_segments else []
        ip("address", "add", f"{HOST_ADDRESS}/24", "dev", TAP_NAME)
        ip("link", "set", TAP_NAME, *more, "up")
        _inside(server, "ip", "address", "add", f"{BOARD_ADDRESS}/24", "dev", other)
        _inside(server, "ip", "link", "set", other, *more, "up")
        yield Link()
    finally:
        server.kill()
        server.wait()
        subprocess.run(["ip", "link", "delete", TAP_NAME], capture_output=True)


class Link(TapNetwork):
    """The pair of devices, made and removed by whoever has the server."""

    def __post_init__(self) -> None:
        """There is nothing to make."""

    def close(self) -> None:
        """There is nothing to give back."""


def _wait_for_namespace(server: subprocess.Popen) -> None:
    deadline = time.monotonic() + READY_S
    ours = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{server.pid}/ns/net") == ours:
        if server.poll() is not None or time.monotonic() > deadline:
            raise LabError("the kernel's iperf server did not start")
        time.sleep(0.01)


def _inside(server: subprocess.Popen, *words: str) -> None:
    build.run(["nsenter", "-t", str(server.pid), "-n", *words], "setting up a namespace")
