# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The memory-cost model's side of a run: parameters of cores, what the plugin is told, and
what it wrote (docs/memory-model.md)."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from . import build
from .elf import Program
from .errors import LabError
from .intervals import Intervals
from .paths import LAB

CORES = LAB / "cores"
SECTIONS = ("core", "icache", "dcache", "write_buffer", "sdram", "peripheral")
CLOCK = "core.clock_mhz"  # what the plugin has no use for
BUS = "sdram.bus_bits"  # a board's, no core's

# Of zynq: where memory is not cached, by section, and where registers of devices lie.
UNCACHED_SECTION = ".uncached"
UNCACHED_GRAIN = 1 << 20  # of the memory map
DEVICES = (0xE0000000, 0xFFFFFFFF)

Value = int | bool | str


@dataclass(frozen=True)
class Parameter:
    """One value of a core, and why it is that."""

    name: str  # SECTION.NAME
    value: Value
    source: str
    is_assumed: bool


@dataclass(frozen=True)
class Core:
    """A core's parameters, and how wide the memory of each of its boards is."""

    name: str
    sheets: dict[str, str]
    parameters: dict[str, Parameter]
    boards: dict[str, Parameter]

    @property
    def clock_mhz(self) -> int:
        """The processor's clock."""
        return int(self.parameters[CLOCK].value)


@dataclass(frozen=True)
class Region:
    """Addresses that are not cached."""

    kind: str  # uncached or device
    first: int
    last: int


@dataclass(frozen=True)
class Model:
    """A core on a board, and what is different of it."""

    core: Core
    board: str
    changes: dict[str, Value] = field(default_factory=dict)

    def values(self) -> dict[str, Value]:
        """What the plugin is told."""
        known = {name: p.value for name, p in self.core.parameters.items() if name != CLOCK}
        known[BUS] = self.core.boards[self.board].value
        unknown = set(self.changes) - set(known)
        if unknown:
            raise LabError(f"{self.core.name} has no parameter {min(unknown)}")
        return known | self.changes

    def write(self, path: Path, regions: Iterable[Region]) -> None:
        """Writes the file that the plugin reads."""
        lines = [f"{name} {_spelled(value)}" for name, value in self.values().items()]
        lines += [f"region {r.kind} {r.first:x} {r.last:x}" for r in regions]
        path.write_text("\n".join(lines) + "\n")


def _spelled(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameter(where: str, name: str, entry: object, sheets: dict[str, str]) -> Parameter:
    """One value, which says where it is from or why it is assumed, and not both."""
    if not isinstance(entry, dict) or set(entry) not in ({"value", "from"}, {"value", "assumed"}):
        raise LabError(f"{where}: {name} needs a value, and either `from` or `assumed`")
    source = entry.get("from", entry.get("assumed", ""))
    sheet = re.match(r"[\w-]+", source)
    if "from" in entry and (sheet is None or sheet.group() not in sheets):
        raise LabError(f"{where}: {name} is from none of its sheets: {source!r}")
    return Parameter(name, entry["value"], source, "assumed" in entry)


def load(name: str) -> Core:
    """A core of lab/cores by the name of its file."""
    path = CORES / f"{name}.toml"
    known = sorted(other.stem for other in CORES.glob("*.toml"))
    if name not in known:
        raise LabError(f"there is no core {name!r}; there are: {', '.join(known)}")
    whole = tomllib.loads(path.read_text())
    sheets = whole["sheets"]
    parameters = {
        f"{section}.{key}": _parameter(path.name, f"{section}.{key}", entry, sheets)
        for section in SECTIONS
        for key, entry in whole[section].items()
    }
    boards = {
        board: _parameter(path.name, f"{board}.bus_bits", entry["bus_bits"], sheets)
        for board, entry in whole["boards"].items()
    }
    return Core(whole["name"], sheets, parameters, boards)


def regions_of(program: Program) -> list[Region]:
    """What of a firmware's memory is not cached, by its ELF file; of a program of a host
    nothing."""
    place = program.section(UNCACHED_SECTION)
    if place is None:
        return []
    first = place[0] // UNCACHED_GRAIN * UNCACHED_GRAIN
    last = -(-(place[0] + max(place[1], 1)) // UNCACHED_GRAIN) * UNCACHED_GRAIN - 1
    return [Region("uncached", first, last), Region("device", *DEVICES)]


@dataclass(frozen=True)
class Cost:
    """What a stream took on one model."""

    cycles: int
    causes: dict[str, int]
    events: dict[str, int]
    functions: dict[str, int]  # NAME@ADDRESS: cycles


class Memory:
    """One boot's costs, on several models at once."""

    def __init__(self, firmware: Path, folder: Path, models: list[Model]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.models = models
        self._map = folder / "functions.map"
        self._told = Intervals(folder / "costs.jsonl", "the memory model told of no transfer")
        program = Program(firmware)
        program.write_function_map(self._map)
        self._files = []
        for index, model in enumerate(models):
            self._files.append(folder / f"model-{index}")
            model.write(self._files[-1], regions_of(program))

    def option(self) -> str:
        """The value of the emulator's -plugin option."""
        files = "".join(f",model={path}" for path in self._files)
        return f"{build.plugin('memory')},map={self._map},out={self._told.path}{files}"

    def next(self, limit_s: float = 10.0) -> list[Cost]:
        """The next interval, waited for: a cost for each model."""
        return self._costs(self._told.next(limit_s))

    def rest(self) -> list[list[Cost]]:
        """Every interval not yet read, of a program that has ended."""
        return [self._costs(told) for told in self._told.rest()]

    @staticmethod
    def _costs(whole: dict) -> list[Cost]:
        if whole["unwitnessed"]:
            raise LabError(
                f"{whole['unwitnessed']} times a line of the cache was maintained that the model "
                "was not told: build with PLUMB_ZYNQ_CACHE_WITNESS"
            )
        return [Cost(**model) for model in whole["models"]]
