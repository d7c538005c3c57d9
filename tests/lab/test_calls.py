# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Call stacks and kinds of work, of a program in which both are known."""

import pytest
from helpers import bare_program, run_bare

from lab.profile import Firmware, Interval, Profile

RULES = {"receive": ("*:receiving",), "transmit": ("*:sending",)}
START = "_start"


@pytest.fixture(scope="module")
def interval(tmp_path_factory: pytest.TempPathFactory) -> Interval:
    """The one interval of calls.S."""
    folder = tmp_path_factory.mktemp("calls")
    program = bare_program(folder, "calls.S")
    profile = Profile(program, folder, Firmware(RULES, lambda program: ()))
    run_bare(program, profile.option())
    return profile.next(limit_s=1)


def stacks(interval: Interval) -> dict[str, int]:
    """Every stack below the start, and what its innermost function executed itself."""
    paths: list[str] = []
    found: dict[str, int] = {}
    for parent, name, _, count, _ in interval.calls:
        paths.append(f"{paths[parent]};{name}" if paths and parent else name)
        if count:
            found[paths[-1]] = found.get(paths[-1], 0) + count
    return found


OUTER = f"{START};outer"
EXPECTED = {
    OUTER: 16,
    f"{OUTER};plain": 2,
    f"{OUTER};indirect": 1,
    f"{OUTER};gives_way": 2,
    f"{OUTER};last": 2,
    f"{OUTER};recurse": 5,
    f"{OUTER};recurse;recurse": 5,
    f"{OUTER};recurse;recurse;recurse": 3,
    f"{OUTER};switch": 3,
    f"{OUTER};thumb_outer": 6,
    f"{OUTER};thumb_outer;thumb_inner": 1,
    f"{OUTER};thumb_outer;plain": 2,
    f"{OUTER};interrupted": 14,
    f"{OUTER};interrupted;plain": 6,
    f"{OUTER};receiving": 4,
    f"{OUTER};receiving;plain": 4,  # the second after `sending` gave way to it
    f"{OUTER};receiving;sending": 2,
    # What traps is called by what trapped, an interrupt by nobody. Vectors have no name.
    f"{OUTER};(outside)": 1,
    "(outside)": 1,
    f"{OUTER};trap_entry": 3,
    f"{OUTER};trap_entry;plain": 2,
    "interrupt_entry": 8,
    "interrupt_entry;handler": 1,
}


def test_every_stack_is_found_with_what_it_executed(interval: Interval) -> None:
    beside = (START, f"{START};board_measure_start", f"{START};board_measure_stop")
    assert {s: n for s, n in stacks(interval).items() if s not in beside} == EXPECTED


def test_the_stacks_sum_up_to_all_that_was_executed(interval: Interval) -> None:
    assert sum(call[3] for call in interval.calls) == interval.instructions
    assert sum(f["instructions"] for f in interval.functions) == interval.instructions


def test_the_innermost_mark_says_what_kind_of_work_it_is(interval: Interval) -> None:
    (plain,) = [f for f in interval.functions if f["name"] == "plain"]
    work = {kind: amounts["instructions"] for kind, amounts in plain["work"].items()}
    # `sending` gave way to it the second time.
    assert (work["receive"], work["transmit"]) == (2, 2)
    assert sum(work.values()) == plain["instructions"]


def test_registers_are_counted_in_thumb_state_too(interval: Interval) -> None:
    (outer,) = [f for f in interval.functions if f["name"] == "thumb_outer"]
    assert outer["by_register"] == outer["instructions"] + 2
