# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of experiments, and the colours of all figures; lab/page.py puts them on a page."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Told apart on white and on black, also by most who see fewer colours.
COLOURS = (
    "#4269d0", "#e07b39", "#2f9e8f", "#d1495b", "#8d6fc9", "#9a7b4f",
    "#3d9be0", "#c9a227", "#6c8f3c", "#c45ab3", "#4f7f9b", "#b5651d",
    "#7a5ea8", "#2e7d5b", "#b86b8f", "#6f6f2e",
)  # fmt: skip
# What is judged looks the same on every page.
JUDGED = {"met": "#2f9e6f", "better": "#2f9e6f", "not met": "#d1495b", "worse": "#d1495b"}
NEUTRAL = {"changed": "#8a8f98", "all others": "#8a8f98"}


def lines(
    title: str, x: str, y: str, curves: dict[str, list[tuple[float, float]]]
) -> "Figure":
    """Curves by name over a logarithmic abscissa, each value marked."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for name, points in curves.items():
        across, up = zip(*points, strict=True)
        figure.add_trace(Scatter(x=across, y=up, name=name, mode="lines+markers"))
    figure.update_xaxes(type="log", tickvals=sorted({x for p in curves.values() for x, _ in p}))
    return _titled(figure, title, x, y)


def bars(
    title: str, x: str, y: str, groups: list[str], series: dict[str, list[float | None]]
) -> "Figure":
    """Groups of bars; each series has a value, or none, for each group."""
    from plotly.graph_objects import Bar, Figure

    figure = Figure([Bar(x=groups, y=values, name=name) for name, values in series.items()])
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")  # also where all of them look like numbers
    return _titled(figure, title, x, y)


def _titled(figure: "Figure", title: str, x: str, y: str) -> "Figure":
    figure.update_layout(title=title, height=420)
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y, rangemode="tozero")
    return figure


def colour(figures: "list[Figure]") -> None:
    """One colour for a name, in all figures of a page."""
    fixed = JUDGED | NEUTRAL
    names = dict.fromkeys(trace.name for figure in figures for trace in figure.data)
    free = [name for name in names if name not in fixed]
    colours = fixed | {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(free)}
    for figure in figures:
        for trace in figure.data:
            part = trace.line if trace.type == "scatter" else trace.marker
            part.color = colours[trace.name]
