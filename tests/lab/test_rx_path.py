# SPDX-License-Identifier: Apache-2.0 OR MIT
"""rx-path: its pieces on short transfers, and what its page makes of records."""

from pathlib import Path

import pytest

from lab import memory
from lab.experiments import chain, modelled, rx_path, rx_path_page
from lab.experiments import rx_path_steps as steps
from lab.experiments.base import Run, case_of
from lab.experiments.rx_path_steps import Step
from lab.memory import Model
from lab.records import Record

CORE = memory.load("ap7000")


# ---- on the board ----


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """One step's transfers, short ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rx_path, "BYTES", {"tcp_rx": "256K", "tcp_tx": "256K"})
        out = tmp_path_factory.mktemp("rx-path")
        step = Step("copy-break", "zynq-path-break")
        return rx_path.modelled_records(step, [CORE], Run(out, is_quick=True), 0)


def value(records: list[Record], metric: str, case: str) -> float:
    """The one record of a metric in a case."""
    (found,) = (r.value for r in records if (r.metric, r.case) == (metric, case))
    return found


@pytest.mark.parametrize("case", ["tcp_rx", "tcp_tx"])
def test_a_transfer_is_counted_and_costed_on_every_board(measured, case):
    assert value(measured, "instructions_per_byte", case) > 0.2
    for board in CORE.boards:
        name = f"{case} {case_of(memory=board)}"
        cycles = value(measured, steps.PER_BYTE, name)
        assert cycles > value(measured, "instructions_per_byte", case)
        rate = value(measured, steps.THROUGHPUT, name)
        assert rate == pytest.approx(CORE.clock_mhz * 8 / cycles, rel=1e-4)
        causes = [
            value(measured, f"modelled_{cause}_cycles_per_byte", name)
            for cause in rx_path_page.CAUSES
        ]
        assert sum(causes) == pytest.approx(cycles, abs=1e-4)
        assert value(measured, steps.PER_BYTE, f"{name} fetches=free") <= cycles


def test_a_narrow_bus_costs_more(measured):
    wide, narrow = (
        value(measured, steps.PER_BYTE, f"tcp_rx memory={board}")
        for board in ("ATSTK1000", "ATNGW100")
    )
    assert narrow > wide * 1.05


# ---- the chain ----


def test_a_chain_is_summed_by_every_routine_with_caches_on_and_off(tmp_path):
    boards = [chain.Board(CORE, "ATSTK1000")]
    records = chain.records("rx-path", boards, True, tmp_path, {})
    build = "opt=O2 compiler=gcc"

    def cost(routine: tuple[str, str], caches: str) -> float:
        case = f"chain memory=ATSTK1000 caches={caches} {build}"
        (found,) = (r.value for r in records if (r.stack, r.variant, r.case) == (*routine, case))
        return found

    asm, halves = ("plumb", "asm"), ("simple", "halves")
    assert 0.3 < cost(asm, "both") < cost(halves, "both") < 4
    for routine in (asm, halves):
        assert cost(routine, "both") < cost(routine, "instructions") < cost(routine, "none")
        assert cost(routine, "both") < cost(routine, "data") < cost(routine, "none")


# ---- what is changed of a model ----


def test_every_parameter_is_changed_and_every_change_is_one():
    names = {name for name, _ in modelled.changes(CORE, "ATSTK1000")}
    values = Model(CORE, "ATSTK1000").values()
    assert names == set(values)
    for name, other in modelled.changes(CORE, "ATSTK1000"):
        assert other != values[name], name
    changes = modelled.changes(CORE, "ATSTK1000")
    assert {("sdram.bus_bits", 16), ("dcache.bytes", 0), ("sdram.keeps_rows_open", False)} < set(
        changes
    )
    assert ("write_buffer.entry_bytes", 128) not in changes


def test_the_plugin_takes_every_change(tmp_path):
    from test_memory import run as run_program

    models = [Model(CORE, "ATSTK1000", {n: v}) for n, v in modelled.changes(CORE, "ATSTK1000")]
    costs = run_program(tmp_path, models)[0].next(limit_s=1)
    assert len(costs) == len(models) and len({cost.cycles for cost in costs}) > 10


# ---- the page ----


def records_of(rates: dict[str, tuple[float, float]]) -> list[Record]:
    """TCP receive on both boards, by step."""
    return [
        Record(
            "rx-path",
            "zynq",
            f"tcp_rx memory={board}",
            steps.THROUGHPUT,
            rate,
            "Mbit/s",
            variant=step,
        )
        for step, both in rates.items()
        for board, rate in zip(rx_path_page.BOARDS, both, strict=True)
    ]


def by_step(records: list[Record], metric: str, case: str) -> dict[str, float]:
    """A metric of every step in one case."""
    return {r.variant: r.value for r in records if (r.metric, r.case) == (metric, case)}


def test_effects_are_judged_by_their_direction():
    shown = records_of(
        {"baseline": (50, 40), "offset": (50, 40.1), "cacheable": (50, 44), "fragments": (60, 44.1)}
    )
    told = "\n".join(rx_path_page.answers(shown))
    assert "-0.2 % and +0.0 % in 2008, +0.0 % and +0.2 % modelled: reproduced." in told  # offset
    assert "+0.0 % and +9.7 % modelled: not reproduced." in told  # cached buffers
    assert "+20.0 % and +0.2 % modelled: not reproduced." in told  # no copy, on one board alone
    assert "by not copying, TCP receive: -5.9 % in 2008, -19.8 % modelled: reproduced." in told
    assert "transmit" not in told  # nothing is said of what was not measured


def test_gains_and_defaults_are_made_of_rates():
    rates = {step.variant: (100.0, 50.0) for step in steps.STEPS} | {"copy-break": (121.0, 60.0)}
    plain = records_of(rates)
    free = [Record(**{**vars(r), "case": f"{r.case} fetches=free"}) for r in plain]
    made = rx_path.compared([*plain, *free])
    gain = by_step(made, "gain_over_baseline", "tcp_rx memory=ATSTK1000")
    assert gain["baseline"] == 0 and gain["copy-break"] == pytest.approx(21)
    lead = by_step(made, "copy_break_to_step", "tcp_rx memory=ATNGW100 fetches=free")
    assert lead == {name: pytest.approx(60 / rates[name][1]) for name in steps.SMALL}
    assert not [r for r in made if r.metric.endswith("_to_step") and "fetches" not in r.case]


def test_tables_stand_with_nothing_measured():
    assert [table.title for table in rx_path_page.tables([])]
    assert rx_path_page.answers([]) == []


def test_the_driver_has_the_default_that_the_goals_are_about():
    text = (Path(__file__).parents[2] / "drivers/Kconfig").read_text()
    assert "default PLUMB_GEM_RX_BREAK if PLUMB_GEM_RX_BUFFER < 1518" in text
