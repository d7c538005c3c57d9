# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Builds that may misalign: who decides, that either arm is right, and what is never misaligned."""

import re
import subprocess
from pathlib import Path

import pytest
from helpers import SUITE_LIMIT_S, build_suites, plumb, suite

from lab import build, disassembly, programs, usermode
from lab.board import KINDS, Board, Setup
from lab.elf import Program as Elf
from lab.errors import BoardError, LabError
from lab.experiments import ether_copy, strict_align
from lab.experiments.bytes import Build
from lab.isa import CLANG, isa
from lab.network import UserNetwork
from lab.paths import ROOT
from lab.programs import Program, Unit
from lab.records import Record, read

TRAPS, TAKEN = 1, 2  # enum plumb_misaligned
# A family that loads misaligned words on some cores, and how.
NAMES = ("armv7a", "thumb2", "aarch64", "rv32", "rv64", "loongarch64")
BUILDS = [(name, compiler) for name in NAMES for compiler in isa(name).compilers]
# What takes one address for several registers.
MULTIPLE = re.compile(r"ldm|stm|ldrd|strd|ldp|stp|push|pop")


# ---- the zynq board ----


def boot(preset: str, routines: str = "", takes_misaligned: bool = False) -> Board:
    """Runs the self-test to its end."""
    setup = Setup(
        build.firmware(preset, "selftest"),
        UserNetwork(),
        keep_own_clock=False,
        routines=routines,
        takes_misaligned=takes_misaligned,
    )
    with Board(KINDS["zynq"], setup) as board:
        while not board.has_ended:
            assert board.pump(60) or board.has_ended, "silent for a minute"
            board.check_faults()
    return board


@pytest.mark.parametrize(
    "routines,takes_misaligned,chosen",
    [
        ("", False, "strict"),
        ("", True, "unaligned"),
        ("strict", True, "strict"),
        ("unaligned", True, "unaligned"),
    ],
)
def test_one_image_is_right_on_either_core(routines, takes_misaligned, chosen):
    board = boot("zynq-generic", routines, takes_misaligned)
    assert board.console.routines == chosen
    assert any("selftest: passed" in line for line in board.console.lines)
    assert board.console.exit_status == 0


def test_an_unaligned_image_is_right():
    board = boot("zynq-unaligned")
    assert board.console.exit_status == 0, board.console.lines


@pytest.mark.parametrize("name", ["unaligned", "nonsense"])
def test_routines_that_cannot_run_end_the_start(name):
    with pytest.raises(BoardError) as caught:
        boot("zynq-generic", name)
    told = f"panic: no byte routines {name} for this processor, but: strict\n"
    assert told in str(caught.value)


def test_a_choice_is_not_made_of_an_image_that_has_none():
    setup = Setup(build.firmware("zynq", "echo"), UserNetwork(), routines="strict")
    with Board(KINDS["zynq"], setup) as board, pytest.raises(BoardError) as caught:
        board.wait_ready()
    assert "has no choice of byte routines: strict wanted" in str(caught.value)


@pytest.mark.parametrize(
    "words,status,told",
    [
        (("--bytes", "strict", "--takes-misaligned"), 0, "plumb: bytes=strict"),
        (("--takes-misaligned",), 0, "plumb: bytes=unaligned"),
        (("--bytes", "unaligned"), 1, "panic: no byte routines unaligned"),
        (("--bytes", "strict", "--opt", "Os"), 2, "built with -O2 only"),
        (("--board", "linux", "--takes-misaligned"), 2, "takes misaligned words or not"),
    ],
)
def test_a_user_forces_either_arm(words, status, told):
    done = plumb("run", "selftest", *words)
    assert told in done.stdout
    assert done.returncode == status


# ---- the linux board ----


def test_the_linux_board_refuses_routines_that_it_has_not():
    program = build.firmware("linux", "selftest")
    done = subprocess.run([program, "--bytes", "strict"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.startswith("panic: no byte routines strict for this processor, but: ")


@pytest.mark.parametrize(
    "compiler,emulator,found",
    [
        ("gcc", "", TAKEN),
        ("clang", "", TAKEN),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", TAKEN),
        ("sparc64-linux-gnu-gcc", "qemu-sparc64", TRAPS),
        ("mips-linux-gnu-gcc", "qemu-mips", TRAPS),
    ],
)
def test_the_linux_board_finds_out_by_trying(tmp_path: Path, compiler, emulator, found):
    main = tmp_path / "main.c"
    main.write_text('#include "probe.h"\nint main(void) { return (int)probe_misaligned(); }\n')
    program = tmp_path / "probe"
    folders = [f"-I{ROOT / name}" for name in ("include", "boards/linux")]
    flags = ["-std=gnu11", "-O2", "-static", *folders, "-o", program]
    subprocess.run([compiler, *flags, main, ROOT / "boards/linux/probe.c"], check=True)
    done = subprocess.run([*emulator.split(), program], timeout=30)
    assert done.returncode == found


# ---- what processors tell ----


@pytest.mark.parametrize("is_checking", [False, True])
@pytest.mark.parametrize(
    "level,machine", [(1, "virt"), (2, "virt,virtualization=on"), (3, "virt,secure=on")]
)
def test_aarch64_tells_at_every_level(tmp_path: Path, level, machine, is_checking):
    program = tmp_path / "level"
    folders = [programs.config("generic"), ROOT / "include", ROOT / "src"]
    target = ["--target=aarch64-none-elf", "-mgeneral-regs-only", "-ffreestanding", "-O2"]
    defines = [f"-DLEVEL={level}", *(["-DCHECKING"] if is_checking else [])]
    link = ["-nostdlib", "-fuse-ld=lld-19", "-Wl,-Ttext=0x40080000", "-o", program]
    sources = [ROOT / "tests/lab/level.S", ROOT / "src/bytes/aarch64/processor.c"]
    words = [CLANG, *target, *defines, *(f"-I{folder}" for folder in folders), *link, *sources]
    subprocess.run(words, check=True)
    emulator = ["qemu-system-aarch64", "-M", machine, "-cpu", "cortex-a53", "-nic", "none"]
    done = subprocess.run(
        [*emulator, "-display", "none", "-semihosting", "-kernel", program],
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    assert done.returncode == (TRAPS if is_checking else TAKEN)


def test_loongarch_tells_a_program():
    """The emulated one always takes misaligned words."""
    program = choosing("loongarch64", "clang")
    path = programs.build_all("choosing", [program])[program]
    assert usermode.execute(isa("loongarch64"), path, []).startswith("routines unaligned\n")


def test_what_cannot_be_asked_is_taken_to_trap():
    program = choosing("rv64", "gcc")
    path = programs.build_all("choosing", [program])[program]
    assert usermode.execute(isa("rv64"), path, []).startswith("routines strict\n")
    assert usermode.execute(isa("rv64"), path, ["taken"]).startswith("routines unaligned\n")
    with pytest.raises(LabError) as caught:
        usermode.execute(isa("rv64"), path, ["traps", "unaligned"])
    assert "panic: no byte routines unaligned" in str(caught.value)


def choosing(name: str, compiler: str) -> Program:
    """A program that says which routines it takes."""
    return strict_align.loads_program(Build(name, compiler, "O2"), "generic")


def test_an_unaligned_build_is_refused_where_every_core_traps(tmp_path: Path):
    words = ["arm-none-eabi-gcc", "-march=armv5te", "-E", f"-I{programs.config('unaligned')}"]
    done = subprocess.run(
        [*words, ROOT / "src/bytes/select.h"], capture_output=True, text=True
    )
    assert done.returncode and "no processor of this target loads misaligned words" in done.stderr


# ---- what is misaligned, and by which instructions ----


@pytest.fixture(scope="module")
def suites() -> dict[Program, Path]:
    """All of them, built at once."""
    wanted = [
        suite(name, compiler, config, opt)
        for name, compiler in BUILDS
        for config in ("unaligned", "generic")
        for opt in ("O2", "Os")
    ]
    return build_suites(wanted)


@pytest.mark.parametrize("opt", ["O2", "Os"])
@pytest.mark.parametrize("config", ["unaligned", "generic"])
@pytest.mark.parametrize("name,compiler", BUILDS)
def test_only_copies_misalign_and_by_plain_loads(suites, tmp_path, name, compiler, config, opt):
    path = suites[suite(name, compiler, config, opt)]
    cases = usermode.run(isa(name), path, [], tmp_path, SUITE_LIMIT_S)
    culprits = {culprit["pc"] for case in cases for culprit in case.interval.culprits}
    functions = {Elf(path).symbol_at(pc).partition("+")[0] for pc in culprits}
    assert culprits, "a suite that misaligns nothing did not try the arm that may"
    assert all("copy" in function for function in functions), functions
    for pc in culprits:
        assert not MULTIPLE.match(instruction_at(path, pc)), f"{pc:#x}"


def instruction_at(path: Path, pc: int) -> str:
    """The instruction at an address of a program."""
    span = [f"--start-address={pc:#x}", f"--stop-address={pc + 4:#x}"]
    command = [disassembly.OBJDUMP, "-d", "--no-show-raw-insn", *span, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(rf"^\s*{pc:x}:\s+(\S+)", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return found[1]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", ["armv7a", "thumb2", "aarch64"])
@pytest.mark.parametrize("opt", ["O1", "O2", "O3", "Os"])
def test_no_compiler_joins_the_loads(tmp_path: Path, name: str, compiler: str, opt: str):
    """Of unaligned.c by itself, without the assembly that it has on these."""
    target = isa(name)
    program = Program("", name, compiler, ())
    unit = Unit(ROOT / "src/bytes/unaligned.c", opt, "unaligned", alignment="unaligned")
    command, flags = programs.compile_flags(program, unit)
    listing = tmp_path / "unaligned.S"
    source = tmp_path / "unaligned.c"
    source.write_text(
        '#include "bytes/select.h"\n#undef PL_UNALIGNED_BLOCKS\n#include "bytes/unaligned.c"\n'
    )
    subprocess.run([*command, *flags, "-S", source, "-o", listing], check=True)
    joined = joined_loads(listing.read_text().splitlines())
    assert not joined, (target.name, joined)


def joined_loads(lines: list[str]) -> list[str]:
    """The loads of several registers that are not from the stack."""
    found = []
    lines = [line for line in lines if not line.lstrip().startswith((".", "@", "//"))]
    for index, line in enumerate(lines):
        load = re.match(r"\s+(?:ldm\w*\s+|ldrd\s.*\[|ldp\s.*\[)(\w+)", line)
        if load and load[1] != "sp":
            points = re.compile(rf"\s(add|mov)\s+{load[1]}, sp\b")
            nearby = lines[max(0, index - 8) : index]
            found += [] if any(points.search(other) for other in nearby) else [line.strip()]
    return found


def test_a_joined_load_is_found():
    lines = ["\tldm\tr1!, {r3, r4}", "\tldrd\tr2, [r0, #8]", "\tldp\tx0, x1, [x2], 16"]
    assert len(joined_loads(lines)) == 3
    stack = ["\tldmfd\tsp!, {r4, pc}", "\tadd\tr2, sp, #8", "\tldm\tr2, {r2, r6}"]
    assert not joined_loads([*stack, "\tldp\tx29, x30, [sp], 16", "\tldr\tr1, [r0]"])


@pytest.mark.parametrize("name,compiler", BUILDS)
def test_the_strict_arm_of_a_generic_image_misaligns_nothing(tmp_path, name, compiler):
    program = choosing(name, compiler)
    path = programs.build_all("choosing", [program])[program]
    counts = {}
    for arm in ("strict", "unaligned"):
        cases = usermode.run(isa(name), path, ["taken", arm], tmp_path)
        counts[arm] = sum(case.interval.misaligned_accesses for case in cases)
    assert counts["strict"] == 0
    assert counts["unaligned"] > 0


# ---- the experiments' own measures ----


def lookup3(data: bytes, initial: int = 0) -> int:
    """Bob Jenkins' hashlittle(), for what its author published of it."""

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> (32 - by)) & 0xFFFFFFFF

    a = b = c = (0xDEADBEEF + len(data) + initial) & 0xFFFFFFFF
    blocks = [data[i : i + 12].ljust(12, b"\0") for i in range(0, len(data), 12)]
    for index, block in enumerate(blocks):
        words = [int.from_bytes(block[i : i + 4], "little") for i in (0, 4, 8)]
        a, b, c = ((v + w) & 0xFFFFFFFF for v, w in zip((a, b, c), words, strict=True))
        h = {"a": a, "b": b, "c": c}
        if index + 1 < len(blocks):
            steps = ("ac4b", "ba6c", "cb8a", "ac16b", "ba19c", "cb4a")
            for step in steps:
                x, y, by, z = step[0], step[1], int(step[2:-1]), step[-1]
                h[x] = (h[x] - h[y]) & 0xFFFFFFFF ^ rotated(h[y], by)
                h[y] = (h[y] + h[z]) & 0xFFFFFFFF
        else:
            for step in ("cb14", "ac11", "ba25", "cb16", "ac4", "ba14", "cb24"):
                x, y, by = step[0], step[1], int(step[2:])
                h[x] = ((h[x] ^ h[y]) - rotated(h[y], by)) & 0xFFFFFFFF
        a, b, c = h["a"], h["b"], h["c"]
    return c


def test_the_hash_is_the_one_it_says():
    assert lookup3(b"Four score and seven years ago") == 0x17770551
    assert lookup3(b"Four score and seven years ago", 1) == 0xCD628161
    wanted = lookup3(bytes((i * 7 + 1) & 0xFF for i in range(1, 37)))
    builds = [Build(name, "clang", "O2") for name in strict_align.NAMES]
    wanted_programs = {strict_align.loads_program(b, "unaligned"): b for b in builds}
    for program, path in programs.build_all("choosing", wanted_programs).items():
        told = usermode.execute(isa(program.isa), path, [])
        assert f"hash 0x{wanted:08x}\n" in told, program.isa


@pytest.mark.parametrize(
    "name,compiler",
    [("armv7a", "gcc"), ("thumb1", "clang"), ("aarch64", "gcc"), ("sparcv8", "gcc"),
     ("mips32be", "gcc"), ("rv64", "gcc"), ("loongarch64", "clang"), ("x86_64", "clang")],
)  # fmt: skip
def test_what_is_read_in_the_disassembly_is_what_runs(tmp_path: Path, name: str, compiler: str):
    """Straight code: as many instructions, loads and stores as the plugin counts."""
    one = Build(name, compiler, "O2")
    program = ether_copy.program_of(one)
    path = programs.build_all("ether-check", [program])[program]
    cases = usermode.run(isa(name), path, [], tmp_path)
    for variant in ("halfwords", "bytes"):
        wanted = next(v for v in ether_copy.VARIANTS.values() if v.name == variant)
        unit = ether_copy.move_unit(one, wanted)
        for move in ether_copy.MOVES:
            called = f"{move}_by_{variant}"
            code = disassembly.function(
                programs.object_path(program, "ether-check", unit), called
            )
            case = next(c for c in cases if c.words == (move, variant))
            ran = next(f for f in case.interval.functions if f["name"] == called)
            access = disassembly.accesses(name, code)
            # A return of x86's loads from the stack.
            returns = 1 if name == "x86_64" else 0
            assert len(code) == ran["instructions"], code
            assert access.loads + returns == sum(ran["loads"].values()), code
            assert access.stores == sum(ran["stores"].values()), code


def test_a_call_is_seen_where_there_is_one():
    one = Build("armv7a", "gcc", "Os")
    program = ether_copy.program_of(one)
    programs.build_all("ether-check", [program])
    calls = {}
    for name, variant in ether_copy.VARIANTS.items():
        unit = ether_copy.move_unit(one, variant)
        path = programs.object_path(program, "ether-check", unit)
        calls[name] = disassembly.calls(
            disassembly.function(path, f"address_by_{variant.name}")
        )
    assert calls == {"halfwords": 0, "bytes-interleaved": 0, "call": 1}


@pytest.mark.parametrize(
    "name,compiler",
    [(name, compiler) for name in ether_copy.NAMES for compiler in isa(name).compilers],
)
def test_a_call_of_anything_is_seen(tmp_path: Path, name: str, compiler: str):
    source, out = tmp_path / "calls.c", tmp_path / "calls.o"
    source.write_text(
        "int other(int); void take(int);\n"
        "__attribute__((noinline)) static int own(int a) { take(a); return a + 1; }\n"
        "int none(int a) { return a + 1; }\n"
        "int one(int a) { return other(a) + 1; }\n"
        "int two(int a) { return own(a) + own(a + 2); }\n"
    )
    command, flags = programs.compile_flags(Program("", name, compiler, ()), Unit(source))
    subprocess.run([*command, *flags, "-w", "-c", source, "-o", out], check=True)
    found = [disassembly.calls(disassembly.function(out, f)) for f in ("none", "one", "two")]
    assert found == [0, 1, 2]


def quick(name: str, isas: tuple[str, ...], folder: Path) -> list[Record]:
    """What an experiment found on some instruction sets; all its goals are met."""
    chosen = [word for isa in isas for word in ("--isa", isa)]
    done = plumb("bench", "--experiment", name, "--quick", *chosen, "--out", folder)
    assert done.returncode == 0, done.stdout
    assert (folder / "report.html").stat().st_size > 10000
    return read(folder / "results.jsonl")


def value(records: list[Record], board: str, variant: str, case: str, metric: str) -> float:
    """The one record of these."""
    wanted = (board, variant, case, metric)
    (found,) = (r for r in records if (r.board, r.variant, r.case, r.metric) == wanted)
    return found.value


def test_ether_copy_as_a_user_runs_it(tmp_path: Path):
    records = quick("ether-copy", ("armv7a", "loongarch64"), tmp_path)
    case = "address opt=O2 compiler=gcc"
    assert value(records, "armv7a", "halfwords", case, "loads_and_stores") == 6
    assert value(records, "armv7a", "bytes-interleaved", case, "loads_and_stores") == 12
    assert value(records, "armv7a", "call", case, "calls") == 1
    called = value(records, "armv7a", "call", case, "instructions")
    assert called > 3 * value(records, "armv7a", "halfwords", case, "instructions")
    code = (tmp_path / ether_copy.LISTING).read_text().split("\n\n")
    wanted = "armv7a address halfwords opt=O2 compiler=gcc\n"
    (shown,) = (part for part in code if part.startswith(wanted))
    assert shown.count("ldrh") == shown.count("strh") == 3 and shown.count("\n") == 7
    opts = {r.case for r in records if r.board == "loongarch64" and r.metric == "calls"}
    assert len(opts) == 2 * 5, "two moves at five optimisations"


def test_strict_align_as_a_user_runs_it(tmp_path: Path):
    board = "loongarch64"  # of which there is one compiler, so half as much to build
    records = quick("strict-align", (board,), tmp_path)
    case = "assign opt=O2 compiler=clang"
    assert value(records, board, "unaligned", case, "instructions") == 3
    assert value(records, board, "strict", case, "loads") == 8
    case = "transfer landing=offset data=1 opt=O2 compiler=clang"
    per_byte = {
        v.name: value(records, board, v.name, case, "instructions_per_byte")
        for v in strict_align.VARIANTS
    }
    assert per_byte["generic-unaligned"] < 0.9 * per_byte["strict"]
    assert per_byte["strict"] < per_byte["generic-strict"] < 1.01 * per_byte["strict"]
    case = "copy length=1460 apart=0 opt=O2 compiler=clang"
    direct = value(records, board, "strict", case, "instructions")
    assert direct < value(records, board, "generic-strict", case, "instructions") <= direct + 4
