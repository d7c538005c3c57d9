# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures, made of records, in one HTML file that needs nothing else to be looked at."""

import html
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b",
    "#17becf", "#e377c2", "#bcbd22", "#7f7f7f", "#0b3d91", "#e6ab02",
)  # fmt: skip

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 1.5em; }}</style></head>
<body>
<h1>{title}</h1>
{paragraphs}
{figures}
</body>
</html>
"""


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
    return _titled(figure, title, x, y)


def _titled(figure: "Figure", title: str, x: str, y: str) -> "Figure":
    figure.update_layout(title=title, height=420, template="plotly_white")
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y, rangemode="tozero")
    return figure


def _colour(figures: "list[Figure]") -> None:
    """One colour for a name, in all figures of a page."""
    names = dict.fromkeys(trace.name for figure in figures for trace in figure.data)
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(names)}
    for figure in figures:
        for trace in figure.data:
            part = trace.line if trace.type == "scatter" else trace.marker
            part.color = colours[trace.name]


def write(path: Path, title: str, sentences: list[str], figures: "list[Figure]") -> None:
    """Writes the page; the library that draws is in it once."""
    _colour(figures)
    drawn = [
        figure.to_html(full_html=False, include_plotlyjs=index == 0)
        for index, figure in enumerate(figures)
    ]
    paragraphs = [f"<p>{html.escape(sentence)}</p>" for sentence in sentences]
    path.write_text(
        _PAGE.format(
            title=html.escape(title), paragraphs="\n".join(paragraphs), figures="\n".join(drawn)
        )
    )
