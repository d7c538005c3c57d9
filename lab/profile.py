# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The counting plugin's side of a run: what it is told, and what it wrote."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from . import build
from .elf import Program
from .errors import LabError


@dataclass(frozen=True)
class Interval:
    """What a board executed between a start and a stop of measuring."""

    instructions: int
    idle_instructions: int
    misaligned_accesses: int
    culprits: list[dict]
    functions: list[dict]

    def instructions_of(self, name: str) -> int:
        """What a function executed itself, idling left out."""
        return sum(f["instructions"] for f in self.functions if f["name"] == name)

    @property
    def touches(self) -> int:
        """Loads and stores, of any width."""
        return sum(
            sum(function[kind].values())
            for function in self.functions
            for kind in ("loads", "stores")
        )


class Profile:
    """One boot's counts, read while the board runs."""

    def __init__(self, firmware: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._map = folder / "functions.map"
        self._out = folder / "counts.jsonl"
        self._out.unlink(missing_ok=True)
        Program(firmware).write_function_map(self._map)
        self._offset = 0

    def option(self) -> str:
        """The value of the emulator's -plugin option."""
        return f"{build.plugin()},map={self._map},out={self._out}"

    def next(self, limit_s: float = 10.0) -> Interval:
        """The next interval, waited for."""
        deadline = time.monotonic() + limit_s
        while True:
            line = self._line()
            if line:
                return self._interval(line)
            if time.monotonic() > deadline:
                raise LabError(f"the plugin counted no transfer within {limit_s:g} s")
            time.sleep(0.01)

    def skip(self) -> None:
        """Passes over everything written so far."""
        while self._line():
            pass

    def rest(self) -> list[Interval]:
        """Every interval not yet read, of a program that has ended."""
        return [self._interval(line) for line in iter(self._line, "")]

    def _line(self) -> str:
        if not self._out.exists():
            return ""
        with self._out.open() as file:
            file.seek(self._offset)
            line = file.readline()
        if not line.endswith("\n"):
            return ""
        self._offset += len(line)
        return line

    @staticmethod
    def _interval(line: str) -> Interval:
        whole = json.loads(line)
        whole.pop("interval")
        return Interval(**whole)
