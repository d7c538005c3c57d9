# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a board's console says. Lines that mean nothing here are kept and passed over."""

import re
from collections import Counter
from dataclasses import dataclass, field, fields

from .errors import LabError

KEEP_LINES = 20000
_PAIR = re.compile(r"([A-Za-z_][\w.]*)=(\S+)")


@dataclass(frozen=True)
class Transfer:
    """One transfer as the board reports it at its end."""

    case: str
    bytes: int = 0
    packets: int = 0
    datagrams_lost: int = 0
    acks: int = 0
    time_us: int = 0


@dataclass
class Samples:
    """What a board's own profiler found in one measurement: how often which instruction
    was about to be executed."""

    total: int
    outside: int  # of the code
    taken: int  # fewer than in all, where a sleep was longer than the timer asked for
    hz: int
    at: Counter[int] = field(default_factory=Counter)
    is_told: bool = False  # all of it

    def check(self) -> None:
        """Raises if some were lost on the way."""
        if self.outside + sum(self.at.values()) != self.total:
            raise LabError(f"of {self.total} samples {sum(self.at.values())} arrived")


@dataclass
class Fault:
    """A fault's report: kind, addresses and registers."""

    kind: str
    values: dict[str, int] = field(default_factory=dict)


def pairs(text: str) -> dict[str, str]:
    """The NAME=VALUE pairs of a line."""
    return dict(_PAIR.findall(text))


class Console:
    """Everything a board has said, and what it meant."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.address = ""
        self.build = ""
        self.routines = ""  # the byte routines that a board has chosen
        self.transfers: list[Transfer] = []
        self.samples: list[Samples] = []
        self.counters: dict[str, int] = {}
        self.fault: Fault | None = None
        self.panic = ""
        self.exit_status: int | None = None
        self.malformed: list[str] = []
        self._partial = ""

    def feed(self, data: bytes) -> list[str]:
        """Takes in more of the console; returns the lines it completed."""
        text = self._partial + data.decode("utf-8", "replace").replace("\r", "")
        *complete, self._partial = text.split("\n")
        for line in complete:
            self.lines.append(line)
            self._understand(line)
        del self.lines[:-KEEP_LINES]
        return complete

    def last(self, count: int = 15) -> list[str]:
        """The last lines, an unfinished one included."""
        return (self.lines + ([self._partial] if self._partial else []))[-count:]

    def _understand(self, line: str) -> None:
        kind, colon, rest = line.strip().partition(": ")
        reader = getattr(self, f"_read_{kind}", None) if colon and kind.isalpha() else None
        if reader is None:
            return
        try:
            reader(rest)
        except (ValueError, KeyError, IndexError):
            self.malformed.append(line)

    def _read_plumb(self, rest: str) -> None:
        if rest.startswith("board="):
            self.build = rest.partition("build=")[2]
        elif rest.startswith("bytes="):
            self.routines = pairs(rest)["bytes"]
        elif rest.startswith("ready"):
            self.address = pairs(rest).get("address", "")
        elif rest.startswith("exit"):
            self.exit_status = int(pairs(rest)["status"])

    def _read_transfer(self, rest: str) -> None:
        found = pairs(rest)
        case = found.pop("case", "")
        if not case:
            raise ValueError(rest)
        known = {f.name for f in fields(Transfer)}
        numbers = {name: int(value) for name, value in found.items() if name in known}
        self.transfers.append(Transfer(case, **numbers))

    def _read_samples(self, rest: str) -> None:
        found = pairs(rest)
        if "total" in found:
            self.samples.append(Samples(*(int(found[n]) for n in ("total", "outside", "taken", "hz"))))
        else:
            self.samples[-1].is_told = rest == "end"

    def _read_sample(self, rest: str) -> None:
        for pair in rest.split():
            address, _, count = pair.partition("=")
            self.samples[-1].at[int(address, 16)] += int(count)

    def _read_counter(self, rest: str) -> None:
        for name, value in pairs(rest).items():
            self.counters[name] = int(value)

    def _read_fault(self, rest: str) -> None:
        found = pairs(rest)
        if self.fault is None:
            self.fault = Fault(found.pop("kind", "unknown"))
        found.pop("kind", None)
        for name, value in found.items():
            self.fault.values.setdefault(name, int(value, 0))

    def _read_panic(self, rest: str) -> None:
        self.panic = self.panic or rest
