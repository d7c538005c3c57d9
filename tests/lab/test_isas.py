# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The byte routines against their reference on every instruction set, between guard pages.

SPARC's emulator traps a misaligned access; elsewhere the plugin counts them, and
the count must be 0.
"""

from pathlib import Path

import pytest
from helpers import SUITE_LIMIT_S, build_suites, suite

from lab import usermode
from lab.elf import Program as Elf
from lab.isa import ISAS, isa
from lab.programs import Program

BUILDS = [
    pytest.param(target.name, compiler, variant, opt, id=f"{target.name}-{compiler}-{variant}-{opt}")
    for target in ISAS
    for compiler in target.compilers
    for variant, opt in (("asm", "O2"), ("asm", "Os"), ("c", "O2"))
]


@pytest.fixture(scope="module")
def suites() -> dict[Program, Path]:
    """All of them, built at once."""
    return build_suites(suite(*p.values) for p in BUILDS)


@pytest.mark.parametrize("name,compiler,variant,opt", BUILDS)
def test_bytes(suites, tmp_path: Path, name: str, compiler: str, variant: str, opt: str) -> None:
    """Right for every length, place and data, and nothing outside touched or misaligned."""
    target = isa(name)
    path = suites[suite(name, compiler, variant, opt)]
    (case,) = usermode.run(target, path, [], tmp_path, SUITE_LIMIT_S)
    culprits = [Elf(path).place(culprit["pc"]) for culprit in case.interval.culprits]
    assert not (target.is_strict and culprits), culprits
