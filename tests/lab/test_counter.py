# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The counting plugin against a program whose counts are known."""

import pytest
from helpers import bare_program, run_bare

from lab.elf import Program
from lab.profile import Firmware, Profile

ROUNDS = 10
ABOUT = Firmware({"idle": ("*:board_idle",)}, lambda program: ())


@pytest.fixture(scope="module")
def interval(tmp_path_factory: pytest.TempPathFactory):
    """The one interval of counted.S."""
    folder = tmp_path_factory.mktemp("counted")
    program = bare_program(folder, "counted.S")
    profile = Profile(program, folder, ABOUT)
    run_bare(program, profile.option())
    return profile.next(limit_s=1), Program(program)


def function(interval, name):
    """One function's part."""
    return next(f for f in interval[0].functions if f["name"] == name)


def test_instructions_are_exact_and_only_of_the_interval(interval):
    assert function(interval, "work")["instructions"] == 7 * ROUNDS
    assert function(interval, "helper")["instructions"] == 2 * ROUNDS


def test_idle_is_kept_apart_with_all_it_calls(interval):
    # Nine of ten times idle calls the helper.
    assert function(interval, "helper")["idle"] == 2 * (ROUNDS - 1)
    idle = function(interval, "board_idle")
    assert (idle["idle"], idle["instructions"]) == (5 * (ROUNDS - 1) + 3, 0)
    assert interval[0].idle_instructions == sum(f["idle"] for f in interval[0].functions)


def test_loads_of_many_registers_are_many_loads(interval):
    work = function(interval, "work")
    assert work["loads"] == {"2": ROUNDS, "4": 5 * ROUNDS}
    assert work["stores"] == {"1": ROUNDS, "4": ROUNDS}


def test_registers_of_one_instruction_are_counted_one_by_one(interval):
    work = function(interval, "work")
    assert work["by_register"] == work["instructions"] + 2 * ROUNDS


def test_misaligned_accesses_are_found_with_their_place(interval):
    assert interval[0].misaligned_accesses == ROUNDS
    assert function(interval, "work")["misaligned"] == ROUNDS
    (culprit,) = interval[0].culprits
    assert culprit["size"] == 2 and culprit["address"] % 2 == 1
    assert interval[1].symbol_at(culprit["pc"]) == "work+0x8"
    assert "counted.S" in interval[1].line_at(culprit["pc"])
