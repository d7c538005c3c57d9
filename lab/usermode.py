# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs a program in QEMU's user mode under the counting plugin."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .isa import Isa
from .profile import Interval, Profile

LIMIT_S = 120.0


@dataclass(frozen=True)
class Case:
    """What a program said it would do between two marks, and what that took."""

    words: tuple[str, ...]  # of its `case` line, without the first
    interval: Interval


def run(
    target: Isa, program: Path, arguments: list[str], out: Path, limit_s: float = LIMIT_S
) -> list[Case]:
    """Runs a program that measures; its cases in order."""
    profile = Profile(program, out, None)
    text = execute(target, program, arguments, ("-plugin", profile.option()), limit_s)
    labels = [tuple(line.split()[1:]) for line in text.splitlines() if line.startswith("case ")]
    intervals = profile.rest()
    if len(labels) != len(intervals) or not text.endswith("end\n"):
        raise LabError(
            f"{program}: {len(labels)} cases, {len(intervals)} counted; it said:\n{text[-2000:]}"
        )
    return [Case(words, interval) for words, interval in zip(labels, intervals, strict=True)]


def execute(
    target: Isa,
    program: Path,
    arguments: list[str],
    options: tuple[str, ...] = (),
    limit_s: float = LIMIT_S,
) -> str:
    """Runs a program, which dies with the lab; what it wrote. Any status but 0 is an
    error that shows it."""
    command = [*target.emulator, *options, str(program), *arguments]
    bound = ["setpriv", "--pdeathsig", "KILL", *command]
    try:
        done = subprocess.run(
            bound,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired as late:
        told = (late.output or b"").decode(errors="replace")
        raise LabError(
            f"{' '.join(command)} did not end within {limit_s:g} s; it said:\n{told[-2000:]}"
        ) from late
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        raise LabError(f"{' '.join(command)} ended with {done.returncode}:\n{text[-2000:]}")
    return text
