# SPDX-License-Identifier: Apache-2.0 OR MIT
"""report.html: one run to look at, in one file that asks no network for anything.

It is made of what the run has left in its folder, records and profile, so that every run
has one: tables, charts, what moved against the last run of its kind, how it was measured.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from . import charts, compare, comparison, experiments, metrics, report, runs
from .charts import Chart
from .compare import Comparison
from .experiments.base import Table
from .goals import Verdict
from .paths import LAB
from .records import Record
from .runs import Run

if TYPE_CHECKING:
    from markupsafe import Markup

    from .experiments.base import Experiment

NAME = "report.html"
PROFILE = "profile.jsonl"
TEMPLATES = LAB / "templates"
NAMED_MAX = 400  # cases that are named one by one; of more, by their parts
MOVED_ROWS_MAX = 40
COST_COLUMNS = 4  # that fit a telephone
LEAST_PERCENT = 0.05  # of a change that a reader is told of
# What has charts of its own over all transfers, and what is told about each.
TRANSFERS = {
    "instructions_per_byte": "The whiskers are the interquartile range of the repeats.",
    "throughput": "By the board's own clock where it has one; the whiskers are the "
    "interquartile range.",
    "touches_per_byte": "Payload bytes loaded plus payload bytes stored, per byte of payload.",
    "accesses_per_byte": "Loads and stores of any width, per byte of payload.",
    "instructions_per_packet": "Per segment or datagram that carried payload.",
}
# Of experiments, what is drawn by variant; the first ones that were measured.
BY_VARIANT = (
    "instructions_per_byte", "throughput", "touches_per_byte", "accesses_per_byte",
    "instructions_per_packet", "loads_and_stores", "text_bytes", "instructions",
)  # fmt: skip
BY_VARIANT_MAX = 4
_NUMBER = re.compile(r"[-+]?\d|[-–]?$|from none")
TOOLS = ("emulator", "compiler", "flags", "client", "network", "commit")
CLOCKS = {
    "zynq": "the board's own: it executes one instruction in 16 ns, whatever this host does",
    "linux": "this host's; instructions are counted in a second run, under emulation",
}
OTHER_CLOCK = "none: instructions are counted, in the emulator's user mode"


@dataclass(frozen=True)
class Card:
    """One case in three figures."""

    title: str
    case: str
    value: str
    unit: str
    more: str
    change: str = ""
    verdict: str = ""


@dataclass
class Page:
    """What the template is given."""

    title: str
    lead: str
    run: Run
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    goals: Table | None = None
    goals_told: str = ""
    goals_missed: int = 0
    before: Run | None = None
    moved: Table | None = None
    moved_told: str = ""
    made_with: list[tuple[str, list[str]]] = field(default_factory=list)
    cases: list[tuple[str, list[str]]] = field(default_factory=list)
    glossary: report.Rows = field(default_factory=list)


def write(folder: Path, verdicts: list[Verdict] | None = None) -> Path:
    """Makes the page of the run in a folder; `verdicts` are its goals', as judged."""
    run = runs.read(folder / runs.FILE)
    page = of_run(run, read_profile(folder / PROFILE), verdicts or [])
    path = folder / NAME
    path.write_text(render(page), encoding="utf-8")
    return path


def read_profile(path: Path) -> list[dict]:
    """The functions' counts of each transfer; none if the run made none."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def of_run(run: Run, profile: list[dict], verdicts: list[Verdict]) -> Page:
    """Everything that a page says."""
    names = experiments.EXPERIMENTS
    experiment = experiments.load(run.experiment) if run.experiment in names else None
    page = _of_experiment(run, experiment) if experiment else _of_transfers(run, profile)
    _add_goals(page, run, verdicts)
    _add_moved(page, run)
    page.made_with = made_with(run.records)
    page.cases = cases_of(run.records)
    page.glossary = glossary(run.records)
    charts.colour(page.charts)
    return page


# ---- the bench's own run ----


def _of_transfers(run: Run, profile: list[dict]) -> Page:
    boards = ", ".join(dict.fromkeys(r.board for r in run.records if r.board))
    page = Page(
        f"Throughput on {boards}",
        "Transfers of an unmodified iperf against the board, and what each byte of them cost.",
        run,
    )
    page.tables = [
        *beside_peers(run),
        *transfer_table("Cost", run.records, report.COST[:COST_COLUMNS]),
        *transfer_table("Misaligned and acknowledged", run.records, report.COST[COST_COLUMNS:]),
        *transfer_table("Speed", run.records, report.SPEED, has_spread=True),
        *other_table(run.records),
    ]
    drawn: list[Chart | None] = [
        *(charts.of_transfers(run.records, metric, note) for metric, note in TRANSFERS.items()),
        charts.of_functions(profile),
        charts.of_sizes(run.records),
    ]
    page.charts = [chart for chart in drawn if chart]
    return page


def beside_peers(run: Run) -> list[Table]:
    """Plumb's manners and those of the stacks that were measured on the same board, and
    the goals; the same by another way to count."""
    first = run.records[0]
    level = re.findall(r"-(O\w+)", first.tools.get("flags", ""))
    told = (
        ("Instructions per byte, beside others", comparison.NOTE),
        ("Each register counted as an instruction", ""),
        ("Touches of payload", ""),
    )
    found = (
        comparison.table(run.records, first.board, level[-1] if level else ""),
        comparison.by_register(run.records),
        comparison.touches(run.records),
    )
    return [
        Table(title, columns, rows, note)
        for (title, note), (columns, rows) in zip(told, found, strict=True)
        if rows
    ]


def transfer_table(
    title: str,
    records: list[Record],
    wanted: tuple[tuple[str, str, int], ...],
    has_spread: bool = False,
) -> list[Table]:
    """A row per transfer and variant, a column for each metric that anyone measured; without
    spreads, which the charts have, it fits a telephone."""
    rows: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        if record.experiment == "throughput" and record.case != "all":
            key = (charts.owner_of(record), record.case)
            rows.setdefault(key, {})[record.metric] = record
    heads = {name: head for head, name, _ in wanted if any(name in row for row in rows.values())}
    if not heads:
        return []
    has_variants = len({owner for owner, _ in rows}) > 1
    body = [
        [
            charts.case_name(case) + (f" ({owner})" if has_variants else ""),
            *(compare_cell(row.get(name), has_spread) for name in heads),
        ]
        for (owner, case), row in sorted(rows.items(), key=lambda i: charts.case_order(i[0][1]))
        if not row.keys().isdisjoint(heads)
    ]
    return [Table(title, ["transfer", *heads.values()], body)]


def compare_cell(record: Record | None, has_spread: bool = True) -> str:
    """A value and its spread."""
    if record is None:
        return "-"
    return metrics.with_spread(record.metric, record.value, record.spread * has_spread)


def other_table(records: list[Record]) -> list[Table]:
    """What was measured of no single transfer, but for sizes, which have a chart."""
    shown = [
        r
        for r in records
        if r.experiment not in ("throughput", "size", "goal") or r.metric == "lost_buffers"
    ]
    rows = [[f"{r.case}: {metrics.of(r.metric).title}", compare_cell(r)] for r in shown]
    totals = [r for r in records if r.experiment == "size" and r.case == "total"]
    for r in totals:
        owner = charts.owner_of(r)
        more = f", {owner}" if owner != "default" else ""
        rows.append([f"all of Plumb: {metrics.of(r.metric).title}{more}", compare_cell(r)])
    return [Table("Sizes and the rest", ["", "value"], rows)] if rows else []


# ---- an experiment ----


def _of_experiment(run: Run, experiment: "Experiment") -> Page:
    page = Page(experiment.title, experiment.question, run)
    measured = [r for r in run.records if r.experiment != "goal"]
    page.answers = experiment.answers(measured)
    page.tables = [table for table in experiment.tables(measured) if table.rows]
    page.charts = [_own(figure) for figure in experiment.plot(measured)]
    there = {r.metric for r in measured}
    names = [name for name in BY_VARIANT if name in there][:BY_VARIANT_MAX]
    page.charts += [chart for name in names if (chart := charts.of_variants(measured, name))]
    return page


def _own(figure: object) -> Chart:
    """An experiment's figure; its title is the page's to set."""
    layout = figure.layout  # type: ignore[attr-defined]
    title = (layout.title.text if layout.title else "") or ""
    layout.title = None
    title = re.sub(r"<[^>]+>", " ", title)
    return Chart(title, figure, numbers=_numbers(title, figure))  # type: ignore[arg-type]


def _numbers(title: str, figure: object) -> Table:
    """What a figure draws, as a table."""
    traces = [t for t in figure.data if t.x is not None]  # type: ignore[attr-defined]
    by_name = {t.name: dict(zip(t.x, t.y, strict=True)) for t in traces}
    places = dict.fromkeys(place for values in by_name.values() for place in values)
    rows = [[str(place), *(_drawn(values.get(place)) for values in by_name.values())]
            for place in places]  # fmt: skip
    return Table(title, ["", *map(str, by_name)], rows)


def _drawn(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


# ---- goals ----


def _add_goals(page: Page, run: Run, verdicts: list[Verdict]) -> None:
    judged = [v for v in verdicts if v.is_measurable]
    if judged:
        missed = [v for v in judged if not v.is_met]
        rows = [[f"{v.board} {v.what}", v.measured, v.text, v.case] for v in verdicts]
        columns = ["goal", "measured", "", "worst case"]
    else:  # of an older run there is only whether each was met
        told = [r for r in run.records if r.experiment == "goal"]
        missed = [r for r in told if not r.value]
        rows = [[f"{r.board} {r.case}", "met" if r.value else "NOT met"] for r in told]
        columns = ["goal", ""]
    if not rows:
        return
    if all(not row[-1] for row in rows):
        rows, columns = [row[:-1] for row in rows], columns[:-1]
    count = len(judged) or len(rows)
    page.goals = Table("Goals", columns, rows)
    page.goals_missed = len(missed)
    page.goals_told = f"{count - len(missed)} of {count} goals met"
    chart = charts.of_goals(verdicts)
    page.charts += [chart] if chart else []


# ---- what moved ----


def _add_moved(page: Page, run: Run) -> None:
    page.before = runs.before(run)
    found = compare.compare(page.before, run) if page.before else None
    page.cards = cards(run.records, found)
    if found is None:
        page.moved_told = "The first run of its kind here: there is nothing to compare it with."
        return
    moved = [
        c
        for c in found.changes
        if c.has_moved and c.worse_by and abs(c.percent) >= LEAST_PERCENT
    ]
    moved.sort(key=lambda c: -abs(c.percent))
    worse = [c for c in moved if c.worse_by > 0]
    better = [c for c in moved if c.worse_by < 0]
    page.moved_told = (
        f"{len(worse)} values worse, {len(better)} better by more than their spread, of "
        f"{len(found.changes)} that both runs have."
    )
    shown = [*worse[: MOVED_ROWS_MAX // 2], *better[: MOVED_ROWS_MAX // 2]]
    if shown:
        rows = [[charts.change_label(c), *row[3:]] for c, row in
                zip(shown, compare.rows_of(shown), strict=True)]  # fmt: skip
        columns = ["", "before", "now", "change", ""]
        page.moved = Table("What changed by more than its spread", columns, rows)
    for keys, word in ((found.missing, "no longer measured"), (found.added, "new")):
        cases = compare.grouped([key for key in keys if key.experiment != "goal"])
        if cases:
            more = f" and {len(cases) - 6} more" if len(cases) > 6 else ""
            page.moved_told += f" {word[0].upper()}{word[1:]}: {'; '.join(cases[:6])}{more}."
    chart = charts.of_changes(moved)
    page.charts += [chart] if chart else []


def cards(records: list[Record], against: Comparison | None) -> list[Card]:
    """What each transfer of the stack's usual variant costs, at a glance."""
    changes = {c.key: c for c in against.changes} if against else {}
    by_key = compare.by_key(records)
    made = []
    for case, name in (report.CASE_NAMES | charts.OTHER_NAMES).items():
        of_case = {
            k.metric: (k, r)
            for k, r in by_key.items()
            if (k.experiment, k.case, k.owner) == ("throughput", case, "default")
        }
        wanted = ("instructions_per_byte", "instructions_per_packet")
        wanted = wanted[1:] if case in charts.PER_PACKET_ONLY else wanted
        metric = next((name for name in wanted if name in of_case), None)
        if metric is None:
            continue
        key, record = of_case[metric]
        speed = of_case["throughput"][1].value if "throughput" in of_case else None
        change = changes.get(key)
        made.append(
            Card(
                name,
                case,
                metrics.number(metric, record.value),
                metrics.of(metric).title,
                f"{speed:.1f} Mbit/s" if speed is not None else "",
                compare.percent_text(change.percent) if change else "",
                change.verdict if change else "",
            )
        )
    return made


# ---- how it was measured ----


def made_with(records: list[Record]) -> list[tuple[str, list[str]]]:
    """What it was measured with, and by which clock; several values where there are."""
    measured = [r for r in records if r.experiment != "goal"]
    boards = list(dict.fromkeys(r.board for r in measured))
    tools = [
        (name, list(dict.fromkeys(r.tools[name] for r in measured if r.tools.get(name))))
        for name in TOOLS
    ]
    return [
        ("board" if len(boards) == 1 else "boards", [", ".join(boards)]),
        *((name, values) for name, values in tools if values),
        ("clock", list(dict.fromkeys(CLOCKS.get(board, OTHER_CLOCK) for board in boards))),
        ("repeats", [", ".join(str(n) for n in sorted({r.repeats for r in measured}))]),
    ]


def cases_of(records: list[Record]) -> list[tuple[str, list[str]]]:
    """All that was measured, by experiment; of very many cases, what they are made of."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        if record.experiment != "goal":
            found.setdefault(record.experiment, {})[record.case] = None
    return [(name, named(list(cases))) for name, cases in found.items()]


def named(cases: list[str]) -> list[str]:
    """The cases, or, of too many to be read, their parts with all values."""
    if len(cases) <= NAMED_MAX:
        return cases
    parts: dict[str, dict[str, None]] = {}
    for case in cases:
        for word in case.split():
            name, is_part, value = word.partition("=")
            parts.setdefault(name if is_part else "", {})[value if is_part else name] = None
    told = [f"{len(cases)} cases, made of:"]
    return told + [
        f"{name}={', '.join(values)}" if name else ", ".join(values)
        for name, values in parts.items()
    ]


def glossary(records: list[Record]) -> report.Rows:
    """What the metrics mean that were measured and need words."""
    there = {r.metric for r in records}
    known = [metric for name, metric in metrics.KNOWN.items() if name in there]
    return [[metric.title, metric.meaning] for metric in known if metric.meaning]


# ---- the file ----


def render(page: Page) -> str:
    """The page as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["broken"] = broken
    environment.filters["grouped"] = grouped
    environment.filters["kinds"] = kinds
    environment.filters["tone"] = tone
    return environment.get_template("report.html").render(
        page=page,
        figures=Markup(figures(page.charts)),
        plotly=Markup(get_plotlyjs().replace("</script", "<\\/script")),
    )


def figures(drawn: list[Chart]) -> str:
    """The charts' data for the page's script; nothing in it can end the element it is in."""
    listed = []
    for chart in drawn:
        whole = json.loads(chart.figure.to_json())
        whole["layout"].pop("template", None)
        listed.append({"data": whole["data"], "layout": whole["layout"]})
    return json.dumps(listed).replace("<", "\\u003c")


def broken(text: str) -> "Markup":
    """A heading that may be broken behind a slash, as browsers do by themselves in no word."""
    from markupsafe import Markup, escape

    return Markup("/<wbr>").join(escape(part) for part in text.split("/"))


def grouped(text: str) -> str:
    """Long whole numbers in groups of three digits."""
    return re.sub(
        r"(?<![\d.\w-])\d{5,}(?![\d\w])", lambda m: f"{int(m[0]):,}".replace(",", "\u202f"), text
    )


def kinds(table: Table) -> list[bool]:
    """Of each column, whether it holds numbers, which stand on the right."""
    return [
        index > 0 and all(_NUMBER.match(row[index]) for row in table.rows if len(row) > index)
        for index in range(len(table.columns))
    ]


def tone(cell: str) -> str:
    """The class of a cell that judges."""
    if cell.startswith("NOT") or cell == "worse":
        return "bad"
    return "good" if cell == "better" or cell.startswith("met") else ""
