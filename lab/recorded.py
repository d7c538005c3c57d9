# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `./plumb bench --record` has written to docs/results.md, read back as records.

The page holds what it prints, rounded; its history is git's. What cannot be read of an
older page is left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import report, tools
from .errors import LabError
from .paths import ROOT
from .records import Record

PAGE = "docs/results.md"
_VALUE = re.compile(r"(-?\d[\d.]*)(?: ± (\d[\d.]*))?")


@dataclass(frozen=True)
class Page:
    """One state of the page."""

    path: Path
    commit: str  # that committed it; empty: not yet
    when: float
    records: list[Record]


def latest() -> Page:
    """The page as it lies in the tree."""
    path = ROOT / PAGE
    found = parse(path.read_text())
    if not found:
        raise LabError(f"{path} holds no table that can be read")
    return Page(path, *(_committed() or ("", path.stat().st_mtime)), found)


def _committed() -> tuple[str, float] | None:
    """By which commit the page is as it lies here, and when; None: it was changed since."""
    if tools.git("status", "--porcelain", "--", PAGE):
        return None
    commit, _, when = tools.git("log", "-1", "--format=%H %ct", "--", PAGE).partition(" ")
    return (commit[:12], float(when)) if when.isdecimal() else None


def history() -> Iterator[Page]:
    """Each state that was committed, the oldest first; none without git."""
    lines = tools.git("log", "--reverse", "--format=%H %ct", "--", PAGE).splitlines()
    for line in lines:
        commit, _, when = line.partition(" ")
        if not re.fullmatch(r"[0-9a-f]{40}", commit) or not when.isdecimal():
            return  # git says something else: this is no repository
        found = parse(tools.git("show", f"{commit}:{PAGE}"))
        if found:
            yield Page(ROOT / PAGE, commit[:12], float(when), found)


def parse(text: str) -> list[Record]:
    """The records of a page's tables of transfers."""
    tables = list(_tables(text))
    about = {row[0]: row[1] for row in tables[0] if len(row) > 1} if tables else {}
    board = about.get("board", "").partition(",")[0]
    made: list[Record] = []
    for table in tables[1:]:
        made += _records(table, board, about)
    return made


def _tables(text: str) -> Iterator[list[list[str]]]:
    """The rows of each table; the line below its head is left out."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                rows.append(cells)
        elif rows:
            yield rows
            rows = []


def _metrics() -> dict[str, str]:
    """Metrics by the heads of their columns."""
    columns = (*report.SPEED, *report.COST)
    return {column[0]: column[1] for column in columns} | {"access/byte": "accesses_per_byte"}


def _records(table: list[list[str]], board: str, about: dict[str, str]) -> Iterator[Record]:
    cases = {name: case for case, name in report.CASE_NAMES.items()}
    metrics = _metrics()
    head, *rows = table
    made_with = {name: value for name, value in about.items() if name not in ("board", "repeats")}
    repeats = int(about["repeats"]) if about.get("repeats", "").isdecimal() else 1
    for row in rows:
        for title, cell in zip(head[1:], row[1:], strict=False):
            value = _VALUE.fullmatch(cell)
            if row[0] in cases and title in metrics and value:
                yield Record(
                    "throughput", board, cases[row[0]], metrics[title], float(value[1]), "",
                    repeats, float(value[2] or 0), tools=made_with, rounding=_rounding(value),
                )  # fmt: skip


def _rounding(value: re.Match[str]) -> float:
    """Half the last digit of what is printed; as much again where a spread is, rounded too."""
    half = 0.5 * 10.0 ** -len(value[1].partition(".")[2])
    return half * 2 if value[2] else half
