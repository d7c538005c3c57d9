# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb compare A B`: what changed from one run to another, and whether for the worse.

A change counts when it is more than the larger of both spreads, than what a value that was
read from a page may be off by its rounding, and than what a metric varies by from run to run:
what lies within is no change. Which way is worse is known by metric (lab/metrics.py); `--gate`
judges only those.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console as Terminal

from . import metrics, report
from .errors import LabError
from .metrics import Better
from .records import Record
from .runs import Run

SHOWN_MAX = 500  # rows; of more, those that did not move are left out
LISTED_MAX = 10  # cases that only one run has; of more, their number is told
BETWEEN = 3  # columns of a table
DIFFERING = ("emulator", "compiler", "flags", "client", "network")  # of the tools, not the commit


@dataclass(frozen=True, order=True)
class Key:
    """What a value is of."""

    experiment: str
    board: str
    stack: str
    variant: str
    case: str
    metric: str

    @property
    def owner(self) -> str:
        """Whose it is: stack and variant, as far as they are not the usual ones."""
        words = [w for w, usual in ((self.stack, "plumb"), (self.variant, "default")) if w != usual]
        return " ".join(words) or "default"

    @property
    def text(self) -> str:
        """All of it but the metric."""
        return f"{self.experiment} {self.board} {self.stack} {self.variant} {self.case}"


@dataclass(frozen=True)
class Change:
    """One value, before and after."""

    key: Key
    before: Record
    after: Record

    @property
    def percent(self) -> float:
        """Of the value before; from nothing to something is infinite."""
        difference = self.after.value - self.before.value
        if difference == 0:
            return 0.0
        if self.before.value == 0:
            return math.copysign(math.inf, difference)
        return 100 * difference / abs(self.before.value)

    @property
    def spread(self) -> float:
        """What it may differ by without having changed."""
        both = (self.before, self.after)
        share = metrics.tolerance(self.key.metric, self.key.case)
        rounding = max(one.rounding for one in both)
        return max(*(one.spread + rounding for one in both), abs(self.before.value) * share)

    @property
    def has_moved(self) -> bool:
        """Whether it changed by more; a difference of as much is not exact."""
        return round(abs(self.after.value - self.before.value) - self.spread, 9) > 0

    @property
    def worse_by(self) -> float:
        """Per cent; below 0 it is better, and 0 where neither way is."""
        better = metrics.of(self.key.metric).better
        if better is Better.NEITHER:
            return 0.0
        return self.percent if better is Better.LESS else -self.percent

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.after.value == self.before.value:
            return "same"
        if not self.has_moved:
            return "within spread"
        if self.worse_by == 0:
            return "changed"
        return "worse" if self.worse_by > 0 else "better"


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    before: Run
    after: Run
    changes: list[Change]
    missing: list[Key]
    added: list[Key]

    def worse_than(self, percent: float) -> list[Change]:
        """What got worse by more, beyond its spread; the worst first."""
        found = [c for c in self.changes if c.has_moved and c.worse_by > percent]
        return sorted(found, key=lambda change: -change.worse_by)

    def differences(self) -> list[str]:
        """Where what both have was not made with the same."""
        told = []
        both = ([c.before for c in self.changes], [c.after for c in self.changes])
        for name in DIFFERING:
            one, other = (values_of(records, name) for records in both)
            if one and other and one != other:
                told.append(f"{name}: {', '.join(sorted(one))}  →  {', '.join(sorted(other))}")
        return told


def values_of(records: Iterable[Record], tool: str) -> set[str]:
    """All that records say of a tool."""
    return {r.tools[tool] for r in records if r.tools.get(tool)}


def by_key(records: Iterable[Record]) -> dict[Key, Record]:
    """Records by what they are of."""
    return {Key(r.experiment, r.board, r.stack, r.variant, r.case, r.metric): r for r in records}


def compare(before: Run, after: Run) -> Comparison:
    """Everything that both have, and what only one has."""
    old, new = by_key(before.records), by_key(after.records)
    changes = [Change(key, old[key], new[key]) for key in new if key in old]
    return Comparison(
        before,
        after,
        changes,
        [key for key in old if key not in new],
        [key for key in new if key not in old],
    )


# ---- what is printed ----


def percent_text(percent: float) -> str:
    """`+1.2 %`, or that there was none before."""
    if math.isinf(percent):
        return "from none" if percent > 0 else "to below none"
    digits = 2 if abs(percent) < 10 else 1 if abs(percent) < 1000 else 0
    return f"{percent:+.{digits}f} %"


def value_text(record: Record) -> str:
    """The value, and its spread if it has one."""
    text = metrics.with_spread(record.metric, record.value, record.spread)
    return f"{text} {record.unit}".strip()


def rows_of(changes: list[Change]) -> report.Rows:
    """A row for each."""
    return [
        [
            f"{c.key.board} {c.key.case}",
            c.key.owner,
            c.key.metric,
            value_text(c.before),
            value_text(c.after),
            percent_text(c.percent),
            c.verdict,
        ]
        for c in changes
    ]


COLUMNS = ["case", "variant", "metric", "before", "after", "change", ""]


def shown(comparison: Comparison, is_all: bool) -> tuple[list[Change], int]:
    """The changes that are printed, and how many are not as they did not move. A goal
    is only told of when its outcome is another."""
    told = [c for c in comparison.changes if c.key.experiment != "goal" or c.percent]
    if is_all or len(told) <= SHOWN_MAX:
        return told, 0
    moved = [c for c in told if c.has_moved]
    return moved, len(told) - len(moved)


def grouped(keys: list[Key]) -> list[str]:
    """Cases with their metrics, a line for each case."""
    cases: dict[str, list[str]] = {}
    for key in keys:
        cases.setdefault(key.text, []).append(key.metric)
    return [f"{case}: {', '.join(names)}" for case, names in cases.items()]


def summary(comparison: Comparison) -> str:
    """How many of each."""
    counts = dict.fromkeys(("better", "worse", "changed", "within spread", "same"), 0)
    for change in comparison.changes:
        counts[change.verdict] += 1
    words = [f"{count} {word}" for word, count in counts.items() if count]
    words += [f"{len(keys)} {word}" for keys, word in
              ((comparison.missing, "missing"), (comparison.added, "new")) if keys]  # fmt: skip
    return ", ".join(words)


def gate_lines(comparison: Comparison, percent: float) -> list[str]:
    """What stands against it, or that nothing does."""
    found = comparison.worse_than(percent)
    if not found:
        return [f"gate {percent:g} %: nothing got worse by more"]
    told = [f"gate {percent:g} %: {len(found)} got worse by more"]
    return told + [
        f"{c.key.board} {c.key.owner} {c.key.case} {c.key.metric}: {value_text(c.before)} → "
        f"{value_text(c.after)} ({percent_text(c.percent)})"
        for c in found
    ]


def markdown(comparison: Comparison, gate: float | None, is_all: bool) -> str:
    """For a page, or a comment on a change."""
    before, after = comparison.before, comparison.after
    parts = [
        f"**{before.name}** (`{before.commit or '?'}`) → **{after.name}** "
        f"(`{after.commit or '?'}`): {summary(comparison)}."
    ]
    parts += [f"Not the same: {line}" for line in comparison.differences()]
    changes, omitted = shown(comparison, is_all)
    if changes:
        rows = [[report.markdown_cell(cell) for cell in row] for row in rows_of(changes)]
        parts.append(report.markdown_table(COLUMNS, rows))
    parts += _remarks(comparison, omitted, is_all)
    if gate is not None:
        first, *rest = gate_lines(comparison, gate)
        parts.append("\n".join([f"**{first}**", *(f"* {line}" for line in rest)]))
    return "\n\n".join(parts)


def _remarks(comparison: Comparison, omitted: int, is_all: bool) -> list[str]:
    told = [f"{omitted} more did not move and are left out (--all shows them)."] if omitted else []
    for keys, word in ((comparison.missing, "Missing"), (comparison.added, "New")):
        lines = grouped(keys)
        if len(lines) > LISTED_MAX and not is_all:
            told.append(f"{word}: {len(keys)} records (--all lists them).")
        elif lines:
            told.append("\n".join([f"{word}:", "", *(f"* {line}" for line in lines)]))
    return told


def show(comparison: Comparison, gate: float | None, is_all: bool, terminal: Terminal) -> None:
    """On a terminal."""
    for word, run in (("before", comparison.before), ("after", comparison.after)):
        about = f"{run.name}, {run.date}, {run.commit or 'commit unknown'}"
        terminal.print(f"{word:7} {about}", highlight=False, soft_wrap=True)
    for line in comparison.differences():
        terminal.print(f"not the same: {line}", highlight=False, soft_wrap=True)
    changes, omitted = shown(comparison, is_all)
    if changes:
        _show_changes(changes, terminal)
    for line in _remarks(comparison, omitted, is_all):
        terminal.print(f"\n{line}", highlight=False, soft_wrap=True)
    terminal.print(f"\n{summary(comparison)}", highlight=False)
    for line in gate_lines(comparison, gate) if gate is not None else []:
        terminal.print(line, highlight=False, soft_wrap=True)


def _show_changes(changes: list[Change], terminal: Terminal) -> None:
    """A table for each case, all with the same columns; a narrow terminal folds them."""
    cases: dict[str, report.Rows] = {}
    for case, owner, *row, verdict in rows_of(changes):
        of_case = cases.setdefault(f"{case}, {owner}" if owner != "default" else case, [])
        of_case.append([*row, verdict.removesuffix(" spread")])
    title = [*COLUMNS[2:-1], ""]
    rows = [title, *(row for of_case in cases.values() for row in of_case)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    fits = sum(widths) + BETWEEN * len(widths) <= terminal.width
    for case, of_case in cases.items():
        terminal.print(f"\n{case}", style="bold", highlight=False, markup=False, soft_wrap=True)
        table = report.rich_table(title, of_case, widths if fits else None)
        table.show_header = not fits or of_case is next(iter(cases.values()))
        terminal.print(table)


def run(
    before: Run, after: Run, terminal: Terminal, gate: float | None = None,
    is_markdown: bool = False, is_all: bool = False,
) -> int:  # fmt: skip
    """Prints; 1 if something is worse than the gate lets through."""
    if gate is not None and not math.isfinite(gate):
        raise LabError(f"--gate {gate} lets everything through: give it a percentage")
    comparison = compare(before, after)
    if not comparison.changes:
        raise LabError(
            f"{before.name} and {after.name} have nothing in common: {before.experiment} on "
            f"{before.records[0].board}, {after.experiment} on {after.records[0].board}"
        )
    if is_markdown:
        print(markdown(comparison, gate, is_all))
    else:
        show(comparison, gate, is_all, terminal)
    return 1 if gate is not None and comparison.worse_than(gate) else 0
