# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The charts of report.html, made of records and profiles; any experiment has these.

An experiment's own figures come from it; what is here is drawn of every run: bars with
spread per variant, where the instructions went, sizes, goals, what moved.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from . import metrics, plots, report
from .compare import Change, Key, percent_text
from .experiments.base import Table
from .goals import Verdict
from .records import Record
from .sizes import DESCRIPTORS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FUNCTIONS_MAX = 15  # with a colour of their own
LEAST_SHARE = 0.02  # of a transfer's instructions, to have one
MOVED_MAX = 24
GOALS_MAX = 40
OTHERS = "all others"
OTHER_NAMES = {"udp_echo": "UDP echo"}
PER_PACKET_ONLY = ("udp_echo",)  # its payload is so short that bytes mean nothing
VARIANTS_MAX = 6  # that stand beside each other; more lie below each other
KINDS = {"text_bytes": ".text", "rodata_bytes": ".rodata", "data_bytes": ".data",
         "bss_bytes": ".bss"}  # fmt: skip
ROW_PX, FRAME_PX = 30, 110


@dataclass(frozen=True)
class Chart:
    """A figure, what it is called, how it is to be read, and its numbers."""

    title: str
    figure: "Figure"
    note: str = ""
    numbers: Table | None = None
    is_wide: bool = False


def owner_of(record: Record) -> str:
    """Stack and variant, as far as they say something."""
    return Key(
        record.experiment, record.board, record.stack, record.variant, record.case, record.metric
    ).owner


def case_name(case: str) -> str:
    """What a reader calls it."""
    return (report.CASE_NAMES | OTHER_NAMES).get(case, case)


def case_order(case: str) -> tuple[int, str]:
    """Where it stands among others."""
    known = [*report.CASE_NAMES, *OTHER_NAMES]
    return (known.index(case) if case in known else len(known)), case


# ---- bars with spread ----


def of_transfers(records: list[Record], metric: str, note: str) -> Chart | None:
    """A group of bars per transfer, a bar per variant, whiskers for the spread."""
    found = [r for r in records if r.metric == metric and r.experiment == "throughput"]
    skipped = ("all", *(PER_PACKET_ONLY if metric != "instructions_per_packet" else ()))
    found = [r for r in found if r.case not in skipped]
    if not found:
        return None
    cases = sorted({r.case for r in found}, key=case_order)
    by_owner: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in found:
        by_owner[owner_of(record)][record.case] = record
    title = metrics.of(metric).title
    return _bars(title[0].upper() + title[1:], metric, cases, by_owner, note)


def _bars(
    title: str, metric: str, cases: list[str], by_owner: dict[str, dict[str, Record]], note: str
) -> Chart:
    rows = [
        [case_name(case), *(_cell(metric, values.get(case)) for values in by_owner.values())]
        for case in cases
    ]
    numbers = Table(title, ["", *by_owner], rows)
    if len(by_owner) > VARIANTS_MAX:
        return Chart(title, _lying(metric, cases, by_owner), note, numbers, is_wide=True)
    return Chart(title, _standing(metric, cases, by_owner), note, numbers)


def _lying(metric: str, cases: list[str], by_owner: dict[str, dict[str, Record]]) -> "Figure":
    """Many variants below each other, a bar for each transfer that they have."""
    from plotly.graph_objects import Bar, Figure

    owners = list(reversed(by_owner))  # the first on top
    figure = Figure()
    for case in reversed(cases):
        values = [by_owner[owner].get(case) for owner in owners]
        figure.add_trace(
            Bar(
                name=case_name(case),
                orientation="h",
                y=owners,
                x=[record.value if record else None for record in values],
                error_x={"type": "data", "array": [r.spread if r else 0 for r in values]},
            )
        )
    height = FRAME_PX + (10 + 9 * len(cases)) * len(owners)
    figure.update_layout(barmode="group", height=height, legend_traceorder="reversed")
    figure.update_xaxes(title=metrics.of(metric).title, rangemode="tozero")
    return figure


def _standing(
    metric: str, cases: list[str], by_owner: dict[str, dict[str, Record]]
) -> "Figure":
    """Few variants beside each other, in a group for each transfer."""
    from plotly.graph_objects import Bar, Figure

    figure = Figure()
    for owner, values in by_owner.items():
        figure.add_trace(
            Bar(
                name=owner,
                x=[case_name(case) for case in cases],
                y=[values[case].value if case in values else None for case in cases],
                error_y={
                    "type": "data",
                    "array": [values[case].spread if case in values else 0 for case in cases],
                },
            )
        )
    figure.update_layout(barmode="group", height=380, showlegend=len(by_owner) > 1)
    figure.update_yaxes(title=metrics.of(metric).title, rangemode="tozero")
    return figure


def _cell(metric: str, record: Record | None) -> str:
    if record is None:
        return "-"
    return metrics.with_spread(metric, record.value, record.spread)


def of_variants(records: list[Record], metric: str) -> Chart | None:
    """A group per board, a bar per variant: the median of the cases, whiskers over all."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    has_others = len({record.stack for record in records}) > 1
    for record in records:
        if record.metric == metric:
            name = f"{record.stack} {record.variant}" if has_others else record.variant
            values[name][record.board].append(record.value)
    if not values:
        return None
    from plotly.graph_objects import Bar, Figure

    boards = list(dict.fromkeys(board for by_board in values.values() for board in by_board))
    figure = Figure()
    rows: report.Rows = [[board] for board in boards]
    for owner, by_board in values.items():
        found = [sorted(by_board.get(board, ())) for board in boards]
        middle = [median(v) if v else None for v in found]
        above = [v[-1] - median(v) if v else 0 for v in found]
        below = [median(v) - v[0] if v else 0 for v in found]
        spread = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
        figure.add_trace(Bar(name=owner, x=boards, y=middle, error_y=spread))
        for row, one in zip(rows, found, strict=True):
            row.append(_range(metric, one))
    title = f"By variant: {metrics.of(metric).title}"
    figure.update_layout(barmode="group", height=420, showlegend=len(values) > 1)
    figure.update_yaxes(title=metrics.of(metric).title, rangemode="tozero")
    note = "The median of all cases of a variant; whiskers from the lowest to the highest."
    return Chart(title, figure, note, Table(title, ["", *values], rows))


def _range(metric: str, values: list[float]) -> str:
    if not values:
        return "-"
    number = metrics.number
    text = number(metric, median(values))
    if values[0] == values[-1]:
        return text
    return f"{text} ({number(metric, values[0])} to {number(metric, values[-1])})"


# ---- where the instructions went ----


def of_functions(profile: list[dict]) -> Chart | None:
    """A bar per transfer, made of the functions that executed its instructions."""
    per_byte = functions_per_byte(profile)
    if not per_byte:
        return None
    from plotly.graph_objects import Bar, Figure

    weight: Counter[str] = Counter()
    share: Counter[str] = Counter()
    for functions in per_byte.values():
        whole = sum(functions.values())
        weight.update(functions)
        share |= Counter({name: value / whole for name, value in functions.items()})
    worth = [name for name, part in share.most_common(FUNCTIONS_MAX) if part >= LEAST_SHARE]
    names = sorted(worth, key=lambda name: -weight[name])
    figure = Figure()
    bars = list(reversed(per_byte))  # the first on top
    for name in [*names, OTHERS]:
        figure.add_trace(
            Bar(
                name=name,
                orientation="h",
                y=bars,
                x=[
                    sum(v for n, v in per_byte[b].items() if n not in names)
                    if name == OTHERS
                    else per_byte[b].get(name, 0.0)
                    for b in bars
                ],
                hovertemplate="%{fullData.name}: %{x:.4f}<extra></extra>",
            )
        )
    figure.update_layout(barmode="stack", height=FRAME_PX + 60 + _row(bars) * len(bars))
    figure.update_xaxes(title="instructions per byte of payload")
    rows = [
        [name, *(f"{per_byte[bar].get(name, 0):.4f}" for bar in per_byte)]
        for name, _ in weight.most_common()
        if any(per_byte[bar].get(name, 0) >= 0.00005 for bar in per_byte)
    ]
    note = "What each function executed itself, idling left out, divided by the bytes of payload."
    title = "Instructions per byte, by function"
    return Chart(title, figure, note, Table(title, ["function", *per_byte], rows), is_wide=True)


def _row(bars: list[str]) -> int:
    return 2 * ROW_PX if len(bars) <= VARIANTS_MAX else ROW_PX


def functions_per_byte(profile: list[dict]) -> dict[str, dict[str, float]]:
    """Per transfer: instructions per byte of payload, by function."""
    executed: dict[str, Counter[str]] = defaultdict(Counter)
    moved: Counter[str] = Counter()
    for line in sorted(profile, key=lambda line: case_order(line["case"])):
        if line["case"] in PER_PACKET_ONLY:
            continue
        owner = [w for w in (line.get("stack"), line.get("variant")) if w not in _USUAL]
        bar = case_name(line["case"]) + (f" ({' '.join(owner)})" if owner else "")
        moved[bar] += line["transfer"]["bytes"]
        for function in line["functions"]:
            executed[bar][function["name"]] += function["instructions"]
    return {
        bar: {name: count / moved[bar] for name, count in functions.items() if count}
        for bar, functions in executed.items()
        if moved[bar]
    }


_USUAL = (None, "", "plumb", "default")


# ---- sizes ----


def of_sizes(records: list[Record]) -> Chart | None:
    """A bar per folder, made of code, constants and memory."""
    found = {
        (r.case, r.metric): r.value
        for r in records
        if r.experiment == "size" and (r.stack, r.variant) == ("plumb", "default")
    }
    beside = ("total", DESCRIPTORS)
    folders = list(dict.fromkeys(case for case, _ in found if case not in beside))
    if not folders:
        return None
    from plotly.graph_objects import Bar, Figure

    folders.sort(key=lambda folder: sum(found.get((folder, kind), 0) for kind in KINDS))
    figure = Figure()
    for kind, name in KINDS.items():
        values = [found.get((folder, kind), 0) for folder in folders]
        figure.add_trace(Bar(name=name, orientation="h", y=folders, x=values))
    figure.update_layout(barmode="stack", height=FRAME_PX + ROW_PX * len(folders))
    figure.update_xaxes(title="bytes")
    rows = [
        [folder, *(metrics.number(kind, found.get((folder, kind), 0)) for kind in KINDS)]
        for folder in [*reversed(folders), "total"]
    ]
    note = "The firmware at -Os, by the linker's map; packets and their buffers are not in it."
    title = "Size by folder"
    return Chart(title, figure, note, Table(title, ["", *KINDS.values()], rows), is_wide=True)


# ---- goals ----


def of_goals(verdicts: list[Verdict]) -> Chart | None:
    """A bar per goal: what was measured, as a part of its limit. Zero limits have none."""
    drawn = [v for v in verdicts if v.value is not None and v.limit and v.is_measurable]
    drawn = sorted(drawn, key=_part, reverse=True)[:GOALS_MAX]
    if not drawn:
        return None
    from plotly.graph_objects import Bar, Figure

    drawn.reverse()
    figure = Figure()
    for name, is_met in (("met", True), ("not met", False)):
        those = [v for v in drawn if v.is_met is is_met]
        figure.add_trace(
            Bar(
                name=name,
                orientation="h",
                y=[_goal_label(v) for v in those],
                x=[_part(v) for v in those],
                customdata=[v.measured for v in those],
                hovertemplate="%{y}<br>measured %{customdata}, %{x:.1f} %<extra></extra>",
            )
        )
    figure.add_vline(x=100, line_dash="dot")
    figure.update_layout(
        barmode="overlay", height=FRAME_PX + ROW_PX * len(drawn),
        yaxis={"categoryorder": "array", "categoryarray": [_goal_label(v) for v in drawn]},
    )  # fmt: skip
    figure.update_xaxes(title="% of the limit; for a least value, limit by measured")
    note = "Left of the line is better than asked for."
    if len(verdicts) > len(drawn):
        note += f" The {len(drawn)} nearest to their limit or beyond it, of {len(verdicts)}."
    return Chart("Goals, by how near they are to their limit", figure, note, is_wide=True)


def _part(verdict: Verdict) -> float:
    """How much of its limit a goal takes, in per cent; above 100 it is missed."""
    assert verdict.value is not None
    if verdict.is_upper:
        return 100 * verdict.value / verdict.limit
    return 100 * verdict.limit / verdict.value if verdict.value else 1000.0


def _goal_label(verdict: Verdict) -> str:
    text = f"{verdict.board} {verdict.what}"
    return text if len(text) <= 64 else f"{text[:61]}..."


# ---- what moved ----


def of_changes(moved: Iterable[Change]) -> Chart | None:
    """A bar per value that moved, the larger ones."""
    finite = [c for c in moved if abs(c.percent) < 1e6]
    drawn = sorted(finite, key=lambda c: abs(c.percent), reverse=True)[:MOVED_MAX]
    if not drawn:
        return None
    from plotly.graph_objects import Bar, Figure

    drawn.reverse()
    figure = Figure()
    for word in ("better", "worse", "changed"):
        those = [c for c in drawn if c.verdict == word]
        if those:
            figure.add_trace(
                Bar(
                    name=word,
                    orientation="h",
                    y=[change_label(c) for c in those],
                    x=[c.percent for c in those],
                    customdata=[percent_text(c.percent) for c in those],
                    hovertemplate="%{y}: %{customdata}<extra></extra>",
                )
            )
    figure.update_layout(
        barmode="overlay", height=FRAME_PX + ROW_PX * len(drawn),
        yaxis={"categoryorder": "array", "categoryarray": [change_label(c) for c in drawn]},
    )  # fmt: skip
    figure.update_xaxes(title="change in %")
    return Chart(
        "What moved most",
        figure,
        "Only what changed by more than its spread.",
        is_wide=True,
    )


def change_label(change: Change) -> str:
    """Short, and unambiguous within a run."""
    key = change.key
    owner = f" ({key.owner})" if key.owner != "default" else ""
    return f"{case_name(key.case)}{owner}: {metrics.of(key.metric).title}"


def colour(charts: list[Chart]) -> None:
    """One colour for a name, in all charts of a page; what is judged has its own."""
    plots.colour([chart.figure for chart in charts])
