# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The floors of bench/goals.json, and whether a run stands on them."""

import json
from dataclasses import dataclass
from pathlib import Path

from .paths import ROOT
from .records import Record

GOALS = ROOT / "bench/goals.json"


@dataclass(frozen=True)
class Verdict:
    """One floor, and what was measured; None: it was not."""

    what: str
    value: float | None
    limit: float
    is_upper: bool
    variant: str = "default"

    @property
    def is_met(self) -> bool:
        """Whether the measurement exists and is on the right side."""
        if self.value is None:
            return False
        return self.value <= self.limit if self.is_upper else self.value >= self.limit

    @property
    def text(self) -> str:
        """`met by 0.3` and the like."""
        if self.value is None:
            return "NOT met: not measured"
        distance = abs(self.limit - self.value)
        return f"met by {distance:g}" if self.is_met else f"NOT met by {distance:g}"


def load(path: Path = GOALS) -> list[dict]:
    """The goals as written."""
    return json.loads(path.read_text())


def judge(records: list[Record], board: str, opt: str, connections: int) -> list[Verdict]:
    """Every goal that concerns this board and optimisation, judged."""
    return [
        _verdict(goal, records, connections)
        for goal in load()
        if goal["board"] == board and goal.get("opt", opt) == opt
    ]


def _verdict(goal: dict, records: list[Record], connections: int) -> Verdict:
    names = ("experiment", "board", "variant", "case", "metric")
    value = next(
        (r.value for r in records if all(getattr(r, name) == goal[name] for name in names)), None
    )
    is_upper = "at_most" in goal
    limit = goal["at_most" if is_upper else "at_least"]
    limit += goal.get("plus_per_connection", 0) * connections
    sign = "≤" if is_upper else "≥"
    variant = "" if goal["variant"] == "default" else f", {goal['variant']}"
    what = f"{goal['case']} {goal['metric'].replace('_', ' ')}{variant} {sign} {limit:g}"
    measured = None if value is None else round(value, 4)
    return Verdict(what, measured, limit, is_upper, goal["variant"])


def as_records(verdicts: list[Verdict], board: str, tools: dict[str, str]) -> list[Record]:
    """The verdicts as records of their own."""
    return [
        Record(
            "goal", board, v.what, "goal_met", float(v.is_met), "", variant=v.variant, tools=tools
        )
        for v in verdicts
    ]
