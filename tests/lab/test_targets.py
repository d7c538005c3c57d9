# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The byte routines beside the instruction sets that the lab runs: what is chosen for a
target, that it compiles without a warning, and what its objects tell a linker.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from lab import programs
from lab.isa import CLANG
from lab.paths import ROOT

WARNINGS = (
    "-Wall -Wextra -Wconversion -Wcast-align -Wundef -Wshadow -Wstrict-prototypes "
    "-Wmissing-prototypes -Wvla -Werror"
).split()
SOURCES = sorted(p for p in (ROOT / "src/bytes").rglob("*.[cS]") if p.name != "libc.c")
ARM, MIPS = "arm-none-eabi-gcc", "mips-linux-gnu-gcc -mno-abicalls -fno-pic"
SPARC, RISCV = "sparc64-linux-gnu-gcc -m32", "riscv64-unknown-elf-gcc"

# The compiler, and the folder that pl_copy comes from: bytes, where it is the portable one.
TARGETS = {
    "arm-big-endian": (f"{ARM} -mbig-endian -march=armv5te -marm", "bytes"),
    "armv4t": (f"{ARM} -march=armv4t -marm", "arm"),
    "armv4t-thumb": (f"{ARM} -march=armv4t -mthumb", "thumb"),
    "armv6": (f"{ARM} -march=armv6 -marm", "arm"),
    "armv6-clang": (f"{CLANG} --target=armv6-none-eabi", "arm"),
    "armv6t2": (f"{ARM} -march=armv6t2 -mthumb", "arm"),
    "cortex-r5": (f"{ARM} -mcpu=cortex-r5 -marm", "arm"),
    "cortex-m7": (f"{ARM} -mcpu=cortex-m7 -mthumb", "arm"),
    "cortex-m23": (f"{ARM} -mcpu=cortex-m23 -mthumb", "thumb"),
    "cortex-m55": (f"{ARM} -mcpu=cortex-m55 -mthumb", "arm"),
    "aarch64-big-endian": (f"{CLANG} --target=aarch64_be-none-elf", "bytes"),
    "aarch64-ilp32": ("aarch64-linux-gnu-gcc -mabi=ilp32", "bytes"),
    "aarch64-macos": (f"{CLANG} --target=arm64-apple-macos13", "bytes"),
    "aarch64-windows": (f"{CLANG} --target=aarch64-pc-windows-gnu", "bytes"),
    "mips-pic": ("mips-linux-gnu-gcc -fPIC", "bytes"),
    "mips32r6": (f"{MIPS} -march=mips32r6 -mnan=2008", "bytes"),
    "mips-n64": (f"{MIPS} -mabi=64 -march=mips64r2", "bytes"),
    "mips64-o32": (f"{MIPS} -mabi=32 -march=mips64r2", "mips"),
    "micromips": (f"{MIPS} -mmicromips -march=mips32r2 -msoft-float", "bytes"),
    "mips16": (f"{MIPS} -mips16 -march=mips32r2 -msoft-float", "bytes"),
    "mips2": (f"{MIPS} -march=mips2", "bytes"),
    "sparc-pic": (f"{SPARC} -mcpu=v8 -fPIC", "bytes"),
    "sparc-v7": (f"{SPARC} -mcpu=v7 -fno-pic", "sparc"),
    "sparc-little-endian": (f"{CLANG} --target=sparcel-none-elf", "bytes"),
    "sparc64": ("sparc64-linux-gnu-gcc", "bytes"),
    "rv32e": (f"{RISCV} -march=rv32e -mabi=ilp32e", "bytes"),
    "rv64e": (f"{CLANG} --target=riscv64-none-elf -march=rv64e -mabi=lp64e", "bytes"),
    "rv32i": (f"{RISCV} -march=rv32i -mabi=ilp32", "riscv"),
    "loongarch32": (f"{CLANG} --target=loongarch32-none-elf", "bytes"),
    "loongarch64-lasx": (f"{CLANG} --target=loongarch64-linux-gnu -mlasx -fPIC", "loongarch"),
    "x32": ("gcc -mx32", "bytes"),
    "i386": ("gcc -m32", "bytes"),
    "x86-kernel": ("gcc -mno-sse -mno-mmx -mno-red-zone -mcmodel=kernel -fno-pic", "x86"),
    "x86-general": (f"{CLANG} -mgeneral-regs-only", "x86"),
    "x86-macos": (f"{CLANG} --target=x86_64-apple-macos13", "bytes"),
    "x86-windows": (f"{CLANG} --target=x86_64-pc-windows-gnu", "bytes"),
    "powerpc": (f"{CLANG} --target=powerpc-none-elf", "bytes"),
    "wasm": (f"{CLANG} --target=wasm32-none", "bytes"),
}
# What pl_copy is called where it is one of several.
COPIES = ("pl_copy_strict", "pl_copy_x86", "pl_copy")
# Those of them where part of what misaligns is assembly.
BLOCKS = ("armv6", "armv6-clang", "armv6t2", "cortex-r5", "cortex-m7", "cortex-m55")


def compile_all(command: str, config: str, folder: Path, *more: str) -> list[Path]:
    """An object of every source; a warning is an error."""
    quiet = ["-Qunused-arguments"] if CLANG in command else []
    flags = [*quiet, "-O2", "-std=gnu11", *WARNINGS, *more]
    folders = [programs.config(config), ROOT / "include", ROOT / "src"]
    flags += [f"-I{folder}" for folder in folders]
    objects = []
    for source in SOURCES:
        out = folder / f"{source.parent.name}-{source.name}.o"
        done = subprocess.run(
            [*command.split(), *flags, "-c", source, "-o", out], capture_output=True, text=True
        )
        assert done.returncode == 0, f"{source.name}: {done.stderr}"
        objects.append(out)
    return objects


def names(path: Path) -> tuple[set[str], set[str]]:
    """What an object defines, and what it leaves to others."""
    told = subprocess.run(["llvm-nm-19", "-g", path], capture_output=True, text=True, check=True)
    words = [line.split() for line in told.stdout.splitlines()]
    found = [(word[-2], word[-1].removeprefix("_")) for word in words if len(word) > 1]
    wanted = {name for kind, name in found if kind == "U"}
    return {name for _, name in found} - wanted, wanted


@pytest.mark.parametrize("config", ["asm", "generic"])
@pytest.mark.parametrize("target", TARGETS)
def test_something_right_is_chosen(tmp_path: Path, target: str, config: str) -> None:
    """Each routine once, and from where it is expected."""
    command, family = TARGETS[target]
    defined: dict[str, list[str]] = {}
    wanted: set[str] = set()
    for path in compile_all(command, config, tmp_path, "-ffreestanding"):
        own, others = names(path)
        wanted |= others
        for name in own:
            if not name.startswith(("pl_", "plumb_")):
                continue  # a compiler's, of which a linker keeps one
            defined.setdefault(name, []).append(path.name.partition("-")[0])
    assert {name: where for name, where in defined.items() if len(where) > 1} == {}
    assert {name for name in wanted if name.startswith("pl_")} <= defined.keys()
    copy = next(name for name in COPIES if name in defined)
    assert defined[copy] == [family]
    # Its blocks are of eight registers; of narrower pointers they are other blocks.
    assert ("pl_unaligned_copy" in defined) == (config == "generic" and target in BLOCKS)


@pytest.mark.parametrize(
    "settings,expected",
    [
        (("C_COMPILER=arm-none-eabi-gcc", "C_FLAGS=-mcpu=cortex-m3 -mthumb"), "-mthumb"),
        ((f"C_COMPILER={CLANG}", "C_COMPILER_TARGET=thumbv7m-none-eabi"), "thumbv7m-none-eabi"),
    ],
)
def test_assembly_is_for_the_processor_of_the_c(tmp_path: Path, settings, expected) -> None:
    """Where who builds named it for the C alone."""
    always = ("SYSTEM_NAME=Generic", "TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
    words = [f"-DCMAKE_{one}" for one in (*always, *settings, "EXPORT_COMPILE_COMMANDS=ON")]
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path, *words], check=True)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    assert [one["file"] for one in commands if expected not in one["command"]] == []


# ---- what a linker is told ----

MAIN = "int main(void) { return 0; }\n"


def link(command: str, objects: list[Path], folder: Path, *flags: str) -> Path:
    """A program that has all of them in it."""
    main, program = folder / "main.c", folder / "program"
    main.write_text(MAIN)
    subprocess.run([*command.split(), *flags, main, *objects, "-o", program], check=True)
    return program


def told_of(program: Path, what: str) -> str:
    return subprocess.run(
        ["llvm-readelf-19", what, program], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("command", ["gcc", "arm-linux-gnueabi-gcc", "riscv64-linux-gnu-gcc"])
def test_no_stack_is_executable(tmp_path: Path, command: str) -> None:
    if command.startswith("arm-linux"):
        command += " -nostdlib -ffreestanding -Wl,-e,main"
    objects = compile_all(command, "asm", tmp_path)
    program = link(command, objects, tmp_path, "-Wl,--fatal-warnings")
    (stack,) = re.findall(r"GNU_STACK.*", told_of(program, "-lW"))
    assert " RW " in stack


@pytest.mark.parametrize(
    "command,feature",
    [
        ("gcc -fcf-protection=full", "x86 feature: IBT, SHSTK"),
        (f"{CLANG} -fcf-protection=full", "x86 feature: IBT, SHSTK"),
        ("gcc -fcf-protection=return", "x86 feature: SHSTK"),
        ("aarch64-linux-gnu-gcc -mbranch-protection=standard", "aarch64 feature: BTI, PAC"),
        ("aarch64-linux-gnu-gcc -mbranch-protection=bti", "aarch64 feature: BTI"),
    ],
)
def test_branch_protection_is_kept(tmp_path: Path, command: str, feature: str) -> None:
    """By every object, of which one without would take it from the program."""
    for path in compile_all(command, "generic", tmp_path):
        assert feature in told_of(path, "-nW"), path.name


# ---- the processor, asked before there is any translation ----


@pytest.mark.parametrize("level,machine", [(1, "virt"), (2, "virt,virtualization=on")])
def test_untranslated_memory_takes_nothing_misaligned(tmp_path: Path, level, machine) -> None:
    program = tmp_path / "level"
    folders = [programs.config("generic"), ROOT / "include", ROOT / "src"]
    target = ["--target=aarch64-none-elf", "-mgeneral-regs-only", "-ffreestanding", "-O2"]
    words = [CLANG, *target, f"-DLEVEL={level}", "-DUNTRANSLATED", *(f"-I{f}" for f in folders)]
    words += ["-nostdlib", "-fuse-ld=lld-19", "-Wl,-Ttext=0x40080000", "-o", program]
    sources = [ROOT / "tests/lab/level.S", ROOT / "src/bytes/aarch64/processor.c"]
    subprocess.run([*words, *sources], check=True)
    emulator = ["qemu-system-aarch64", "-M", machine, "-cpu", "cortex-a53", "-nic", "none"]
    done = subprocess.run(
        [*emulator, "-display", "none", "-semihosting", "-kernel", program],
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    assert done.returncode == 1  # PLUMB_MISALIGNED_TRAPS
