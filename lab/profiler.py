# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb profile`: where the instructions of a transfer go, function by function."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console as Terminal

from . import build, echo, iperf, lwip, measure, profile_tables, sampled, stacks
from .board import Board, Kind, Setup, kind_of
from .console import Samples
from .elf import Program
from .errors import NotUnderstood
from .network import Network, TapNetwork, UserNetwork, enter_namespace
from .paths import OUT
from .profile import PLUMB, Profile
from .report import rich_table
from .terminal import for_tables

DEFAULT = "default"
# What drives each application: cases, and the ports that they need.
CASES = {"iperf": tuple(measure.CASES), "echo": (measure.ECHO,)}
PORTS = {"iperf": (iperf.PORT,), "echo": (echo.PORT,)}
LWIP = "lwip-"  # before a configuration's name
ROWS_SHOWN = 25
SAMPLING_BOARD = "zynq"
SAMPLING = ("PLUMB_SAMPLING=y",)
MUTE = "PLUMB_CONSOLE=n"
LEAST_WIDTH, WIDTH_OF_A_FILE = 100, 250


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    board: str = "zynq"
    app: str = "iperf"
    variant: str = DEFAULT
    cases: tuple[str, ...] = ()
    tap: bool = False
    out: Path | None = None
    sampled: bool = False


def variants_of(kind: Kind) -> list[str]:
    """The default, what follows the board in a preset's name, and lwIP's configurations; not
    what has no console, as nothing would be heard of its transfers."""
    prefix = f"{kind.name}-"
    own = [
        name.removeprefix(prefix)
        for name in build.presets()
        if name.startswith(prefix) and MUTE not in build.settings(name)
    ]
    peers = [LWIP + one.name for one in lwip.CONFIGURATIONS if kind.name == lwip.BOARD]
    return [DEFAULT, *own, *peers]


def check(options: Options) -> None:
    """Raises for what cannot be profiled."""
    kind = kind_of(options.board)
    known = CASES.get(options.app)
    if known is None:
        driven = ", ".join(CASES)
        raise NotUnderstood(f"no client drives {options.app!r} to be profiled, but: {driven}")
    wrong = [case for case in options.cases if case not in known]
    if wrong:
        raise NotUnderstood(f"{options.app} has no case {wrong[0]!r}, but: {', '.join(known)}")
    if options.variant not in variants_of(kind):
        there_are = ", ".join(variants_of(kind))
        raise NotUnderstood(f"{kind.name} has no variant {options.variant!r}, but: {there_are}")
    if options.sampled and options.variant.startswith(LWIP):
        raise NotUnderstood("lwIP's firmware has no profiler that samples")
    if options.sampled and options.board != SAMPLING_BOARD:
        there_is = f"{SAMPLING_BOARD} has one"
        raise NotUnderstood(f"{options.board} has no profiler that samples; {there_is}")


class Profiler:
    """One run."""

    def __init__(self, options: Options, terminal: Terminal) -> None:
        check(options)
        self.options = options
        self.terminal = terminal
        self.kind = kind_of(options.board)
        self.cases = options.cases or CASES[options.app]
        self.out = options.out or OUT / time.strftime("%Y%m%d-%H%M%S")
        self.out.mkdir(parents=True, exist_ok=True)
        self.uses_tap = options.tap or not self.kind.is_emulated
        self.sampled: list[Samples] = []  # as many as there are cases, or none

    def run(self) -> int:
        """Everything; the exit status."""
        if self.uses_tap:
            enter_namespace()
        firmware = self._firmware()
        network: Network = TapNetwork() if self.uses_tap else UserNetwork(PORTS[self.options.app])
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
        variant, app = self.options.variant, self.options.app
        if self._peer:
            return lwip.firmware(self._peer)
        preset = self.kind.preset("O2") if variant == DEFAULT else f"{self.kind.name}-{variant}"
        more = (SAMPLING, "-sampling") if self.options.sampled else ()
        return build.firmware(preset, app, *more)

    @property
    def _peer(self) -> lwip.Configuration | None:
        named = [o for o in lwip.CONFIGURATIONS if LWIP + o.name == self.options.variant]
        return named[0] if named else None

    def _measure(self, firmware: Path, network: Network) -> list[measure.Sample]:
        about = lwip.counted(self._peer) if self._peer else PLUMB
        counts = Profile(firmware, self.out / "counter", about)
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
    terminal = for_tables()
    terminal.width = max(terminal.width, LEAST_WIDTH)  # or numbers would be cut
    return Profiler(options, terminal).run()
