# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call for cache maintenance, made wrongly in turn: a test has to notice.

The calls are found in the sources, so that a new one is covered, or fails here until it
is. tests/shared/mutant_dma.h says how one is made to go wrong: the host's programs hold
all of the mutants and are told which to be.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import build
from lab.paths import ROOT

CALL = re.compile(r"\bplumb_dma_(map|map_clean|unmap|sync_for_cpu|sync_for_device)\(")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ROOMS = ("src", "drivers", "boards", "apps")
# Where the sanitizer sees every access; the others copy what is received.
PROGRAMS = ("test_dma_portable", "test_dma_break", "test_dma_linear")
# The quicker first.
TESTS = ("a_driver_alone", "a_stack_that_sends_by_copy", "a_stack_that_sends_by_reference")
LIMIT_S = 120


@dataclass(frozen=True)
class Call:
    """A call as it stands in a source file, from its first to its last line."""

    file: str
    first: int
    last: int
    operation: str

    def __str__(self) -> str:
        return f"{self.file}:{self.first}:{self.operation}"

    def mutant(self, how: str) -> str:
        """As tests/shared/mutant_dma.h takes it."""
        return f"{self.file}:{self.first}-{self.last}:{how}"


def end_of_call(text: str, opening: int) -> int:
    """Where the parenthesis closes that opens there."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return at
    raise ValueError("a parenthesis is open at the end")


def calls_in(path: Path) -> list[Call]:
    """The calls of one file; comments are blanked, so that lines stay."""
    text = COMMENT.sub(lambda c: re.sub(r"[^\n]", " ", c[0]), path.read_text())
    name = str(path.relative_to(ROOT))
    calls = []
    for found in CALL.finditer(text):
        end = end_of_call(text, found.end() - 1)
        lines = [text.count("\n", 0, at) + 1 for at in (found.start(), end)]
        calls.append(Call(name, *lines, found[1]))
    return calls


CALLS = [
    call
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.[ch]"))
    for call in calls_in(path)
]


def run(program: str, test: str, mutant: str = "") -> subprocess.CompletedProcess[str]:
    """One test of a program with a mutant, or as it is."""
    environment = {key: value for key, value in os.environ.items() if key != "PLUMB_MUTANT"}
    if mutant:
        environment["PLUMB_MUTANT"] = mutant
    return subprocess.run(
        [build.preset("host-gcc") / "tests/host" / program, "--run", test],
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
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_noticed_where_nothing_is_wrong(program, test):
    done = run(program, test)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "mutant: reached" not in done.stdout


def outcomes(mutant: str) -> Iterator[tuple[bool, bool]]:
    """Of each program's tests that get to a call: whether they do, whether they notice."""
    for program in PROGRAMS:
        for test in TESTS:
            done = run(program, test, mutant)
            is_reached = "mutant: reached" in done.stdout
            yield is_reached, done.returncode != 0
            if not is_reached:
                break  # a call that no frame alone leads to, no stack does


@pytest.mark.parametrize("how", ["delete", "short", "direction", "late"])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_wrong_call_is_noticed(call, how):
    is_reached = is_noticed = False
    for reached, noticed in outcomes(call.mutant(how)):
        is_reached |= reached
        is_noticed |= reached and noticed
        if is_noticed:
            break
    assert is_reached, f"no test of the host gets to {call}"
    assert is_noticed, f"{call}: {how} makes no difference to any test"
