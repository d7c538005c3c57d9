# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Builds programs for QEMU's user mode: many at once, by one generated ninja file.

A program is a list of units, each a source with its own optimisation, Kconfig
settings and definitions: the routine under test is compiled as asked for, what
calls and counts it always alike.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ninja import ninja_syntax

from . import build, lock
from .isa import STRICT, UNALIGNED, Isa, isa
from .paths import BUILD, ROOT

USER = BUILD / "user"
HARNESS_OPT = "O2"
COMMON = (
    "-std=gnu11",
    "-g",
    "-ffreestanding",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-common",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
)
INCLUDES = ("include", "src", "boards", "boards/user", "bench/bytes", "tests/shared")

# The settings by which Plumb's routines are built: name, and what differs from the defaults.
CONFIGS: dict[str, tuple[str, ...]] = {
    "asm": (),
    "c": ("PLUMB_BYTES_ASSEMBLY=n",),
    "neon": ("PLUMB_BYTES_NEON=y",),
    "unaligned": ("PLUMB_ALIGNMENT_UNALIGNED=y",),
    "generic": ("PLUMB_ALIGNMENT_GENERIC=y",),
    "strict-word": ("PLUMB_NETWORK_HEADER_ALIGNED=n",),
    "unaligned-word": ("PLUMB_ALIGNMENT_UNALIGNED=y", "PLUMB_NETWORK_HEADER_ALIGNED=n"),
    "generic-word": ("PLUMB_ALIGNMENT_GENERIC=y", "PLUMB_NETWORK_HEADER_ALIGNED=n"),
    "ether-bytes": ("PLUMB_ETHERNET_COPY_BYTES=y",),
    "ether-call": ("PLUMB_ETHERNET_COPY_CALL=y",),
}


@dataclass(frozen=True)
class Unit:
    """One source, compiled one way; `tag` tells apart the objects of one source."""

    source: Path
    opt: str = HARNESS_OPT
    config: str = "asm"
    defines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    alignment: str = STRICT
    tag: str = ""


@dataclass(frozen=True)
class Program:
    """One program; `inputs` are objects or archives that come from elsewhere."""

    name: str
    isa: str
    compiler: str
    units: tuple[Unit, ...]
    inputs: tuple[Path, ...] = ()

    def folder(self, group: str) -> Path:
        """Where its objects lie."""
        return USER / group / f"{self.isa}-{self.compiler}"

    def path(self, group: str) -> Path:
        """The program itself."""
        return self.folder(group) / self.name


@cache
def config(name: str) -> Path:
    """The folder of a configuration's plumb_config.h; CONFIGS says what is in it."""
    folder = USER / "config" / name
    fresh, header = folder / "fresh.h", folder / "plumb_config.h"
    script = [sys.executable, str(ROOT / "cmake/kconfig.py"), str(ROOT / "Kconfig"), str(fresh)]
    with lock.held(folder / "lock", f"configuring {name}"):
        build.run([*script, *CONFIGS[name]], f"configuring {name}")
        if not header.exists() or header.read_bytes() != fresh.read_bytes():
            fresh.replace(header)
    return folder


def harness() -> tuple[Unit, ...]:
    """What every program begins with: its start, the kernel's services, printing."""
    names = ("user/start.c", "user/system.c", "user/runtime.c", "common/print.c")
    units = tuple(Unit(ROOT / "boards" / name) for name in names)
    return (*units, Unit(ROOT / "src/bytes/libc.c", flags=("-fno-builtin",)))


# What the byte routines define, by which two builds of them can stand in one program.
SHARED_NAMES = ("pl_sum", "pl_copy", "pl_copy_sum")


def byte_routines(target: Isa, variant: str, opt: str, prefix: str = "") -> tuple[Unit, ...]:
    """src/bytes for one instruction set, every name with a prefix."""
    folder = ROOT / "src/bytes"
    sources = sorted(p for p in folder.glob("*.c") if p.name != "libc.c")
    families = [folder / family for family in target.families]
    sources += sorted(p for f in families for p in f.glob("*.[cS]"))
    return tuple(
        Unit(
            source,
            opt,
            variant,
            renames(prefix),
            alignment=alignment_of(source, variant),
            tag=prefix,
        )
        for source in sources
    )


def alignment_of(source: Path, configuration: str) -> str:
    """Leave to misalign has a generic build's one file, and all of an unaligned one."""
    kind = configuration.partition("-")[0]
    is_free = kind == "unaligned" or (kind == "generic" and source.name == "unaligned.c")
    return UNALIGNED if is_free else STRICT


def renames(prefix: str) -> tuple[str, ...]:
    """Definitions that give the shared names a prefix."""
    return tuple(f"{name}={prefix}_{name}" for name in SHARED_NAMES) if prefix else ()


def build_all(group: str, programs: Iterable[Program]) -> dict[Program, Path]:
    """Builds programs, all of a group at once; where each lies."""
    wanted = list(programs)
    folder = USER / group
    with lock.held(folder / "lock", f"building {group}"):
        fresh = folder / "build.ninja.new"
        with fresh.open("w") as file:
            _write(ninja_syntax.Writer(file, width=100), group, wanted)
        fresh.replace(folder / "build.ninja")
        build.run(["ninja", "-C", str(folder)], f"building {group}")
    return {program: program.path(group) for program in wanted}


def _write(ninja: ninja_syntax.Writer, group: str, programs: list[Program]) -> None:
    ninja.variable("builddir", str(USER / group))
    ninja.rule(
        "compile", "$compiler -MMD -MF $out.d $flags -c $in -o $out", depfile="$out.d", deps="gcc"
    )
    ninja.rule("link", "$linker -o $out $in $libraries")
    seen: dict[str, list[str]] = {}
    for program in programs:
        objects = []
        for unit in program.units:
            command, flags = compile_flags(program, unit)
            out = str(object_path(program, group, unit))
            if out not in seen:
                ninja.build(
                    [out],
                    "compile",
                    [str(unit.source)],
                    variables={"compiler": " ".join(command), "flags": " ".join(flags)},
                )
                seen[out] = flags
            elif seen[out] != flags:
                raise ValueError(f"{out} is asked for in two ways: tag its units")
            objects.append(out)
        _write_link(ninja, group, program, objects)


def _write_link(
    ninja: ninja_syntax.Writer, group: str, program: Program, objects: list[str]
) -> None:
    target = isa(program.isa)
    linker = target.compiler(program.compiler).linker or target.linker
    is_driver = linker[0].endswith("gcc")
    static = ["-static", "-nostdlib"] + (["-Wl,--build-id=none"] if is_driver else [])
    ninja.build(
        [str(program.path(group))],
        "link",
        objects + [str(path) for path in program.inputs],
        variables={
            "linker": " ".join([*linker, *static]),
            "libraries": " ".join(target.libraries),
        },
    )


def object_path(program: Program, group: str, unit: Unit) -> Path:
    """Where the object of one of a program's units lies."""
    try:
        source = unit.source.relative_to(ROOT)
    except ValueError:
        source = Path(unit.source.name)
    way = "-".join(filter(None, (unit.opt, unit.config, unit.alignment, unit.tag)))
    return program.folder(group) / way / source.with_suffix(".o")


def compile_flags(program: Program, unit: Unit) -> tuple[list[str], list[str]]:
    """The compiler, and its flags for one unit."""
    target = isa(program.isa)
    compiler = target.compiler(program.compiler)
    align = compiler.strict if unit.alignment == STRICT else compiler.unaligned
    folders = [config(unit.config), *(ROOT / name for name in INCLUDES), *map(Path, unit.includes)]
    flags = [
        f"-{unit.opt}",
        *target.flags,
        *align,
        *COMMON,
        *unit.flags,
        *(f"-I{folder}" for folder in folders),
        *(f"-D{definition}" for definition in unit.defines),
    ]
    return list(compiler.command), flags
