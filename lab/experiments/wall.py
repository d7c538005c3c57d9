# SPDX-License-Identifier: Apache-2.0 OR MIT
"""x86-64 by the clock on the wall: pinned, paired, as ratios (bench/bytes/wall.c)."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .. import build, peers, programs
from ..errors import LabError
from ..isa import isa
from ..paths import BUILD, ROOT
from ..records import Record
from ..tools import commit
from .base import case_of
from .bytes import PEERS, X86, lwip_defines, version_of

FOLDER = BUILD / "user/wall"
OPT = "O2"
LIMIT_S = 240
# What wall.c calls the routines that are not an arm of Plumb's: stack and variant.
ROUTINES = {
    "c": ("plumb", "c"),
    "lwip1": ("lwip", "algorithm-1"),
    "lwip2": ("lwip", "algorithm-2"),
    "lwip3": ("lwip", "algorithm-3"),
    "memcpy": ("glibc", "shipped"),
    "memcpy+lwip3": ("glibc", "shipped+algorithm-3"),
}
# By kind: how its cases begin, and the metric, which names what it is compared with.
KINDS = {
    "sum": ("", "ratio_to_lwip_3"),
    "copy": ("", "ratio_to_memcpy"),
    "fused": ("fused ", "ratio_to_memcpy"),
}
TO_C = "ratio_to_c"


@dataclass(frozen=True)
class Line:
    """One line of what it prints."""

    kind: str
    routine: str
    length: int
    ns: float
    ratio: float
    spread: float  # of the ratio
    pairs: int


def records(experiment: str, kinds: tuple[str, ...]) -> list[Record]:
    """Measures; what was found of these kinds. Ratios are times as fast."""
    lines = [line for line in _measure() if line.kind in kinds]
    tools = {"compiler": f"gcc {version_of('gcc')}", "flags": f"-{OPT}", "commit": commit()}
    plain = {(line.kind, line.length): line.ratio for line in lines if line.routine == "c"}
    made = []
    for line in lines:
        prefix, metric = KINDS[line.kind]
        case = prefix + case_of(length=line.length, clock="wall", opt=OPT, compiler="gcc")
        stack, variant = ROUTINES.get(line.routine, ("plumb", line.routine))
        about = {"repeats": line.pairs, "stack": stack, "variant": variant, "tools": tools}
        made += [
            Record(experiment, X86, case, "time", line.ns, "ns", **about),
            Record(experiment, X86, case, metric, line.ratio, "", spread=line.spread, **about),
        ]
        if stack == "plumb" and variant != "c":
            value = line.ratio / plain[line.kind, line.length]
            made.append(Record(experiment, X86, case, TO_C, value, "", **about))
    return made


def flags_lacking() -> frozenset[str]:
    """Of what goals may need (`needs`), what this processor has not."""
    text = Path("/proc/cpuinfo").read_text()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset({"avx2", "avx512bw", "avx512_vnni"}) - set(line.split())


def _measure() -> list[Line]:
    program = _build()
    try:
        done = subprocess.run(
            [program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired as late:
        raise LabError(f"{program} did not end within {LIMIT_S} s") from late
    if done.returncode:
        raise LabError(f"{program} failed with {done.returncode}:\n{done.stderr.strip()}")
    found = []
    for line in done.stdout.splitlines():
        kind, routine, length, ns, ratio, spread, pairs = line.split()
        figures = (float(ns), float(ratio), float(spread), int(pairs))
        found.append(Line(kind, routine, int(length), *figures))
    return found


def _build() -> Path:
    """The program. It is made anew each time, which takes two seconds."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sources = peers.lwip()
    lwip = (f"-I{PEERS / 'lwip'}", f"-I{sources / 'src/include'}")
    objects = [_compile(sources / "src/core/def.c", "lwip", *lwip)]
    for number in (1, 2, 3):
        defines = (f"-D{name}" for name in lwip_defines(number, "lwip_"))
        source = sources / "src/core/inet_chksum.c"
        objects.append(_compile(source, f"lwip-{number}", *lwip, *defines))
    objects += _routines("asm", "")
    objects += [_alone(_routines("c", "c"), "c_pl_*")]
    own = _own("asm")
    objects.append(_compile(ROOT / "bench/bytes/wall.c", "wall", "-D_GNU_SOURCE", *own))
    program = FOLDER / "wall"
    build.run(["gcc", "-o", str(program), *map(str, objects)], "linking wall")
    return program


def _routines(variant: str, prefix: str) -> list[Path]:
    """The objects of Plumb's byte routines."""
    objects = []
    for unit in programs.byte_routines(isa(X86), variant, OPT, prefix):
        defines = (f"-D{name}" for name in unit.defines)
        objects.append(_compile(unit.source, variant, *_own(variant), *defines, *unit.flags))
    return objects


def _alone(objects: list[Path], seen: str) -> Path:
    """One object of several, of which nothing is seen from outside but these names."""
    whole, out = FOLDER / "whole.o", FOLDER / "alone.o"
    build.run(["ld", "-r", "-o", str(whole), *map(str, objects)], "joining objects")
    kept = f"--keep-global-symbol={seen}"
    build.run([peers.OBJCOPY, "--wildcard", kept, str(whole), str(out)], "hiding names")
    return out


def _own(variant: str) -> tuple[str, ...]:
    return (f"-I{programs.config(variant)}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}")


def _compile(source: Path, tag: str, *flags: str) -> Path:
    out = FOLDER / f"{tag}-{source.parent.name}-{source.name}.o"
    command = ["gcc", "-std=gnu11", f"-{OPT}", *flags, "-c", str(source), "-o", str(out)]
    build.run(command, f"compiling {source.name}")
    return out
