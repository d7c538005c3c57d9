# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the byte routines read and write, to the byte, on every instruction set.

Guard pages cannot see that a word was loaded whole of which a part was asked for: it
is on the same page. The bounds plugin sees it. That it does is tested with a routine
that reads too much.
"""

import re
import subprocess
from pathlib import Path

import pytest
from helpers import SUITE_LIMIT_S, build_suites, suite

from lab import build, usermode
from lab.elf import Program as Elf
from lab.isa import ISAS, Isa, isa
from lab.programs import Program

CALLS_LEAST = 100_000


def variants(target: Isa) -> tuple[str, ...]:
    """The configurations whose routines differ."""
    compiler = next(iter(target.compilers.values()))
    loads_misaligned = ("unaligned", "generic") if compiler.unaligned else ()
    return ("asm", "c", *loads_misaligned, *(("neon",) if target.name == "aarch64" else ()))


BUILDS = [
    pytest.param(target.name, next(iter(target.compilers)), variant, id=f"{target.name}-{variant}")
    for target in ISAS
    for variant in variants(target)
]


@pytest.fixture(scope="module")
def suites() -> dict[Program, Path]:
    """All of them, built at once."""
    return build_suites(suite(*p.values) for p in BUILDS)


def option(path: Path, folder: Path) -> tuple[str, str]:
    """The emulator's option for a program; its findings go to a file."""
    functions = folder / "functions.map"
    Elf(path).write_function_map(functions)
    return "-plugin", f"{build.plugin('bounds')},map={functions},out={folder / 'found'}"


@pytest.mark.parametrize("name,compiler,variant", BUILDS)
def test_nothing_beside_is_touched(
    suites, tmp_path: Path, name: str, compiler: str, variant: str
) -> None:
    path = suites[suite(name, compiler, variant)]
    usermode.execute(isa(name), path, [], option(path, tmp_path), SUITE_LIMIT_S)
    *found, watched = (tmp_path / "found").read_text().splitlines()
    assert found == []
    assert int(watched.removeprefix("watched ")) > CALLS_LEAST


READS_TOO_MUCH = """
static unsigned char area[64] __attribute__((aligned(64)));

static inline void mark(const volatile unsigned char *first, const volatile unsigned char *last) {
    (void)*first, (void)*last;
}
__attribute__((noinline)) void bounds_areas(void) {
    mark(area, area + 31), mark(area + 32, area + 63);
}
__attribute__((noinline)) void bounds_begin(void) {
    mark(area + 4, area + 9), mark(area + 40, area + 43);
}
__attribute__((noinline)) void bounds_end(void) { __asm__ volatile(""); }

__attribute__((noinline)) void work(void) {
    volatile unsigned char *bytes = area;
    (void)bytes[4], (void)bytes[9];
    (void)*(volatile unsigned *)(area + 8); /* two bytes of it were asked for */
    (void)bytes[3];
    bytes[40] = 1, bytes[43] = 1;
    (void)bytes[41];
    bytes[44] = 1;
    bytes[5] = 1; /* this was to be read only */
}

int main(void) {
    bounds_areas();
    bounds_begin();
    work();
    bounds_end();
    area[0] = 1;
    return 0;
}
"""


def test_what_is_touched_beside_is_found(tmp_path: Path) -> None:
    source, path = tmp_path / "beside.c", tmp_path / "beside"
    source.write_text(READS_TOO_MUCH)
    flags = ["-O1", "-w", "-no-pie", "-static"]
    subprocess.run(["gcc", *flags, "-o", path, source], check=True)
    usermode.execute(isa("x86_64"), path, [], option(path, tmp_path), SUITE_LIMIT_S)
    found = (tmp_path / "found").read_text()
    assert re.sub(r"\+0x\w+", "", found).splitlines() == [
        "read 4 4 work",
        "read 1 -1 work",
        "write 1 4 work",
        "write 1 -35 work",
        "watched 1",
    ]
