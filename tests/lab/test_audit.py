# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb audit`: by the code, in user mode, on a board; of our programs and of others'."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from helpers import plumb

from lab import audit, build
from lab.code import Code, Findings
from lab.paths import ROOT

SOURCE = ROOT / "tests/lab/audited.c"
COMMON = ("-O2", "-g", "-fno-builtin", "-fno-tree-loop-distribute-patterns")
# Compilers that have to take a word apart whose alignment they do not know.
STRICT = {
    "arm": ("arm-linux-gnueabi-gcc", "-marm"),
    "thumb": ("arm-linux-gnueabi-gcc", "-march=armv7-a", "-mthumb", "-mno-unaligned-access"),
    "aarch64": ("aarch64-linux-gnu-gcc", "-mstrict-align"),
    "mips": ("mips-linux-gnu-gcc",),
    "mipsel": ("mipsel-linux-gnu-gcc",),
    "riscv64": ("riscv64-linux-gnu-gcc", "-mstrict-align"),
    "sparc64": ("sparc64-linux-gnu-gcc",),
}
LENIENT = {"x86_64": ("gcc",), "armv7": ("arm-linux-gnueabi-gcc", "-march=armv7-a")}
COMPILERS = STRICT | LENIENT
FAULTING = ("mips", "mipsel", "sparc64")  # also in the emulator


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program that has it all, by every compiler."""
    folder = tmp_path_factory.mktemp("audited")
    for name, command in COMPILERS.items():
        subprocess.run([*command, *COMMON, SOURCE, "-o", folder / name], check=True, timeout=60)
    return {name: folder / name for name in COMPILERS}


def findings(program: Path) -> dict[str, Findings]:
    """By function."""
    return {f.function.name: f for f in Code(program).findings()}


@pytest.mark.parametrize("name", COMPILERS)
def test_what_a_packed_field_costs_is_found_in_the_code(programs, name: str):
    found = findings(programs[name])
    is_split = int(name in STRICT)
    assert found["take_packed"].split_loads == is_split
    assert found["put_packed"].split_stores == is_split
    for other in ("two_bytes", "load_word", "copy_any", "main"):
        assert found[other].split_loads == found[other].split_stores == 0, other
    assert found["load_word"].loads[4] == 1 and not found["load_word"].loads[1]
    assert found["two_bytes"].loads[1] == 2


@pytest.mark.parametrize("name", COMPILERS)
def test_small_copies_that_are_calls_are_found(programs, name: str):
    found = findings(programs[name])
    assert found["copy_six"].copies == {6: 1}
    assert not found["copy_any"].copies and not found["main"].copies


@pytest.mark.parametrize("name", COMPILERS)
def test_a_user_s_program_is_counted_in_user_mode(programs, tmp_path: Path, name: str):
    odd = 0 if name in FAULTING else 1
    done = plumb("audit", programs[name], str(odd), "--out", tmp_path)
    assert done.returncode == 0, done.stdout
    (counted,) = json.loads((tmp_path / "audit.json").read_text())["counted"].values()
    of = {
        name: [one for one in counted if one["place"].partition("+")[0] == name]
        for name in ("load_word", "take_packed")
    }
    assert sum(one["loads"]["4"] for one in of["load_word"]) == 100
    assert sum(one["misaligned"] for one in of["load_word"]) == 100 * odd
    if name in STRICT and "mips" not in name:
        assert sum(one["loads"]["1"] for one in of["take_packed"]) == 4
    if odd:
        line = next(line for line in done.stdout.splitlines() if line.startswith("load_word+"))
        assert re.search(r"audited\.c:\d+( |…)", line), "the place is whole, its text may be cut"


def test_by_the_code_alone_nothing_is_run(programs):
    done = plumb("audit", programs["arm"], "--static")
    assert done.returncode == 0 and "counted:" not in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("take_packed"))
    assert row[-4:] == ["1", "/", "-", "-"]


def test_the_board_s_application_is_counted_transfer_by_transfer(tmp_path: Path):
    done = plumb("audit", "--case", "tcp_rx", "--out", tmp_path)
    assert done.returncode == 0, done.stdout
    assert "tcp_rx: 0 misaligned accesses" in done.stdout
    (counted,) = json.loads((tmp_path / "audit.json").read_text())["counted"].values()
    words = sum(one["loads"]["4"] for one in counted if one["place"].startswith("pl_sum"))
    assert words * 4 > 15 << 20, "each byte of the transfer is summed once, by words"


def test_a_firmware_runs_on_its_board(tmp_path: Path):
    program = build.firmware("zynq", "selftest")
    assert audit.is_firmware(program)
    done = plumb("audit", program, "--seconds", "60", "--out", tmp_path, limit_s=120)
    assert done.returncode == 0, done.stdout
    assert "on zynq" in done.stdout


def test_what_cannot_be_audited_is_refused_in_a_line(programs, tmp_path: Path):
    text = tmp_path / "text"
    text.write_text("nothing of the kind")
    stripped = tmp_path / "stripped"
    command = ["arm-linux-gnueabi-strip", "-o", stripped, programs["arm"]]
    subprocess.run(command, check=True, timeout=60)
    unlinked = tmp_path / "unlinked.o"
    subprocess.run(["gcc", *COMMON, "-c", SOURCE, "-o", unlinked], check=True, timeout=60)
    for path, complaint in {
        text: "is no ELF file",
        stripped: "was it stripped",
        unlinked: "is not linked",
        tmp_path / "absent": "is no file",
    }.items():
        done = plumb("audit", path, "--static")
        assert done.returncode == 1, done.stdout
        assert done.stdout.startswith("plumb: ") and complaint in done.stdout


def test_a_program_that_does_not_end_is_ended(tmp_path: Path):
    source, program = tmp_path / "hang.c", tmp_path / "hang"
    source.write_text("int main(void) { for (;;) __asm__ volatile(\"\"); }\n")
    subprocess.run(["gcc", source, "-o", program], check=True, timeout=60)
    done = plumb("audit", program, "--seconds", "1", limit_s=60)
    assert done.returncode == 1 and "did not end within 1 s" in done.stdout
