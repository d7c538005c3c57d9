# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb history`: one metric over all runs in out/, and over what was recorded before."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console as Terminal
from rich.markup import escape
from rich.table import Table

from . import compare, metrics, recorded, report, runs
from .errors import LabError
from .goals import OF_THE_BENCH
from .records import Record
from .runs import Run

METRIC = "instructions_per_byte"
RUN = ("when", "run", "commit")
FIXED = len(RUN)
NAMED_MAX = 8  # columns that there is no room for
COMMIT = 7  # digits
BETWEEN = 3  # columns of the table
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
        label = f"{runs.RECORDED} {page.commit[:COMMIT]}"
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


def spark(values: list[float], width: int) -> str:
    """As bars of text, the lowest value the lowest bar; of more than there is room for, some."""
    if len(values) > width:
        values = [values[i * (len(values) - 1) // (width - 1)] for i in range(width)]
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
            cells = [_cell(values.get(c)) for c in columns]
            rows.append([run.date, run.name, _short(run.commit), *cells])
    return rows


def _cell(record: Record | None) -> str:
    return compare.value_text(replace(record, unit="")) if record else "-"


def _short(commit: str) -> str:
    """As much of it as tells commits apart; a `+` stands for changes since."""
    return commit[:COMMIT] + "+" * ("+" in commit) or "-"


def widths_of(titles: list[str], rows: report.Rows, room: int) -> list[int]:
    """What each column takes: its widest cell, or its title; if that is too much in all, the
    longest word of its title."""
    cells = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for lines in ([[title] for title in titles], [title.split() for title in titles]):
        of_titles = (max(map(cell_len, line)) for line in lines)
        widths = list(map(max, cells, of_titles))
        if fitting(widths, room) == len(widths):
            break
    return widths


def fitting(widths: list[int], room: int) -> int:
    """How many columns there is room for: the run's own, and at least one beside them."""
    used = (sum(widths[:count]) + BETWEEN * (count - 1) for count in range(1, len(widths) + 1))
    return max(FIXED + 1, sum(one <= room for one in used))


def table_of(titles: list[str], widths: list[int], rows: report.Rows) -> Table:
    """Titles may take several lines; nothing else does."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, (title, width) in enumerate(zip(titles, widths, strict=True)):
        justify = "left" if index < FIXED else "right"
        table.add_column(escape(title), justify=justify, width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


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
    titles = [*RUN, *columns]
    rows = rows_of(found, query, columns)
    widths = widths_of(titles, rows, terminal.width)
    count = fitting(widths, terminal.width)
    last = ["", "over time", "", *(
        spark(series(found, query, column), width)
        for column, width in zip(columns, widths[FIXED:], strict=True)
    )]  # fmt: skip
    terminal.print(metrics.of(query.metric).title, style="bold", highlight=False)
    shown = [row[:count] for row in [*rows, last] if set(row[FIXED:count]) != {"-"}]
    terminal.print(table_of(titles[:count], widths[:count], shown))
    if rest := titles[count:]:
        more = f" and {len(rest) - NAMED_MAX} more" if len(rest) > NAMED_MAX else ""
        named = f"{', '.join(rest[:NAMED_MAX])}{more} (--case and --board choose)"
        word = "column" if len(rest) == 1 else "columns"
        terminal.print(f"{len(rest)} more {word}: {named}", highlight=False)
    return 0
