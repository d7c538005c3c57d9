# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call for cache maintenance, made wrongly in turn: a test has to notice.

The calls are found in the sources, so that a new one is covered, or fails here until it
is. tests/shared/mutant_dma.h says how one is made to go wrong: the host's programs hold
all of the mutants and are told which to be.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import build
from lab.paths import ROOT

CALL = re.compile(r"\bplumb_dma_(map|unmap|sync_for_cpu|sync_for_device)\(")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ROOMS = ("src", "drivers", "boards", "apps")
PROGRAM = "tests/host/test_dma_portable"  # where the sanitizer sees every access
# The quicker first.
TESTS = ("a_driver_alone", "a_stack_that_sends_by_copy", "a_stack_that_sends_by_reference")
LIMIT_S = 120


@dataclass(frozen=True)
class Call:
    """A call as it stands in a source file, the how-manieth of its file."""

    file: str
    number: int
    line: int
    operation: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.operation}"


def calls_in(path: Path) -> list[Call]:
    """The calls of one file; comments are blanked, so that lines stay."""
    blank = COMMENT.sub(lambda c: re.sub(r"[^\n]", " ", c[0]), path.read_text())
    name = str(path.relative_to(ROOT))
    return [
        Call(name, number, blank.count("\n", 0, found.start()) + 1, found[1])
        for number, found in enumerate(CALL.finditer(blank))
    ]


CALLS = [
    call
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.c"))
    for call in calls_in(path)
]


def run(mutant: str, test: str) -> subprocess.CompletedProcess[str]:
    """One test of the program with a mutant, or as it is."""
    environment = {key: value for key, value in os.environ.items() if key != "PLUMB_MUTANT"}
    if mutant:
        environment["PLUMB_MUTANT"] = mutant
    return subprocess.run(
        [build.preset("host-gcc") / PROGRAM, "--run", test],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
    )


def test_the_calls_are_found():
    assert {call.operation for call in CALLS} >= {"map", "unmap", "sync_for_cpu", "sync_for_device"}
    assert any(call.file == "drivers/gem/rx.c" for call in CALLS)


@pytest.mark.parametrize("test", TESTS)
def test_nothing_is_noticed_where_nothing_is_wrong(test):
    done = run("", test)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "mutant: reached" not in done.stdout


@pytest.mark.parametrize("how", ["delete", "short", "direction", "late"])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_wrong_call_is_noticed(call, how):
    is_reached = False
    for test in TESTS:
        done = run(f"{call.file}:{call.number}:{how}", test)
        is_reached |= "mutant: reached" in done.stdout
        if done.returncode:
            break
    assert is_reached, f"no test of the host gets to {call}"
    assert done.returncode, f"{call}: {how} makes no difference to any test"
