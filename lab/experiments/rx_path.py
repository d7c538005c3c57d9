# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The receive path of a driver whose buffers hold a part of a frame, on modelled memories.

It answers a measurement of Linux on AVR32 AP7000 (2008), on a board with SDRAM of 32 bits
and one of 16: a driver with receive buffers of 128 bytes in uncached memory, copied to
linear ones, was given an offset in the device, then cached buffers with maintenance, and
then handed the buffers up as they were. TCP receive rose by 21 % and 16.3 %; TCP transmit
fell with the last step.

The emulator knows no memory, so the memory-cost model tells what each step takes
(docs/memory-model.md). This file measures; rx_path_page.py has what is said of it.
"""

import os
from typing import TYPE_CHECKING

from .. import measure
from ..board import Board, Setup
from ..memory import Core, Cost, Model, load
from ..network import TapNetwork, enter_namespace
from ..records import Record, of_values
from . import chain, firmware, modelled, rx_path_page
from .base import Experiment, Run, Table, case_of
from .firmware import BOARD
from .modelled import FREE_FETCHES, Modelled
from .rx_path_steps import (
    BYTES,
    CORES,
    COUNTED,
    OFFERED,
    PER_BYTE,
    SENSITIVE,
    SENSITIVE_BOARD,
    SHORT_BYTES,
    SMALL,
    STEPS,
    THROUGHPUT,
    Step,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class RxPath(Experiment):
    """iperf against the driver's steps, costed on modelled memories."""

    name = "rx-path"
    title = "The receive path on modelled memories"
    question = (
        "What each step of a driver with receive buffers of 128 bytes is worth (an offset in "
        "the device, cached buffers, no copy, a copy of small frames alone) on a processor "
        "whose memory costs what an AP7000's does, with a bus of 32 and of 16 bits, and on a "
        "LEON3's; and what a checksum takes there with caches on and off. All cycles and rates "
        "in them are modelled: no silicon was measured."
    )

    def boards(self) -> tuple[str, ...]:
        return (BOARD,)

    def measure(self, run: Run) -> list[Record]:
        cores = [load(name) for name in CORES]
        part = 1 / (4 * len(STEPS))
        for step in STEPS:
            run.step(f"building {step.preset}", part)
            step.firmware.program()
        found: list[Record] = []
        for step in STEPS:
            found += modelled_records(step, cores, run, part)
        found += compared(found)
        run.step("chain", part)
        boards = [chain.Board(core, board) for core in cores for board in core.boards]
        tools = firmware.tools_of(STEPS[0].firmware)
        found += chain.records(self.name, boards, run.is_quick, run.out / "chain", tools)
        for step in STEPS:
            if step.variant in SENSITIVE and not run.is_quick:
                run.step(f"{step.variant}, each parameter changed", part)
                found += sensitivity(step, cores[0], run)
        return found + over_tap(run, part)

    def lacks(self) -> frozenset[str]:
        return frozenset() if os.geteuid() == 0 else frozenset({"root"})

    # ---- what it says ----

    def tables(self, records: list[Record]) -> list[Table]:
        return rx_path_page.tables(records)

    def answers(self, records: list[Record]) -> list[str]:
        return rx_path_page.answers(records)

    def plot(self, records: list[Record]) -> "list[Figure]":
        return rx_path_page.plot(records)


def record(step: Step, case: str, metric: str, unit: str, values: list[float]) -> Record:
    """A median of this step's."""
    return of_values(
        values,
        experiment=RxPath.name,
        board=BOARD,
        variant=step.variant,
        case=case,
        metric=metric,
        unit=unit,
        tools=firmware.tools_of(step.firmware),
    )


def options_of(case: str, amount: str) -> tuple[str, ...]:
    """What the client is told beside the case's usual words, of which the last counts."""
    rate = ("-b", f"{OFFERED:g}M") if case.startswith("udp") else ()
    return ("-n", amount, *rate)


# ---- on modelled memories ----


def models_of(cores: list[Core]) -> list[tuple[str, Model]]:
    """How a case names it, and the model: every board, and each as if no instruction were
    fetched twice, where it is of no account how the linker placed the code."""
    found = []
    for core in cores:
        for board in core.boards:
            found.append((case_of(memory=board), Model(core, board)))
            free = Model(core, board, dict(FREE_FETCHES))
            found.append((case_of(memory=board, fetches="free"), free))
    return found


def modelled_records(step: Step, cores: list[Core], run: Run, part: float) -> list[Record]:
    """What a step's transfers take: instructions, touches, and cycles on every model."""
    named = models_of(cores)
    seen: dict[str, list[Modelled]] = {case: [] for case in BYTES}
    run.step(f"{step.variant}, modelled", part)
    with modelled.booted(step.firmware, [model for _, model in named], run.out) as running:
        # Once each: what TCP costs repeats to a thousandth from boot to boot.
        for case, amount in BYTES.items():
            seen[case].append(running.transfer(case, *options_of(case, amount)))
    found = [
        r
        for r in firmware.records(
            RxPath.name, step.firmware, [one.sample for many in seen.values() for one in many]
        )
        if r.metric in COUNTED
    ]
    for case, many in seen.items():
        for index, (name, model) in enumerate(named):
            found += costs(step, f"{case} {name}", model, many, index)
    return found


def costs(
    step: Step, case: str, model: Model, many: list[Modelled], index: int
) -> list[Record]:
    """Cycles per byte, in all and by cause, the rate that makes, and what is lost at 60."""
    per_byte = [one.cycles_per_byte(index) for one in many]
    rates = [modelled.mbit_per_s(model.core, value) for value in per_byte]
    found = [
        record(step, case, PER_BYTE, "cycles/B", per_byte),
        record(step, case, THROUGHPUT, "Mbit/s", rates),
    ]
    if case.startswith("udp"):
        lost = [max(0.0, 100 * (1 - rate / OFFERED)) for rate in rates]
        found.append(record(step, case, "modelled_udp_loss", "%", lost))
    for cause in many[0].costs[index].causes:
        values = [share(one.costs[index], cause, one.sample.board.bytes) for one in many]
        found.append(record(step, case, f"modelled_{cause}_cycles_per_byte", "cycles/B", values))
    return found


def share(cost: Cost, cause: str, count: int) -> float:
    """What one cause takes of a cost, per byte."""
    return cost.causes[cause] / count


# ---- comparisons ----


def compared(found: list[Record]) -> list[Record]:
    """Gains over the baseline, and how each default stands to every other step."""
    rates = {(r.variant, r.case): r for r in found if r.metric == THROUGHPUT}
    made = []
    for (variant, case), one in rates.items():
        base = rates["baseline", case]
        gain = 100 * (one.value / base.value - 1)
        made.append(_derived(one, variant, case, "gain_over_baseline", "%", gain))
        if not case.startswith("tcp") or "fetches" not in case:
            continue
        for default, others in (("default", rates), ("copy-break", SMALL)):
            if others is rates or variant in others:
                value = rates[default, case].value / one.value
                metric = f"{default.replace('-', '_')}_to_step"
                made.append(_derived(one, variant, case, metric, "", value))
    return made


def _derived(
    of: Record, variant: str, case: str, metric: str, unit: str, value: float
) -> Record:
    return Record(
        of.experiment,
        of.board,
        case,
        metric,
        round(value, 6),
        unit,
        repeats=of.repeats,
        variant=variant,
        tools=of.tools,
    )


# ---- what each parameter does ----


def sensitivity(step: Step, core: Core, run: Run) -> list[Record]:
    """The same transfers on a board with one parameter changed at a time."""
    changed = modelled.changes(core, SENSITIVE_BOARD)
    models = [Model(core, SENSITIVE_BOARD)]
    models += [Model(core, SENSITIVE_BOARD, {name: value}) for name, value in changed]
    cases = ["unchanged", *(case_of(**{name: value}) for name, value in changed)]
    found = []
    with modelled.booted(step.firmware, models, run.out / "sensitivity") as running:
        for case in ("tcp_rx", "tcp_tx"):
            one = running.transfer(case, *options_of(case, SHORT_BYTES))
            for index, change in enumerate(cases):
                name = f"{case} memory={SENSITIVE_BOARD} changed {change}"
                value = [one.cycles_per_byte(index)]
                found.append(record(step, name, PER_BYTE, "cycles/B", value))
    return found


# ---- measured, over TAP ----


def over_tap(run: Run, part: float) -> list[Record]:
    """What is lost of datagrams at a fixed rate on the emulated board itself, as the host's
    speed has it; nothing without root. Goes last, as it moves to another network namespace."""
    if os.geteuid() != 0:
        return []
    enter_namespace()
    found = []
    for step in STEPS:
        run.step(f"{step.variant}, over TAP", part)
        network = TapNetwork()
        try:
            setup = Setup(step.firmware.program(), network)
            with Board(step.firmware.kind, setup) as board:
                board.wait_ready()
                for case in ("udp_rx", "udp_tx"):
                    options = options_of(case, BYTES[case])
                    sample = measure.once(board, network, case, None, options)
                    lost = sample.client.loss_percent
                    found += [record(step, case, "udp_loss", "%", [lost or 0.0])]
        finally:
            network.close()
    return found
