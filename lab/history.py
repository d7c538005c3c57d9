# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb history`: one metric over all runs in out/, and over what was recorded before."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rich.console import Console as Terminal

from . import compare, metrics, recorded, report, runs
from .errors import LabError
from .goals import OF_THE_BENCH
from .records import Record
from .runs import Run

METRIC = "instructions_per_byte"
COLUMNS_MAX = 8
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Query:
    """What the user wants to see; patterns as of file names."""

    metric: str = METRIC
    case: str = "*"
    board: str = "*"

    def fits(self, record: Record) -> bool:
        """Whether it is one of these."""
        return (
            record.metric == self.metric
            and fnmatchcase(record.case, self.case)
            and fnmatchcase(record.board, self.board)
        )


def gather() -> tuple[list[Run], list[str]]:
    """All runs there are, the oldest first, and what is wrong with the others."""
    found, problems = [], []
    for one in runs.readable():
        if isinstance(one, LabError):
            problems.append(str(one))
        else:
            found.append(one)
    for page in recorded.history():
        label = f"{runs.RECORDED} {page.commit[:7]}"
        found.append(Run(page.path, page.records, page.when, label))
    return sorted(found, key=lambda run: run.when), problems


def of_bench_first(found: list[Run], query: Query) -> list[Run]:
    """The bench's own runs, where they have what is asked for; otherwise all."""
    own = [run for run in found if run.experiment in OF_THE_BENCH]
    return own if any(query.fits(r) for run in own for r in run.records) else found


def title_of(record: Record) -> str:
    """Of a column."""
    key = next(iter(compare.by_key([record])))
    words = [record.board, *([key.owner] if key.owner != "default" else []), record.case]
    return " ".join(words)


def columns_of(found: Iterable[Run], query: Query) -> dict[str, None]:
    """What was measured, in the order in which it came up."""
    return dict.fromkeys(title_of(r) for run in found for r in run.records if query.fits(r))


def series(found: list[Run], query: Query, column: str) -> list[float]:
    """A column's values, over time."""
    return [
        r.value for run in found for r in run.records if query.fits(r) and title_of(r) == column
    ]


def spark(values: list[float]) -> str:
    """As bars of text, the lowest value the lowest bar."""
    low, high = min(values), max(values)
    if low == high:
        return BARS[0] * len(values)
    last = len(BARS) - 1
    return "".join(BARS[round((v - low) / (high - low) * last)] for v in values)


def rows_of(found: list[Run], query: Query, columns: list[str]) -> report.Rows:
    """A row for each run that measured any of it."""
    rows = []
    for run in found:
        values = {title_of(r): r for r in run.records if query.fits(r)}
        if not values.keys().isdisjoint(columns):
            cells = [compare.value_text(values[c]) if c in values else "-" for c in columns]
            rows.append([run.date, run.name, run.commit or "-", *cells])
    return rows


def known(found: list[Run]) -> str:
    """What one could have asked for instead."""
    names = sorted({r.metric for run in found for r in run.records if r.experiment != "goal"})
    return f"metrics there are: {', '.join(names)}" if names else "there are no runs yet"


def run(query: Query, terminal: Terminal) -> int:
    """Prints the table."""
    found, problems = gather()
    for problem in problems:
        terminal.print(f"left out: {problem}", highlight=False, soft_wrap=True, style="yellow")
    known_runs, found = found, of_bench_first(found, query)
    columns = list(columns_of(found, query))
    if not columns:
        about = f"{query.metric} of case {query.case} on board {query.board}"
        raise LabError(f"no run has {about}; {known(known_runs)}")
    shown = columns[:COLUMNS_MAX]
    rows = rows_of(found, query, shown)
    last = ["", "", "over time", *(spark(series(found, query, column)) for column in shown)]
    terminal.print(metrics.of(query.metric).title, style="bold", highlight=False)
    terminal.print(report.rich_table(["when", "run", "commit", *shown], [*rows, last]))
    if len(columns) > len(shown):
        rest = ", ".join(columns[COLUMNS_MAX:][:COLUMNS_MAX])
        left_out = f"{len(columns) - len(shown)} more columns (see --case and --board): {rest} ..."
        terminal.print(left_out, highlight=False, soft_wrap=True)
    return 0
