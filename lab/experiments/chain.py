# SPDX-License-Identifier: Apache-2.0 OR MIT
"""eCos' measurement of 2000 on modelled memories: the checksum of a chain of four buffers of
varying lengths, in assembly and in portable C by optimisation, with caches on and off."""

from dataclasses import dataclass
from pathlib import Path

from .. import programs, usermode
from ..errors import LabError
from ..isa import isa
from ..memory import Core, Memory, Model
from ..paths import ROOT
from ..programs import Program, Unit
from ..records import Record
from .base import case_of

ISA, COMPILER, GROUP = "armv5", "gcc", "chain"
FOLDER = ROOT / "bench/chain"
ASM_OPT = "O2"
OPTS, QUICK_OPTS = ("O0", "O1", "O2", "O3"), ("O0", "O2")
CACHES: dict[str, dict[str, int]] = {
    "both": {},
    "instructions": {"dcache.bytes": 0},
    "data": {"icache.bytes": 0},
    "none": {"icache.bytes": 0, "dcache.bytes": 0},
}
# Seconds: assembly, and portable C by optimisation.
THEN = {"asm": 5.04, "O0": 10.62, "O1": 15.95, "O2": 15.95, "O3": 15.95}
METRIC = "modelled_cycles_per_byte"


@dataclass(frozen=True)
class Board:
    """A core and one of its boards."""

    core: Core
    name: str


def program(variant: str, opt: str) -> Program:
    """Plumb's routines in one configuration, with the routine by halves, at one optimisation."""
    target = isa(ISA)
    table = Unit(
        ROOT / "bench/bytes/plumb.c", opt, variant, (f"VARIANT={variant}",), tag=f"{variant}-{opt}"
    )
    units = (
        *programs.harness(),
        Unit(FOLDER / "measure.c"),
        Unit(FOLDER / "halves.c", opt, tag=opt),
        table,
        *programs.byte_routines(target, variant, opt),
    )
    return Program(f"chain-{variant}-{opt}", ISA, COMPILER, units)


def records(
    experiment: str, boards: list[Board], is_quick: bool, out: Path, tools: dict[str, str]
) -> list[Record]:
    """Cycles per byte of every routine, optimisation, board and choice of caches."""
    wanted = {("asm", ASM_OPT): program("asm", ASM_OPT)}
    wanted |= {("c", opt): program("c", opt) for opt in (QUICK_OPTS if is_quick else OPTS)}
    paths = programs.build_all(GROUP, wanted.values())
    found = []
    for (variant, opt), one in wanted.items():
        for (board, caches), measured in run(paths[one], boards, out / one.name).items():
            about = {"memory": board, "caches": caches, "opt": opt, "compiler": COMPILER}
            for routine, value in measured.items():
                if routine == "simple halves" and variant == "asm":
                    continue  # the same as beside portable C
                stack, name = routine.split()
                case = "chain " + case_of(**about)
                found.append(
                    Record(
                        experiment,
                        "zynq",
                        case,
                        METRIC,
                        round(value, 6),
                        "cycles/B",
                        stack=stack,
                        variant=name,
                        tools=tools,
                    )
                )
    return found


def run(
    path: Path, boards: list[Board], out: Path
) -> dict[tuple[str, str], dict[str, float]]:
    """One program under all models: by board and caches, cycles per byte of each routine."""
    names = [(board.name, caches) for board in boards for caches in CACHES]
    models = [Model(b.core, b.name, dict(CACHES[caches])) for b in boards for caches in CACHES]
    memory = Memory(path, out, models)
    text = usermode.execute(isa(ISA), path, [], ("-plugin", memory.option()))
    cases = [line.split()[1:] for line in text.splitlines() if line.startswith("case ")]
    costs = memory.rest()
    if len(cases) != len(costs) or not text.endswith("end\n"):
        raise LabError(f"{path}: {len(cases)} cases, {len(costs)} told; it said:\n{text[-2000:]}")
    found: dict[tuple[str, str], dict[str, float]] = {name: {} for name in names}
    for (stack, variant, count), interval in zip(cases, costs, strict=True):
        for name, cost in zip(names, interval, strict=True):
            found[name][f"{stack} {variant}"] = cost.cycles / int(count)
    return found
