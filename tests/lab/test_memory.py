# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The memory-cost plugin against a program whose cycles are reckoned by hand, and the files of
parameters that it is driven with. The model by itself: tests/host/test_memory.c."""

from pathlib import Path

import pytest
from helpers import bare_program, run_bare

from lab import memory
from lab.elf import Program
from lab.errors import LabError
from lab.memory import Memory, Model

LINKED = ["-Wl,-Tdata=0x400000", "-Wl,--section-start=.uncached=0x500000"]


def run(folder: Path, models: list[Model], defines: tuple[str, ...] = ()) -> tuple[Memory, Program]:
    """Builds memory.S and runs it under the plugin."""
    program = bare_program(folder, "memory.S", *LINKED, *defines)
    watched = Memory(program, folder, models)
    run_bare(program, watched.option())
    return watched, Program(program)


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory):
    """The interval on a 32-bit and a 16-bit board of an AP7000."""
    core = memory.load("ap7000")
    models = [Model(core, "ATSTK1000"), Model(core, "ATNGW100")]
    return run(tmp_path_factory.mktemp("memory"), models)[0].next(limit_s=1)


def cycles(cost: memory.Cost, function: str) -> int:
    """What one function took, what it calls left out."""
    return sum(n for name, n in cost.functions.items() if name.split("@")[0] == function)


# Clocks of an AP7000's SDRAM with its row open, two of the processor's cycles each.
def read(beats: int) -> int:
    """A read: overhead, CAS latency, beats."""
    return 2 * (2 + 3 + beats)


def write(beats: int) -> int:
    """A write: overhead, beats."""
    return 2 * (2 + beats)


@pytest.mark.parametrize("board", [0, 1])
def test_each_function_takes_what_is_reckoned_by_hand(costs, board):
    cost, beats = costs[board], board + 1  # of a word
    assert cycles(cost, "reads_a_line") == 3 + read(8 * beats)
    assert cycles(cost, "reads_many") == 2 + 3  # 32 bytes, 8 a cycle
    # Two words of one block leave together when the third is written elsewhere.
    assert cycles(cost, "writes_elsewhere") == 4 + write(2 * beats)
    # Neither a line nor the buffer is concerned. The mark's instructions, just fetched, had
    # opened another row of this bank.
    assert cycles(cost, "reads_uncached") == 3 + 2 * (2 + 2) + read(beats) + read(1)
    # The dirty line and the buffer's last word leave before the barrier is over, whose own
    # cycle passes meanwhile.
    left = write(8 * beats) + write(beats) - 1
    assert cycles(cost, "maintains") == 6 + left + read(8 * beats)
    assert cycles(cost, "reads_a_device") == 3 + 10


def test_idling_and_what_it_calls_are_no_cost(costs):
    assert not cycles(costs[0], "board_idle") and not cycles(costs[0], "helper")


def test_causes_and_functions_make_the_same_sum(costs):
    for cost in costs:
        assert sum(cost.causes.values()) == sum(cost.functions.values()) == cost.cycles
        assert cost.events["device_accesses"] == 1
        assert cost.events["fetch_misses"] == 1  # the mark's own line


def test_a_witness_is_no_instruction(costs):
    names = (name.split("@")[0] for name in costs[0].functions)
    busy = {"all": 8, "board_measure_start": 1, "_start": 3, "maintains": 6, "reads_a_device": 3}
    busy |= {"reads_a_line": 3, "reads_many": 2, "writes_elsewhere": 4, "reads_uncached": 3}
    assert sorted(names) == sorted(busy)
    assert costs[0].events["instructions"] == sum(busy.values())
    assert costs[0].events["uncached_accesses"] == 2
    assert costs[0].events["load_hits"] + costs[0].events["load_misses"] == 1 + 1 + 8 + 1 + 1


def test_maintenance_without_a_witness_is_refused(tmp_path):
    core = memory.load("ap7000")
    watched, _ = run(tmp_path, [Model(core, "ATNGW100")], ("-DBLIND",))
    with pytest.raises(LabError, match="1 times a line .* PLUMB_ZYNQ_CACHE_WITNESS"):
        watched.next(limit_s=1)


# ---- parameters ----


@pytest.mark.parametrize("name", ["ap7000", "leon3"])
def test_every_value_of_a_core_says_where_it_is_from(name):
    core = memory.load(name)
    assert core.clock_mhz > 0 and core.boards
    for parameter in [*core.parameters.values(), *core.boards.values()]:
        assert parameter.source
    assert any(not p.is_assumed for p in core.parameters.values())


def test_a_core_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(LabError, match="no core 'pentium'; there are: ap7000, leon3"):
        memory.load("pentium")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("cas = { value = 3 }", "needs a value"),
        ('cas = { value = 3, from = "hearsay" }', "none of its sheets"),
        ('cas = { value = 3, from = "u-boot: x", assumed = "y" }', "needs a value"),
        ("cas = 3", "needs a value"),
    ],
)
def test_a_value_without_a_source_is_refused(tmp_path, monkeypatch, line, complaint):
    lines = (memory.CORES / "ap7000.toml").read_text().splitlines()
    changed = [line if text.startswith("cas =") else text for text in lines]
    (tmp_path / "odd.toml").write_text("\n".join(changed))
    monkeypatch.setattr(memory, "CORES", tmp_path)
    with pytest.raises(LabError, match=complaint):
        memory.load("odd")


def test_a_model_tells_the_plugin_all_and_nothing_unknown(tmp_path):
    core = memory.load("leon3")
    Model(core, "GR712RC", {"sdram.cas": 3}).write(tmp_path / "model", [])
    text = (tmp_path / "model").read_text()
    assert "sdram.cas 3\n" in text and "sdram.bus_bits 32\n" in text and "clock_mhz" not in text
    assert "icache.streams true\n" in text and "dcache.replacement lru\n" in text
    with pytest.raises(LabError, match="LEON3 has no parameter sdram.cheap"):
        Model(core, "GR712RC", {"sdram.cheap": 1}).values()
