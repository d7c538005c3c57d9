# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The counting plugin's side of a run: what it is told, and what it wrote."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import build, work
from .elf import Program
from .intervals import Intervals
from .payload import Buffers, Place, find, of_plumb, touched

VECTORS_BYTES = 32  # of an ARM


@dataclass(frozen=True)
class Interval:
    """What a board executed between a start and a stop of measuring, idling left out
    unless it is named."""

    instructions: int
    by_register: int  # each register of a load or store of several counts as one
    idle_instructions: int
    misaligned_accesses: int
    culprits: list[dict]
    functions: list[dict]
    buffers: list[dict] = field(default_factory=list)
    calls: list[list] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def instructions_of(self, name: str) -> int:
        """What a function executed itself."""
        return sum(f["instructions"] for f in self.functions if f["name"] == name)

    @property
    def accesses(self) -> int:
        """Loads and stores, of any width."""
        return sum(
            sum(function[kind].values())
            for function in self.functions
            for kind in ("loads", "stores")
        )

    def touches(self, case: str) -> int | None:
        """Bytes of payload loaded and stored in a case such as tcp_rx; None: nobody knows
        where payload lies in this firmware."""
        return sum(touched(self.buffers, self.places, case)) if self.places else None

    def as_record(self) -> dict:
        """What is kept of it."""
        whole = asdict(self)
        del whole["places"]
        return whole


@dataclass(frozen=True)
class Firmware:
    """What the plugin has to know of a firmware beside its functions: which of them begin
    which kind of work, and where payload may lie."""

    rules: work.Rules
    buffers: Callable[[Path], tuple[Buffers, ...]]


PLUMB = Firmware(work.PLUMB, of_plumb)


class Profile:
    """One boot's counts, read while the board runs."""

    def __init__(self, program: Path, folder: Path, about: Firmware | None = PLUMB) -> None:
        """`about` is None for a program that neither receives nor sends: all of its work
        is of one kind."""
        folder.mkdir(parents=True, exist_ok=True)
        self._map = folder / "functions.map"
        self._counts = Intervals(folder / "counts.jsonl", "the plugin counted no transfer")
        self._places = find(program, about.buffers(program)) if about else []
        elf = Program(program)
        elf.write_function_map(self._map, self._lines(elf, about) if about else ())

    def _lines(self, program: Program, about: Firmware) -> list[str]:
        lines = [f"work {k} {f.address:x}" for k, f in work.begins(program, about.rules)]
        vectors = program.address_of("vectors")
        lines += [f"vectors {vectors:x} {VECTORS_BYTES:x}"] if vectors is not None else []
        copying = {name for place in self._places for name in place.buffers.copied_by}
        lines += [f"copying {f.address:x}" for f in program.functions if f.name in copying]
        return lines + [place.line() for place in self._places]

    def option(self) -> str:
        """The value of the emulator's -plugin option."""
        return f"{build.plugin()},map={self._map},out={self._counts.path}"

    def next(self, limit_s: float = 10.0) -> Interval:
        """The next interval, waited for."""
        return self._interval(self._counts.next(limit_s))

    def rest(self) -> list[Interval]:
        """Every interval not yet read, of a program that has ended."""
        return [self._interval(counts) for counts in self._counts.rest()]

    def _interval(self, counts: dict) -> Interval:
        counts.pop("interval")
        return Interval(**counts, places=self._places)
