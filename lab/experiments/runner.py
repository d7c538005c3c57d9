# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb bench --experiment NAME`: measures, judges, prints, records, draws."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console as Terminal

from .. import goals, lock, page, records, report, tools
from ..errors import LabError, NotUnderstood
from ..paths import BUILD, OUT, ROOT
from ..records import Record
from ..terminal import for_tables, steps
from . import load
from .base import Experiment, Rows, Run, Table

WIDTH = 190
LIMIT_S = 1800.0  # for another that measures
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    name: str
    isas: tuple[str, ...] = ()
    is_quick: bool = False
    out: Path | None = None
    record: bool = False


def run(options: Options) -> int:
    """The whole of it; the exit status."""
    experiment = load(options.name)
    check(experiment, options)
    tools.ensure(options.name)
    out = options.out or OUT / time.strftime("%Y%m%d-%H%M%S")
    out.mkdir(parents=True, exist_ok=True)
    check_writable(out, *([DOCS] if options.record else []))
    terminal = for_tables(WIDTH)
    # Its programs lie where those of the next one would.
    with lock.held(BUILD / "experiment.lock", "measuring", LIMIT_S):
        found = measure(experiment, options, out, terminal)
    boards = options.isas or experiment.boards()
    verdicts = goals.judge_experiment(found, options.name, boards, experiment.lacks())
    found += goals.as_records(verdicts, "", {"commit": tools.commit()})
    records.write(out / "results.jsonl", found)
    printed = Page(experiment, found, verdicts, options)
    printed.show(terminal)
    terminal.print(f"records: {out / 'results.jsonl'}", soft_wrap=True)
    terminal.print(f"to look at: {page.write(out, verdicts)}", soft_wrap=True)
    if options.record:
        printed.write(DOCS / f"results-{options.name}.md")
    return 1 if any(verdict.is_failure for verdict in verdicts) else 0


def check(experiment: Experiment, options: Options) -> None:
    """Refuses what cannot be run, before anything is built."""
    unknown = [name for name in options.isas if name not in experiment.boards()]
    if unknown:
        known = ", ".join(experiment.boards())
        raise NotUnderstood(f"{options.name} knows no ISA {unknown[0]!r}; it knows: {known}")
    if options.record and (options.is_quick or options.isas):
        raise NotUnderstood("what is recorded is the whole experiment: no --quick, no --isa")


def check_writable(*folders: Path) -> None:
    """Raises now what would be raised when all is measured."""
    for folder in folders:
        if not os.access(folder, os.W_OK):
            raise LabError(f"cannot write in {folder}: whose is it?")


def measure(
    experiment: Experiment, options: Options, out: Path, terminal: Terminal
) -> list[Record]:
    """Measures, and shows how far it has come."""
    with steps(terminal, total=1) as step:
        return experiment.measure(Run(out, options.is_quick, options.isas, step))


class Page:
    """What is printed, and written to docs/."""

    def __init__(
        self,
        experiment: Experiment,
        found: list[Record],
        verdicts: list[goals.Verdict],
        options: Options,
    ) -> None:
        self.experiment = experiment
        self.head = header(found, options)
        self.tables = [table for table in experiment.tables(found) if table.rows]
        if verdicts:
            self.tables.append(goal_table(verdicts))
        self.answers = [*_judged(verdicts), *experiment.answers(found)]

    def show(self, terminal: Terminal) -> None:
        """Prints it."""
        report.show(terminal, self.head, [], self.experiment.question)
        for table in self.tables:
            terminal.print(f"\n{table.title}", style="bold", highlight=False)
            terminal.print(report.rich_table(table.columns, table.rows))
            if table.note:
                terminal.print(table.note, style="dim", highlight=False)
        for answer in self.answers:
            terminal.print(f"\n{answer}", highlight=False)
        terminal.print()

    def write(self, path: Path) -> None:
        """Writes it."""
        parts = [
            "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->",
            f"# {self.experiment.title}",
            f"Written by `./plumb bench --experiment {self.experiment.name} --record`; "
            "not to be edited.",
            self.experiment.question,
            report.markdown_table(["", ""], self.head),
            *self.answers,
        ]
        for table in self.tables:
            parts += [f"## {table.title}", report.markdown_table(table.columns, table.rows)]
            parts += [table.note] if table.note else []
        path.write_text("\n\n".join(parts) + "\n")


def header(found: list[Record], options: Options) -> Rows:
    """What was measured with what; flags stand in the records, as each ISA has its own."""
    rows = [["experiment", options.name + (", --quick" if options.is_quick else "")]]
    for name in ("emulator", "compiler", "client", "commit"):
        values = sorted({record.tools[name] for record in found if record.tools.get(name)})
        rows += [[name, ", ".join(values)]] if values else []
    return rows


def _judged(verdicts: list[goals.Verdict]) -> list[str]:
    """How many goals were met, and which were not."""
    judged = [v for v in verdicts if v.is_measurable]
    missed = [v for v in judged if not v.is_met]
    if not judged:
        return []
    which = "".join(f" Not met: {v.board}, {v.what}: {v.measured}." for v in missed)
    return [f"{len(judged) - len(missed)} of {len(judged)} goals are met.{which}"]


def goal_table(verdicts: list[goals.Verdict]) -> Table:
    """The goals, and the worst case of each that has several."""
    rows = [[v.board, v.what, v.measured, v.text, v.case] for v in verdicts]
    return Table("Goals", ["", "goal", "measured", "", "worst case"], rows)
