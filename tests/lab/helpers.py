# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the lab's tests share."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from lab import programs
from lab.isa import isa
from lab.paths import ROOT
from lab.programs import Program, Unit

PLUMB = str(ROOT / "plumb")
# The goals of the bench that are missed at present; README.md names them.
MISSED = {"total text bytes, smallest"}


def plumb(*words: str | Path, limit_s: float = 240) -> subprocess.CompletedProcess[str]:
    """Runs the lab as a user does."""
    return subprocess.run(
        [PLUMB, *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_s,
    )


def bare_program(folder: Path, source: str, *flags: str) -> Path:
    """A file of this folder, built for the zynq machine with nothing else on it."""
    program = (folder / source).with_suffix(".elf")
    bare = ["-nostdlib", "-marm", "-mcpu=cortex-a9", "-g", "-Wl,-Ttext=0x8000", *flags]
    file = Path(__file__).with_name(source)
    subprocess.run(["arm-none-eabi-gcc", *bare, "-o", program, file], check=True)
    return program


def run_bare(program: Path, plugin: str) -> None:
    """Runs one until it ends by itself."""
    machine = ["-M", "xilinx-zynq-a9", "-display", "none", "-no-reboot", "-icount", "shift=4"]
    subprocess.run(
        ["qemu-system-arm", *machine, "-kernel", program, "-plugin", plugin],
        check=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
    )


SUITE = ("tests/user/bytes_check.c", "tests/shared/bytes_check.c")
SUITE_LIMIT_S = 300.0


def suite(name: str, compiler: str, config: str, opt: str = "O2") -> Program:
    """The byte routines' whole suite over one build of them."""
    units = tuple(Unit(ROOT / source, config=config) for source in SUITE)
    routines = programs.byte_routines(isa(name), config, opt)
    whole = (*programs.harness(), *units, *routines)
    return Program(f"check-{config}-{opt}", name, compiler, whole)


def build_suites(wanted: Iterable[Program]) -> dict[Program, Path]:
    """Where each of them lies, built at once; what one test file has built serves another."""
    return programs.build_all("check", wanted)


def command_lines() -> dict[int, str]:
    """The command line of every process there is."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            found[int(folder.name)] = b" ".join(words).decode("utf-8", "replace")
    return found


def processes_with(mark: str) -> dict[int, str]:
    """The processes, but for this one, whose command line holds a mark."""
    return {p: c for p, c in command_lines().items() if mark in c and p != os.getpid()}


def until(is_so: Callable[[], bool], limit_s: float) -> bool:
    """Waits for something to be so; whether it came to be."""
    deadline = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def has_tap() -> bool:
    """Whether a TAP device can be made here."""
    return os.geteuid() == 0 and Path("/dev/net/tun").exists()


needs_tap = pytest.mark.skipif(not has_tap(), reason="a TAP device needs root and /dev/net/tun")


