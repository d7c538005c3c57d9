# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb profile`: where the instructions of a transfer go, function by function."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console as Terminal

from . import build, measure, profile_tables, sampled, stacks
from .board import Board, Kind, Setup, kind_of
from .console import Samples
from .elf import Program
from .errors import LabError
from .iperf import PORT
from .network import Network, TapNetwork, UserNetwork, enter_namespace
from .paths import OUT
from .profile import Profile
from .report import rich_table

DEFAULT = "default"
APPLICATION = "iperf"
ROWS_SHOWN = 25
SAMPLING_BOARD = "zynq"
SAMPLING = ("PLUMB_SAMPLING=y",)
LEAST_WIDTH, WIDTH_OF_A_FILE = 100, 250


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    board: str = "zynq"
    app: str = APPLICATION
    variant: str = DEFAULT
    cases: tuple[str, ...] = ()
    tap: bool = False
    out: Path | None = None
    sampled: bool = False


def preset_of(kind: Kind, variant: str) -> str:
    """The build of a variant: the board's own, or the preset `BOARD-VARIANT`."""
    if variant == DEFAULT:
        return kind.preset("O2")
    prefix = f"{kind.name}-"
    known = [n.removeprefix(prefix) for n in build.presets() if n.startswith(prefix)]
    if variant not in known:
        raise LabError(f"{kind.name} has no variant {variant!r}, but: {DEFAULT}, {', '.join(known)}")
    return prefix + variant


def check(options: Options) -> None:
    """Raises for what cannot be profiled."""
    if options.app != APPLICATION:
        raise LabError(f"no client drives {options.app!r} to be profiled, but: {APPLICATION}")
    wrong = [case for case in options.cases if case not in measure.CASES]
    if wrong:
        raise LabError(f"there is no case {wrong[0]!r}; there are: {', '.join(measure.CASES)}")
    if options.sampled and options.board != SAMPLING_BOARD:
        raise LabError(f"{options.board} has no profiler that samples; {SAMPLING_BOARD} has one")


class Profiler:
    """One run."""

    def __init__(self, options: Options, terminal: Terminal) -> None:
        check(options)
        self.options = options
        self.terminal = terminal
        self.kind = kind_of(options.board)
        self.preset = preset_of(self.kind, options.variant)
        self.cases = options.cases or tuple(measure.CASES)
        self.out = options.out or OUT / time.strftime("%Y%m%d-%H%M%S")
        self.out.mkdir(parents=True, exist_ok=True)
        self.uses_tap = options.tap or not self.kind.is_emulated
        self.sampled: list[Samples] = []  # as many as there are cases, or none

    def run(self) -> int:
        """Everything; the exit status."""
        if self.uses_tap:
            enter_namespace()
        firmware = self._firmware()
        network: Network = TapNetwork() if self.uses_tap else UserNetwork((PORT,))
        try:
            samples = self._measure(firmware, network)
        finally:
            network.close()
        if self.options.sampled:
            self._write_sampled(firmware, samples)
        else:
            self._write(firmware, samples)
        return 0

    def _firmware(self) -> Path:
        if self.options.sampled:
            return build.firmware(self.preset, self.options.app, SAMPLING, "-sampling")
        return build.firmware(self.preset, self.options.app)

    def _measure(self, firmware: Path, network: Network) -> list[measure.Sample]:
        counts = Profile(firmware, self.out / "counter")
        setup = Setup(firmware, network, plugin=counts.option())
        samples = []
        with Board(self.kind, setup) as board:
            board.wait_ready()
            for case in self.cases:
                with self.terminal.status(case):
                    samples.append(measure.once(board, network, case, counts))
                    if self.options.sampled:
                        self.sampled.append(sampled.take(board))
        return samples

    # ---- the end ----

    def _write(self, firmware: Path, samples: list[measure.Sample]) -> None:
        steps = profile_tables.steps_of(Program(firmware))
        found: dict[str, stacks.Stacks] = {}
        for sample in samples:
            assert sample.counted is not None
            found[sample.case] = stacks.of_calls(sample.counted.calls)
            (self.out / f"{sample.case}.folded").write_text(stacks.folded(found[sample.case]))
            with (self.out / f"{sample.case}.txt").open("w") as file:
                self._show(Terminal(file=file, width=WIDTH_OF_A_FILE), sample, steps, True)
            self._show(self.terminal, sample, steps, False)
        self._write_speedscope(found)

    def _write_speedscope(self, found: Mapping[str, stacks.Stacks]) -> None:
        name = f"{self.kind.name} {self.options.app} {self.options.variant}"
        stacks.write_speedscope(self.out / "profile.speedscope.json", name, found)
        self.terminal.print(f"\nwritten to {self.out}: CASE.txt with all functions, CASE.folded,")
        self.terminal.print("profile.speedscope.json (for https://www.speedscope.app)")

    def _write_sampled(self, firmware: Path, samples: list[measure.Sample]) -> None:
        found: dict[str, stacks.Stacks] = {}
        program = Program(firmware)
        for sample, taken in zip(samples, self.sampled, strict=True):
            by_function = sampled.by_function(taken, program)
            assert sample.counted is not None
            cost = sampled.handler_instructions(sample.counted, program)
            about = (
                f"{taken.total} samples in {sample.board.time_us / 1000:.0f} ms by the board's own "
                f"timer, at {taken.hz} Hz; each takes {cost:.0f} instructions"
            )
            found[sample.case] = stacks.of_functions(by_function)
            (self.out / f"{sample.case}.folded").write_text(stacks.folded(found[sample.case]))
            with (self.out / f"{sample.case}.txt").open("w") as file:
                whole = Terminal(file=file, width=LEAST_WIDTH)
                self._show_sampled(whole, sample, about, by_function)
            self._show_sampled(self.terminal, sample, about, by_function)
        self._write_speedscope(found)

    def _show_sampled(
        self,
        terminal: Terminal,
        sample: measure.Sample,
        about: str,
        by_function: Mapping[str, int],
    ) -> None:
        counted = sample.counted
        assert counted is not None
        title = f"[bold]{sample.case}[/bold] {self.kind.name}, {self.options.variant}"
        terminal.print(f"\n{title}: {about}\n")
        terminal.print(rich_table(*sampled.table(by_function, counted)))
        verdicts = sampled.compare(by_function, sampled.executed(counted))
        least = verdicts[0]
        terminal.print(
            f"\nagainst the exact count of the same boot: {sampled.in_words(verdicts)}; farthest "
            f"off is {least.name}, {least.sampled} where {least.expected:.1f} are expected"
        )

    def _show(
        self, terminal: Terminal, sample: measure.Sample, steps: Mapping[str, str], whole: bool
    ) -> None:
        interval, transfer = sample.counted, sample.board
        assert interval is not None
        per_byte = interval.instructions / transfer.bytes
        terminal.print(
            f"\n[bold]{sample.case}[/bold] {self.kind.name}, {self.options.variant}: "
            f"{transfer.bytes} bytes in {transfer.packets} packets; "
            f"{interval.instructions} instructions, {interval.idle_instructions} idle ones "
            f"beside; {per_byte:.3f} a byte"
        )
        touches = interval.touches(sample.case)
        if touches is not None:
            terminal.print(
                f"payload touched {touches / transfer.bytes:.3f} times; each register of a "
                f"load or store of several counted: {interval.by_register / transfer.bytes:.3f} "
                "instructions a byte"
            )
        terminal.print()
        terminal.print(rich_table(*profile_tables.path(interval, steps, transfer.packets)))
        terminal.print()
        packets = transfer.packets
        by_function = (
            profile_tables.functions(interval, packets)
            if whole
            else profile_tables.in_brief(interval, packets, ROWS_SHOWN)
        )
        terminal.print(rich_table(*by_function))


def run(options: Options) -> int:
    """Profiles; the exit status."""
    terminal = Terminal()
    if terminal.width < LEAST_WIDTH:
        terminal = Terminal(width=LEAST_WIDTH)  # or numbers would be cut
    return Profiler(options, terminal).run()
