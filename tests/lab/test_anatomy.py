# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb size`: pieces, stacks and structures, against what is known of a program and
against what gcc says itself."""

import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from helpers import plumb
from rich.console import Console as Terminal

from lab import anatomy, audit, build
from lab.anatomy import Anatomy
from lab.code import Code
from lab.depth import Stack
from lab.paths import ROOT
from lab.structures import Types

SOURCE = ROOT / "tests/lab/anatomy.c"
FLAGS = ("-O2", "-g", "-ffreestanding", "-fstack-usage", "-fno-optimize-sibling-calls")
COMPILERS = {
    "arm": ("arm-none-eabi-gcc", "-mcpu=cortex-a9", "-marm", "-nostdlib"),
    "thumb": ("arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-nostdlib"),
    "thumb1": ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-nostdlib"),
    "aarch64": ("aarch64-linux-gnu-gcc", "-nostdlib", "-static"),
    "x86_64": ("gcc", "-nostdlib", "-static", "-fcf-protection=none"),
}
USAGE = re.compile(r"[^:]+:\d+:\d+:(\w+)\t(\d+)\t(\S+)")


def compiled(folder: Path, name: str, *more: str) -> Path:
    """The program by a compiler; gcc's own word of its frames lies beside it."""
    out = folder / f"{name}{''.join(more)}.elf"
    command = [*COMPILERS[name], *FLAGS, *more, SOURCE, "-o", out]
    subprocess.run(command, check=True, timeout=60, cwd=folder)
    return out


def usage(folder: Path) -> dict[str, tuple[int, str]]:
    """What gcc says of each function's frame: bytes, and of what kind."""
    text = "".join(path.read_text() for path in folder.glob("*.su"))
    return {name: (int(size), kind) for name, size, kind in USAGE.findall(text)}


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Anatomy:
    return anatomy.measure(compiled(tmp_path_factory.mktemp("arm"), "arm"))


def stack_of(program: Path) -> Stack:
    """A program's."""
    return Stack(Code(program), Types(program))


DAMAGES = {
    "no lines": ("--remove-section=.debug_line",),
    "no abbreviations": ("--remove-section=.debug_abbrev",),
    "units of nothing": ("--update-section=.debug_info={junk}",),
    "frames of nothing": ("--update-section=.eh_frame={junk}",),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    return compiled(folder, "x86_64", "-fasynchronous-unwind-tables", "-fno-lto")


@pytest.mark.parametrize("command", ["size", "audit"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_program_is_told_of_in_a_line(tmp_path: Path, whole: Path, damage, command):
    junk, program = tmp_path / "junk", tmp_path / "damaged.elf"
    junk.write_bytes(b"\x2e\0\0\0" + bytes(range(7, 256)))
    edits = [word.format(junk=junk) for word in DAMAGES[damage]]
    subprocess.run(["objcopy", *edits, whole, program], check=True, timeout=60)
    done = plumb(command, *(["--static"] if command == "audit" else []), program)
    assert "Traceback" not in done.stdout
    if damage == "no lines" or command == "audit":
        assert done.returncode == 0 and "main" in done.stdout
    elif damage == "frames of nothing":
        assert done.returncode == 0 and "\nno stacks: " in done.stdout
    else:
        assert done.returncode == 1
        assert done.stdout.startswith(f"plumb: {program} ") and done.stdout.count("\n") == 1


def test_what_is_not_linked_is_refused(tmp_path: Path):
    """Each function of an object file begins at 0: all but one would be left out."""
    name = tmp_path / "part.o"
    subprocess.run(["gcc", *FLAGS, "-c", SOURCE, "-o", name], check=True, timeout=60, cwd=tmp_path)
    done = plumb("size", name)
    assert done.returncode == 1 and "is not linked" in done.stdout


@pytest.mark.parametrize("manner", ["-O2", "-O0", "-fno-omit-frame-pointer"])
@pytest.mark.parametrize("name", COMPILERS)
def test_frames_are_those_that_gcc_tells_of(tmp_path: Path, name: str, manner: str):
    stack = stack_of(compiled(tmp_path, name, manner))
    told = usage(tmp_path)
    assert len(told) > 10
    for function, (size, kind) in told.items():
        frame = stack.frames[function]
        assert frame.is_dynamic == (kind != "static"), function
        if kind == "static":
            assert frame.size == size, function


def test_the_firmware_s_frames_are_those_that_gcc_tells_of(tmp_path: Path):
    folder = build.preset("zynq")
    stack = stack_of(folder / "iperf.elf")
    entries = json.loads((folder / "compile_commands.json").read_text())
    names = ("tcp/input.c", "tcp/output.c", "inet/ipv4.c", "link/arp.c", "service/dhcp.c")
    for entry in entries:
        if entry["file"].endswith(names):
            words = shlex.split(entry["command"])
            out = tmp_path / Path(entry["file"]).with_suffix(".o").name
            words[words.index("-o") + 1] = str(out)
            done = subprocess.run([*words, "-fstack-usage"], cwd=entry["directory"], timeout=60)
            assert done.returncode == 0
    told = {name: size for name, (size, _) in usage(tmp_path).items() if name in stack.frames}
    assert len(told) > 30
    assert told == {name: stack.frames[name].size for name in told}


def test_the_deepest_way_is_followed_through_tables_and_not_through_what_is_set(arm: Anatomy):
    stack = arm.stack
    assert stack.deepest["through_table"].path[:2] == ["through_table", "by_table"]
    (followed,) = (p for p in stack.pointers if p.caller == "through_table")
    assert followed.targets == ("by_table",) and "one->operations->start(1)" in followed.place
    (unknown,) = stack.unknown
    assert unknown.caller == "through_handler" and "one->handler(1)" in unknown.place
    assert "by_handler" not in stack.deepest["main"].path
    assert "by_handler" in stack.taken
    frames = {name: stack.frames[name].size for name in stack.frames}
    worst = frames["_start"] + frames["never_by_table"] + frames["use"]
    assert stack.deepest["_start"].depth == worst
    expected = frames["main"] + frames["through_table"] + frames["by_table"] + frames["use"]
    assert stack.deepest["main"].depth == expected > 300


def test_what_has_no_bound_is_named(arm: Anatomy):
    assert [sorted(group) for group in arm.stack.circles] == [["ring_one", "ring_two"]]
    told = "\n".join(anatomy.remarks(arm.stack, 10))
    assert "a circle of calls, each counted once: ring_one, ring_two" in told
    assert "a frame that grows as it runs: grows" in told
    assert "not followed: 1 calls through pointers" in told and "through_handler" in told
    assert f"at most {arm.stack.deepest['by_handler'].depth} (by_handler)" in told


def test_a_function_without_debug_information_is_read_by_its_code():
    stack = stack_of(build.firmware("zynq", "iperf"))
    assert stack.frames["pl_copy"].is_by_code and not stack.frames["pl_tcp_input"].is_by_code
    assert 0 < stack.frames["pl_copy"].size < 100


def test_structures_are_told_with_their_holes(arm: Anatomy):
    found = {s.name: s for s in arm.structures}
    assert found["struct holed"].size == 12
    assert found["struct holed"].holes == ((1, 3), (10, 2))
    assert found["struct whole"].holes == () and found["struct whole"].size == 20
    assert found["struct bits"].holes == ((2, 2),)
    assert found["struct device"].padding == 0
    assert found["struct holed"].file == "tests/lab/anatomy.c"


def test_pieces_are_told_by_file_and_kind(arm: Anatomy):
    found = {(p.name, p.kind): p for p in arm.pieces}
    assert found["holed", "data"].size == 12
    assert found["device", "bss"].size == 36
    assert found["operations", "rodata"].size == 8
    assert {p.file for p in arm.pieces} == {"tests/lab/anatomy.c"}
    assert sum(p.size for p in arm.pieces if p.kind == "text") <= arm.totals["text"]


def test_the_difference_of_two_builds(tmp_path: Path):
    old, new = compiled(tmp_path, "arm"), compiled(tmp_path, "arm", "-DLARGER")
    done = plumb("size", new, "--against", old)
    assert done.returncode == 0, done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [".bss", "40", "64", "+24"] in rows
    assert ["tests/lab/anatomy.c", "only_here", "bss", "-", "20", "+20"] in rows
    assert ["struct", "whole", "tests/lab/anatomy.c", "20", "24", "+4"] in rows
    assert any(row[:1] == ["leaf"] and row[-1].startswith("+") for row in rows)
    same = plumb("size", old, "--against", old)
    assert same.stdout.count("no difference") == 4


def test_a_preset_is_built_and_shown():
    done = plumb("size", "zynq", "--limit", "400")
    assert done.returncode == 0, done.stdout
    for expected in ("src/tcp/input.c", "pl_tcp_input", "struct plumb_tcp ", "main"):
        assert expected in done.stdout
    assert "unbounded" not in done.stdout or "circle of calls" in done.stdout


def test_what_cannot_be_measured_is_refused(tmp_path: Path):
    bare = tmp_path / "bare"
    subprocess.run(["gcc", SOURCE, *FLAGS[2:], "-nostdlib", "-o", bare], check=True, timeout=60)
    text = tmp_path / "text"
    text.write_text("no program")
    for name, complaint in {
        "nonsense": "No such preset",
        str(tmp_path / "absent.elf"): "is no file",
        str(text): "is no ELF file",
        str(bare): "compile it with -g",
    }.items():
        done = plumb("size", name)
        assert done.returncode == 1 and done.stdout.startswith("plumb: "), done.stdout
        assert complaint in done.stdout


def test_a_narrow_terminal_cuts_no_name():
    terminal = Terminal(file=io.StringIO(), width=40)
    columns, rows = ["name", "size"], [["n" * 60, "1"]]
    anatomy._print(terminal, "pieces", columns, rows)
    terminal.print(audit._table(columns, rows, terminal.width))
    told = terminal.file.getvalue()
    assert told.count("n") >= 2 * 60 and "…" not in told
