# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which branches of src/ the host's tests take.

clang counts what its front end sees, so a branch is a place in the source and not an
optimiser's idea of it; gcc counts jumps, of which an inlined function has as many as it has
callers. The library is compiled several times, for configurations that differ, and a file
does not hold the same branches in each. So each program is looked at by itself, and what
they saw is united by place: a branch, true or false, counts as taken when any program of any
configuration took it, and exists when any configuration has it.
"""

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from .errors import LabError
from .paths import BUILD, ROOT

FOLDER = BUILD / "coverage"
TABLE = FOLDER / "table.txt"
PROFDATA, COV = "llvm-profdata-14", "llvm-cov-14"

Place = tuple[int, int, int, int]  # line and column, first and last


@dataclass
class File:
    """A source's branches: how often each was true and false."""

    branches: dict[Place, list[int]] = field(default_factory=dict)

    def add(self, branch: list[int]) -> None:
        counts = self.branches.setdefault(tuple(branch[:4]), [0, 0])
        counts[0] += branch[4]
        counts[1] += branch[5]

    @property
    def outcomes(self) -> int:
        return 2 * len(self.branches)

    @property
    def taken(self) -> int:
        return sum((yes > 0) + (no > 0) for yes, no in self.branches.values())


@dataclass(frozen=True)
class Run:
    """A program or library, the command that uses it, and how it is told to be watched."""

    name: str
    binary: Path
    command: tuple[str, ...]
    limit_s: int = 600


def branches_of(run: Run) -> tuple[str, list[tuple[str, list[int]]]]:
    """Runs it; what was wrong, and its branches with their files."""
    raw, merged = FOLDER / f"{run.name}.profraw", FOLDER / f"{run.name}.profdata"
    done = subprocess.run(
        run.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=run.limit_s,
        cwd=FOLDER,
        env={**os.environ, "LLVM_PROFILE_FILE": str(raw)},
    )
    if done.returncode or not raw.exists():
        told = done.stdout.decode(errors="replace")[-2000:]
        return f"{run.name} ended with {done.returncode}:\n{told}", []
    _tool([PROFDATA, "merge", "-sparse", str(raw), "-o", str(merged)])
    exported = _tool([COV, "export", f"-instr-profile={merged}", str(run.binary)])
    raw.unlink()
    merged.unlink()
    files = json.loads(exported)["data"][0]["files"]
    return "", [(one["filename"], branch) for one in files for branch in one["branches"]]


def _tool(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise LabError(f"{' '.join(command)} failed: {done.stderr}")
    return done.stdout


def measure(runs: Iterable[Run], below: Path) -> tuple[dict[str, File], list[str]]:
    """The files below a folder, by name, and what went wrong."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    files: dict[str, File] = defaultdict(File)
    faults = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for fault, found in pool.map(branches_of, runs):
            faults += [fault] if fault else []
            for name, branch in found:
                if Path(name).is_relative_to(below):
                    files[str(Path(name).relative_to(ROOT))].add(branch)
    return dict(sorted(files.items())), faults


def share(files: Iterable[File]) -> float:
    """Of all outcomes, those that were taken; in percent."""
    listed = list(files)
    return 100 * sum(one.taken for one in listed) / max(sum(one.outcomes for one in listed), 1)


def table(files: dict[str, File]) -> list[str]:
    """A line per folder and file, and one for all; the folders' end with a slash."""
    folders = defaultdict(list)
    for name, one in files.items():
        folders[name.split("/")[1] if name.count("/") > 1 else "."].append((name, one))
    lines = [_line("branches of", "outcomes", "taken", "%")]
    for folder, held in folders.items():
        lines.append(_row(f"src/{folder}/" if folder != "." else "src/", [f for _, f in held]))
        lines += [_row(f"  {name}", [one]) for name, one in held if one.outcomes]
    return [*lines, _row("all", files.values())]


def _row(name: str, files: Iterable[File]) -> str:
    held = list(files)
    outcomes, taken = sum(f.outcomes for f in held), sum(f.taken for f in held)
    return _line(name, str(outcomes), str(taken), f"{share(held):.1f}" if outcomes else "-")


def _line(*cells: str) -> str:
    return f"{cells[0]:<40}{cells[1]:>10}{cells[2]:>10}{cells[3]:>8}"


STYLE = (
    "<style>body{font:14px/1.4 monospace}i{color:#888;font-style:normal}"
    "b{background:#fbb}td{padding:0 1em;text-align:right}td:first-child{text-align:left}</style>"
)


def write_html(files: dict[str, File]) -> Path:
    """A page with the table, and one per file, where what was not taken is marked."""
    rows = []
    for name, one in files.items():
        page = FOLDER / (name.replace("/", "_") + ".html")
        page.write_text(f"<!doctype html><title>{name}</title>{STYLE}<pre>{_marked(name, one)}</pre>")
        cells = "".join(f"<td>{n}" for n in (one.outcomes, one.taken, f"{share([one]):.1f}"))
        rows.append(f'<tr><td><a href="{page.name}">{name}</a>{cells}')
    index = FOLDER / "index.html"
    total = f"<tr><td>all<td><td><td>{share(files.values()):.1f}"
    index.write_text(
        f"<!doctype html><title>Branches taken</title>{STYLE}"
        f"<table><tr><td>file<td>outcomes<td>taken<td>%{''.join(rows)}{total}</table>"
    )
    return index


def _marked(name: str, one: File) -> str:
    notes = defaultdict(list)
    for (line, column, _, _), (yes, no) in sorted(one.branches.items()):
        never = [word for word, count in (("true", yes), ("false", no)) if not count]
        if never:
            notes[line].append(f"column {column}: never {' or '.join(never)}")
    lines = []
    for number, text in enumerate((ROOT / name).read_text().splitlines(), 1):
        note = f"  <b>{'; '.join(notes[number])}</b>" if notes[number] else ""
        lines.append(f"<i>{number:5}</i> {escape(text)}{note}")
    return "\n".join(lines)
