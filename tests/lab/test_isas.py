# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The byte routines against their reference on every instruction set, between guard pages.

SPARC's emulator traps a misaligned access; elsewhere the plugin counts them, and
the count must be 0.
"""

from pathlib import Path

import pytest

from lab import programs, usermode
from lab.elf import Program as Elf
from lab.isa import ISAS, Isa, isa
from lab.paths import ROOT

LIMIT_S = 300.0
BUILDS = [
    pytest.param(target.name, compiler, variant, opt, id=f"{target.name}-{compiler}-{variant}-{opt}")
    for target in ISAS
    for compiler in target.compilers
    for variant, opt in (("asm", "O2"), ("asm", "Os"), ("c", "O2"))
]


def check_program(target: Isa, compiler: str, variant: str, opt: str) -> programs.Program:
    """The suite over one build of the routines."""
    sources = (ROOT / "tests/user/bytes_check.c", ROOT / "tests/shared/bytes_check.c")
    suite = tuple(programs.Unit(source, config=variant) for source in sources)
    routines = programs.byte_routines(target, variant, opt)
    name = f"check-{variant}-{opt}"
    return programs.Program(name, target.name, compiler, (*programs.harness(), *suite, *routines))


@pytest.fixture(scope="module")
def checks() -> dict[tuple, Path]:
    """All of them, built at once."""
    wanted = {tuple(p.values): check_program(isa(p.values[0]), *p.values[1:]) for p in BUILDS}
    built = programs.build_all("check", wanted.values())
    return {key: built[program] for key, program in wanted.items()}


@pytest.mark.parametrize("name,compiler,variant,opt", BUILDS)
def test_bytes(checks, tmp_path: Path, name: str, compiler: str, variant: str, opt: str) -> None:
    """Right for every length, place and data, and nothing outside touched or misaligned."""
    target = isa(name)
    path = checks[name, compiler, variant, opt]
    (case,) = usermode.run(target, path, [], tmp_path, LIMIT_S)
    culprits = [Elf(path).place(culprit["pc"]) for culprit in case.interval.culprits]
    assert not (target.is_strict and culprits), culprits
