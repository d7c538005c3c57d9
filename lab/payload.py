# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where payload lies in a firmware's memory, and how often the processor touched it.

The counting plugin counts loads and stores of each byte of a buffer (lab/plugin/buffers.h).
Which of these bytes are payload follows from where a frame, or what is sent, begins in a
buffer, and from the length of the headers before: without options, as in all of the
transfers that are measured. What has options (SYN) is no part of an interval.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import variables
from .errors import LabError
from .paths import ROOT

# Ethernet, IPv4, and TCP or UDP.
HEADERS = {"tcp": 14 + 20 + 20, "udp": 14 + 20 + 8}
EVERYTHING = 0


@dataclass(frozen=True)
class Buffers:
    """An array of buffers: a variable of the firmware, or a member of one."""

    variable: str
    stride: int | None = None  # None: the size of the variable's elements
    begins: dict[str, int] | int = 0  # where payload does, by protocol
    # Of a heap, where it may begin anywhere: the functions that copy payload there.
    copied_by: tuple[str, ...] = ()
    count: int = 0  # how many there are, if the stride is to follow from that

    def stride_in(self, memory: variables.Memory) -> int:
        """From one buffer to the next."""
        if self.count:
            return memory.size // self.count
        return memory.row if self.stride is None else self.stride

    def first_byte(self, case: str) -> int:
        """Where in each buffer payload begins in a case, such as tcp_rx."""
        if isinstance(self.begins, int):
            return self.begins
        return self.begins[case.partition("_")[0]]


@dataclass(frozen=True)
class Place:
    """Buffers, found in a program."""

    buffers: Buffers
    address: int
    size: int
    stride: int

    def line(self) -> str:
        """As the plugin's map has it."""
        name = self.buffers.variable
        if self.buffers.copied_by:
            return f"heap {self.address:x} {self.size:x} {name}"
        return f"buffers {self.address:x} {self.size:x} {self.stride:x} {name}"


def find(program: Path, wanted: Iterable[Buffers]) -> list[Place]:
    """Those of the buffers that a program has."""
    known = {b.variable: b for b in wanted}
    found = variables.find(program, list(known))
    return [
        Place(known[name], memory.address, memory.size, known[name].stride_in(memory))
        for name, memory in found.items()
    ]


def touched(counted: list[dict], places: Iterable[Place], case: str) -> tuple[int, int]:
    """Bytes of payload loaded and stored, of what the plugin counted in `buffers`."""
    first = {place.buffers.variable: place.buffers.first_byte(case) for place in places}
    sums = {"loads": 0, "stores": 0}
    for buffers in counted:
        begin = first[buffers["name"]]
        for kind in sums:
            for place, length, times in buffers[kind]:
                sums[kind] += times * max(0, place + length - max(begin, place))
    return sums["loads"], sums["stores"]


# ---- Plumb's own firmware ----

# Frames land on a word, and not at two bytes behind one, with any of these.
ON_A_WORD = ("PLUMB_GEM_RX_SHIFT", "PLUMB_GEM_RX_PULL", "PLUMB_GEM_RX_TRAP")

# Where the driver's copies of received frames begin, and the longest frame.
COPY_LANDING = 2
LONGEST_FRAME = 1518

# Of each application, what it sends from and receives into.
APPLICATION = (
    Buffers("iperf.words", stride=EVERYTHING),
    Buffers("iperf.received", stride=EVERYTHING),
)


@cache
def settings(firmware: Path) -> dict[str, str]:
    """The Kconfig options that a firmware was built with."""
    for folder in firmware.resolve().parents:
        path = folder / "config/plumb_config.h"
        if path.exists():
            text = path.read_text()
            return dict(re.findall(r"^#define (?:CONFIG_)?(PLUMB_\w+) (\S+)", text, re.MULTILINE))
    raise LabError(f"{firmware} lies in no build folder with a plumb_config.h")


@cache
def headroom() -> int:
    """What the stack leaves before the payload that it sends."""
    found = re.search(r"#define PL_HEADROOM (\d+)", (ROOT / "src/packet/packet.h").read_text())
    if not found:
        raise LabError("src/packet/packet.h has no PL_HEADROOM")
    return int(found[1])


def of_plumb(firmware: Path) -> tuple[Buffers, ...]:
    """Both boards' buffers, and the applications'."""
    config = settings(firmware)
    is_on_word = any(option in config for option in ON_A_WORD)
    landing = 0 if is_on_word or "PLUMB_NETWORK_HEADER_ALIGNED" not in config else 2
    behind = {protocol: landing + length for protocol, length in HEADERS.items()}
    copied = {protocol: COPY_LANDING + length for protocol, length in HEADERS.items()}
    size = int(config["PLUMB_GEM_RX_BUFFER"])
    return (
        # Of a frame in several buffers nobody knows which is its first: headers count as well.
        Buffers("receive_memory", size, behind if size >= LONGEST_FRAME else 0),
        Buffers("copy_memory", None, copied),
        Buffers("segment_memory", None, headroom()),
        Buffers("segments_memory", None, headroom()),
        *APPLICATION,
    )
