# SPDX-License-Identifier: Apache-2.0 OR MIT
"""docs/hostile.md and the host tests: every row that applies is tested."""

import re

import pytest

from lab.paths import ROOT

ROWS = 68
TEST = re.compile(r"cmocka_unit_test\((\w+)\)")


def host_tests() -> set[str]:
    """The names of all host tests."""
    files = (ROOT / "tests/host").glob("test_*.c")
    return {name for file in files for name in TEST.findall(file.read_text())}


def rows() -> list[tuple[int, str]]:
    """Each row's number, and what it says of where it is tested."""
    lines = (ROOT / "docs/hostile.md").read_text().splitlines()
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    return [(int(c[0]), c[3]) for c in cells if c[0].isdecimal()]


def test_each_row_is_there_once():
    assert [number for number, _ in rows()] == list(range(1, ROWS + 1))


@pytest.mark.parametrize("row", range(1, ROWS + 1))
def test_a_row_is_tested_or_does_not_apply(row: int):
    where, names = dict(rows())[row], host_tests()
    elsewhere = re.findall(r"`(\w+)`", where)
    assert not set(elsewhere) - names
    numbered = any(name.startswith(f"test_hostile_{row:02}_") for name in names)
    stated = (where.startswith("tested as ") and elsewhere) or where.startswith("does not apply: ")
    assert numbered or stated, f"no test for row {row}"


def test_no_test_has_a_number_that_is_no_row():
    numbers = {name.split("_")[2] for name in host_tests() if name.startswith("test_hostile_")}
    assert not numbers - {f"{row:02}" for row in range(1, ROWS + 1)}
