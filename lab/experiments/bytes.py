# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The byte routines, Plumb's and others', counted on every instruction set.

A *build* is an instruction set, a compiler and an optimisation. Of each there is a
program per variant of Plumb's routines and one of the others', all with the same
harness (bench/bytes/measure.c), which is not part of what is counted: what calling a
routine that does nothing takes is subtracted.
"""

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from .. import build, peers, programs, tools, usermode
from ..isa import ISAS, OPTS, Isa, isa
from ..paths import ROOT
from ..programs import Program, Unit
from ..records import Record
from .base import Run, case_of

LENGTHS = (20, 40, 64, 256, 576, 1460, 9000)
# At which single bytes are counted as well: a loop over them is for short lengths, if at all.
MORE_LENGTHS = (17, 23, 31, 39)
FULL = 1460  # the length that goals are about
FEW = 16  # up to here one may go byte by byte
SHORT = 64  # up to here the call itself counts, so that instructions are told as well
NAMES = tuple(target.name for target in ISAS)
X86 = "x86_64"
EMULATORS = 2  # at a time
GOAL_OPT, SIZE_OPT = "O2", "Os"
GROUP = "bytes"
PEERS = ROOT / "bench/peers"
# Which configurations of Plumb's routines there are beside portable C and the default.
VARIANTS = {"aarch64": ("neon",)}


@dataclass(frozen=True)
class Build:
    """One way to compile everything."""

    isa: str
    compiler: str
    opt: str

    @property
    def target(self) -> Isa:
        """Its instruction set."""
        return isa(self.isa)

    def case(self, **parts: object) -> str:
        """A case of this build, as records spell it."""
        return case_of(**parts, opt=self.opt, compiler=self.compiler)


def builds(run: Run, opts: tuple[str, ...] = OPTS) -> list[Build]:
    """What a run is about. Quick: each instruction set's first compiler, and what the
    goals are about."""
    found = []
    for target in ISAS:
        if run.wants(target.name):
            compilers = list(target.compilers)
            for compiler in compilers[:1] if run.is_quick else compilers:
                chosen = (GOAL_OPT, SIZE_OPT) if run.is_quick else opts
                found += [Build(target.name, compiler, opt) for opt in chosen]
    return found


def variants(target: Isa) -> tuple[str, ...]:
    """Plumb's routines for one instruction set: configurations of lab/programs.py."""
    return ("c", "asm", *VARIANTS.get(target.name, ()))


# ---- what is in a program ----


def plumb(one: Build, variant: str) -> Program:
    """The program of one variant of Plumb's."""
    table = Unit(
        ROOT / "bench/bytes/plumb.c", one.opt, variant, (f"VARIANT={variant}",), tag=variant
    )
    routines = programs.byte_routines(one.target, variant, one.opt)
    return _program(one, variant, (table, *routines))


def lwip_defines(number: int, prefix: str) -> tuple[str, ...]:
    """Makes one algorithm of lwIP's file, every name in it a name of its own."""
    exported = ("inet_chksum", "inet_chksum_pbuf")
    pseudo = ("inet_chksum_pseudo", "ip_chksum_pseudo")
    partial = (f"{name}_partial" for name in pseudo)
    return (
        f"LWIP_CHKSUM_ALGORITHM={number}",
        f"lwip_standard_chksum={prefix}{number}",
        *(f"{name}=lwip_{number}_{name}" for name in (*exported, *pseudo, *partial)),
    )


def lwip_sums(one: Build) -> tuple[Unit, ...]:
    """lwIP's three checksums."""
    core = peers.lwip() / "src/core"
    about = {
        "opt": one.opt,
        "includes": (str(PEERS / "lwip"), str(core.parent / "include")),
    }
    units = [
        Unit(
            core / "inet_chksum.c",
            defines=lwip_defines(number, "lwip_sum_"),
            tag=f"lwip-{number}",
            **about,
        )
        for number in (1, 2, 3)
    ]
    return (Unit(core / "def.c", tag="lwip", **about), *units)


def checksum_peers(one: Build) -> Program:
    """The program of the checksums that Plumb's is compared with."""
    table = Unit(PEERS / "lwip/sums.c", one.opt, tag="lwip")
    return _program(one, "sums", (table, *lwip_sums(one)))


def copy_peers(one: Build) -> Program:
    """The program of the copies that Plumb's is compared with."""
    simple = Unit(PEERS / "simple.c", one.opt, flags=_no_calls(one))
    units = [simple, *lwip_sums(one), *_newlib(one)]
    inputs: list[Path] = []
    for library in peers.LIBRARIES.get(one.isa, ()):
        units.append(_library(library.stack, library.variant))
        inputs += peers.memcpy_objects(library, one.isa)
    return _program(one, "copies", tuple(units), tuple(inputs))


def _newlib(one: Build) -> tuple[Unit, ...]:
    """newlib's generic memcpy, compiled as everything else is."""
    sources = peers.newlib() / "newlib/libc"
    memcpy = Unit(
        sources / "string/memcpy.c",
        one.opt,
        defines=("memcpy=newlib_generic_memcpy",),
        includes=(str(PEERS / "newlib"), str(sources / "include"), str(sources / "string")),
        flags=_no_calls(one),
        tag="newlib",
    )
    return memcpy, _library("newlib", "generic")


def _library(stack: str, variant: str) -> Unit:
    """The table's entry of a C library's memcpy."""
    defines = (f"STACK={stack}", f"VARIANT={variant}")
    return Unit(PEERS / "libc.c", defines=defines, tag=f"{stack}-{variant}")


def _no_calls(one: Build) -> tuple[str, ...]:
    """gcc makes a call to memcpy of a loop that is one, even if it is memcpy's own."""
    return ("-fno-tree-loop-distribute-patterns",) if one.compiler == "gcc" else ()


def _program(
    one: Build, what: str, units: tuple[Unit, ...], inputs: tuple[Path, ...] = ()
) -> Program:
    harness = (*programs.harness(), Unit(ROOT / "bench/bytes/measure.c"))
    return Program(f"{what}-{one.opt}", one.isa, one.compiler, (*harness, *units), inputs)


# ---- running ----


@dataclass(frozen=True)
class Counted:
    """One call of one routine, what calling it took subtracted."""

    build: Build
    kind: str  # sum, copy, copy-sum, header, chain
    stack: str
    variant: str
    place: str  # `length=1460 offset=2`, or `to=` and `from=`
    length: int
    instructions: int
    misaligned: int
    byte_loads: int
    byte_stores: int


def count(run: Run, wanted: dict[Program, Build], what: str) -> list[Counted]:
    """Builds and runs programs; every call of every routine in them that does `what`."""
    words = [what, *map(str, sorted((*LENGTHS, *MORE_LENGTHS)))]
    run.step(f"building {len(wanted)} programs", 0)
    paths = programs.build_all(GROUP, wanted)
    run.step("counting", 0.4)
    build.plugin()  # once, before several need it
    found: list[Counted] = []
    with ThreadPoolExecutor(EMULATORS) as pool:
        tasks = [
            pool.submit(_count_one, wanted[program], path, words)
            for program, path in paths.items()
        ]
        try:
            for task, program in zip(tasks, paths, strict=True):
                found += task.result()
                one = wanted[program]
                run.step(one.isa, 0.5 / len(wanted))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _count_one(one: Build, program: Path, words: list[str]) -> list[Counted]:
    with tempfile.TemporaryDirectory(prefix="plumb-counts-") as folder:
        cases = usermode.run(one.target, program, words, Path(folder))
    return list(_net(one, cases))


def _net(one: Build, cases: list[usermode.Case]) -> Iterator[Counted]:
    """Without what a call takes that does nothing; it is the first of its kind."""
    empty: dict[str, int] = {}
    for case in cases:
        kind, stack, variant, *place = case.words
        instructions = case.interval.instructions
        if (stack, variant) == ("none", "empty"):
            empty.setdefault(kind, instructions)
            continue
        lengths = [int(word.partition("=")[2]) for word in place if word.startswith("length=")]
        yield Counted(
            one,
            kind,
            stack,
            variant,
            " ".join(place),
            lengths[0],
            instructions - empty[kind],
            case.interval.misaligned_accesses,
            _of_bytes(case, "loads"),
            _of_bytes(case, "stores"),
        )


def _of_bytes(case: usermode.Case, kind: str) -> int:
    """How many loads, or stores, of a single byte there were."""
    return sum(function[kind].get("1", 0) for function in case.interval.functions)


# ---- records ----

# What a case begins with, so that no two kinds share one.
PREFIXES = {"sum": "", "copy": "", "copy-sum": "fused ", "header": "header ", "chain": "chain "}


def records(experiment: str, counted: list[Counted]) -> list[Record]:
    """All that was counted, as records."""
    made = []
    for one in counted:
        if one.length in MORE_LENGTHS:
            continue
        case = f"{PREFIXES[one.kind]}{one.place} opt={one.build.opt} compiler={one.build.compiler}"
        about = {"stack": one.stack, "variant": one.variant, "tools": tools_of(one.build)}
        per_byte = one.instructions / one.length
        board = one.build.isa
        made.append(
            Record(experiment, board, case, "instructions_per_byte", per_byte, "", **about)
        )
        if one.length <= SHORT:
            value = float(one.instructions)
            made.append(Record(experiment, board, case, "instructions", value, "", **about))
    return made + _over_all(experiment, counted)


def _over_all(experiment: str, counted: list[Counted]) -> list[Record]:
    """Of each routine of a build: misaligned accesses in all cases together, and the
    most loads and stores of a single byte in one case of more than a few bytes."""
    by_routine: dict[tuple[Build, str, str], list[Counted]] = defaultdict(list)
    for one in counted:
        by_routine[one.build, one.stack, one.variant].append(one)
    made = []
    for (build_of, stack, variant), calls in by_routine.items():
        long = [one for one in calls if one.length > FEW]
        values = {
            "misaligned_accesses": sum(one.misaligned for one in calls),
            "byte_loads": max((one.byte_loads for one in long), default=0),
            "byte_stores": max((one.byte_stores for one in long), default=0),
        }
        about = {"stack": stack, "variant": variant, "tools": tools_of(build_of)}
        case = build_of.case(all="cases")
        made += [
            Record(experiment, build_of.isa, case, metric, value, "", **about)
            for metric, value in values.items()
        ]
    return made


def text_records(experiment: str, wanted: list[Build]) -> list[Record]:
    """How much code src/bytes is, for each variant of Plumb's and each build."""
    made = []
    for one in wanted:
        for variant in variants(one.target):
            program = plumb(one, variant)
            units = programs.byte_routines(one.target, variant, one.opt)
            size = sum(text_size(programs.object_path(program, GROUP, unit)) for unit in units)
            about = {"variant": variant, "tools": tools_of(one)}
            made.append(Record(experiment, one.isa, one.case(), "text_bytes", size, "B", **about))
    return made


def text_size(path: Path) -> int:
    """Bytes of code in an object."""
    with path.open("rb") as stream:
        return sum(
            section["sh_size"]
            for section in ELFFile(stream).iter_sections()
            if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR
        )


@cache
def tools_of(one: Build) -> dict[str, str]:
    """What a build was made and run with."""
    target = one.target
    command, flags = programs.compile_flags(
        Program("", one.isa, one.compiler, ()), Unit(Path(), one.opt)
    )
    told = [f for f in flags if not f.startswith(("-I", "-std", "-g", *build.SECTIONS))]
    version, emulator = version_of(command[0]), version_of(target.emulator[0])
    return {
        "emulator": " ".join((target.emulator[0], emulator, *target.emulator[1:])),
        "compiler": f"{command[0]} {version}",
        "flags": " ".join((*command[1:], *told)),
        "commit": _commit(),
    }


@cache
def version_of(command: str) -> str:
    """A program's version, whatever its packager put in brackets before it."""
    line = tools.output_of([command, "--version"]).partition("\n")[0]
    return tools.first_version(re.sub(r"\([^)]*\)", "", line))


@cache
def _commit() -> str:
    return tools.commit()
