# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb bench` on a board that is not emulated here: what its own clock gives, and where
its own timer found it. Nothing counts its instructions."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console as Terminal

from . import build, measure, records, report, sampled
from .bench import Options
from .board import Board, Setup, kind_of
from .elf import Program
from .errors import NotUnderstood
from .paths import BUILD, OUT
from .place import Place, acquired
from .records import Record
from .report import Rows
from .terminal import for_tables, steps

BOOT_LIMIT_S = 120.0  # a boot loader fetches the firmware
APPLICATION = "iperf"
SAMPLING = "-sampling"  # behind a board's name: the preset with the profiler
SHOWN = 12
NOTE = (
    "Mbit/s by the board's own clock; iperf's by this host's. Nothing counts instructions on a "
    "board like this: those, touches, misaligned accesses, idle and the floors are the "
    "emulator's. The profile below is sampled by a timer of the board, in a run of its own."
)


class PlaceBench:
    """One run on a board that labgrid has."""

    def __init__(self, options: Options, place: Place, terminal: Terminal) -> None:
        if options.tap or options.record or options.pcap or options.peer:
            refused = "--tap, --record, --pcap and --peer"
            raise NotUnderstood(f"{refused} are for boards that are emulated here")
        self.options = options
        self.place = place
        self.terminal = terminal
        emulated = kind_of(options.board)
        self.preset = emulated.preset(options.opt)
        self.kind = replace(emulated, is_emulated=False, ns_per_instruction=None)
        self.network = place.network()
        self.out = options.out or OUT / time.strftime("%Y%m%d-%H%M%S")
        self.out.mkdir(parents=True, exist_ok=True)

    def run(self) -> int:
        """Everything; the exit status."""
        count = 2 * len(measure.CASES) * self.options.repeat
        with acquired(self.place), steps(self.terminal, count) as self.step:
            self.step("building", 0)
            firmware = build.firmware(self.preset, APPLICATION)
            profiled = build.firmware(f"{self.options.board}{SAMPLING}", APPLICATION)
            tools = measure.tools_of(self.kind, BUILD / self.preset, "place")
            tools["emulator"] = f"none: {self.place}"
            made = self._measure(firmware, tools)
            profiles = self._sample(profiled)
        records.write(self.out / "results.jsonl", made)
        self._show(made, tools, profiles)
        return 0

    @contextmanager
    def _booted(self, firmware: Path) -> Iterator[Board]:
        self.step("booting", 0)
        with Board(self.kind, Setup(firmware, self.network, place=self.place)) as board:
            board.wait_ready(BOOT_LIMIT_S)
            self.network.learn(board.console.address)
            yield board

    def _measure(self, firmware: Path, tools: dict[str, str]) -> list[Record]:
        with self._booted(firmware) as board:
            samples = measure.series(
                board, self.network, self.options.repeat, None, self.step
            )
            lost = float(measure.lost_buffers(board))
        made = measure.records(samples, self.kind, self.network, tools)
        name = self.kind.name
        return [*made, Record("throughput", name, "all", "lost_buffers", lost, "", tools=tools)]

    def _sample(self, firmware: Path) -> dict[str, Rows]:
        """A boot with the profiler, one transfer of each case."""
        program = Program(firmware)
        found = {}
        with self._booted(firmware) as board:
            for case in measure.CASES:
                self.step(f"{case}, sampled", self.options.repeat)
                measure.once(board, self.network, measure.Errand(case), None)
                found[case] = _shares(sampled.by_function(sampled.take(board), program))
        return found

    def _show(self, made: list[Record], tools: dict[str, str], profiles: dict[str, Rows]) -> None:
        head = report.header(tools, self.kind.name, str(self.place), self.options.repeat)
        report.show(self.terminal, head, [report.case_table(made, report.SPEED)], NOTE)
        for case, rows in profiles.items():
            title = [f"{case}: function", "samples", "ratio %"]
            self.terminal.print(report.rich_table(title, rows[:SHOWN]))
            text = "".join("\t".join(row) + "\n" for row in [title, *rows])
            (self.out / f"{case}.txt").write_text(text)
        self.terminal.print(f"records: {self.out / 'results.jsonl'}", soft_wrap=True)


def _shares(found: Counter[str]) -> Rows:
    whole = sum(found.values())
    return [
        [name, str(count), f"{100 * count / whole:.1f}"] for name, count in found.most_common()
    ]


def run(options: Options, place: Place) -> int:
    """Runs the bench; the exit status."""
    return PlaceBench(options, place, for_tables()).run()
