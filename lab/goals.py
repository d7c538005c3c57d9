# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The floors of bench/goals.json, and whether a run stands on them.

A goal names experiment, board, variant, case and metric of the records it judges, and
`at_most` or `at_least`. Its case may be a pattern (`length=1460 offset=* opt=O2
compiler=gcc`), or a list of them, and so may its variant: then the worst of the matching
records counts, and `of` says how many cases there have to be. `stack` is plumb unless it
says otherwise, `said` is what is printed for a long list. `needs` names what a
machine has to have for it, and `opt` the firmware's optimisation it is about.
"""

import json
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fnmatch import fnmatchcase

from .paths import ROOT
from .records import Record

GOALS = ROOT / "bench/goals.json"
# What plain `./plumb bench` measures by itself.
OF_THE_BENCH = ("throughput", "connections", "size")
DIGITS = Decimal("0.0001")


@dataclass(frozen=True)
class Verdict:
    """One floor, and what was measured; None: it was not."""

    what: str
    value: float | None
    limit: float
    is_upper: bool
    variant: str = "default"
    board: str = ""
    case: str = ""  # the worst one, of a pattern's; and its variant
    lacking: str = ""  # why it cannot be judged
    is_measurable: bool = True

    @property
    def is_met(self) -> bool:
        """Whether the measurement exists and is on the right side."""
        if self.value is None or self.lacking:
            return False
        return self.value <= self.limit if self.is_upper else self.value >= self.limit

    @property
    def is_failure(self) -> bool:
        """Whether the run has to end with a status that says so."""
        return self.is_measurable and not self.is_met

    @property
    def measured(self) -> str:
        """The value, rounded to its disadvantage."""
        return "-" if self.value is None else rounded(self.value, is_up=self.is_upper)

    @property
    def text(self) -> str:
        """`met by 0.3` and the like."""
        if not self.is_measurable:
            return f"not measurable here: {self.lacking}"
        if self.lacking or self.value is None:
            return f"NOT met: {self.lacking or 'not measured'}"
        distance = rounded(abs(self.limit - self.value), is_up=not self.is_met)
        return f"met by {distance}" if self.is_met else f"NOT met by {distance}"


def rounded(value: float, is_up: bool) -> str:
    """At most four digits after the point, in one direction."""
    exact = Decimal(repr(value)).quantize(DIGITS, ROUND_CEILING if is_up else ROUND_FLOOR)
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def load() -> list[dict]:
    """The goals as written."""
    return json.loads(GOALS.read_text())


def judge(records: list[Record], board: str, opt: str, connections: int) -> list[Verdict]:
    """Every goal of the plain bench that concerns this board and optimisation, judged."""
    return [
        verdict(goal, records, connections)
        for goal in load()
        if goal["experiment"] in OF_THE_BENCH
        and goal["board"] == board
        and goal.get("opt", opt) == opt
    ]


def judge_experiment(
    records: list[Record],
    experiment: str,
    boards: tuple[str, ...],
    lacks: frozenset[str] = frozenset(),
) -> list[Verdict]:
    """Every goal of an experiment on these boards, judged."""
    return [
        verdict(goal, records, lacks=lacks)
        for goal in load()
        if goal["experiment"] == experiment and goal["board"] in boards
    ]


def verdict(
    goal: dict,
    records: list[Record],
    connections: int = 0,
    lacks: frozenset[str] = frozenset(),
) -> Verdict:
    """One goal, judged on the worst of what it is about."""
    is_upper = "at_most" in goal
    limit = goal["at_most" if is_upper else "at_least"]
    limit += goal.get("plus_per_connection", 0) * connections
    found = [record for record in records if is_about(goal, record)]
    worst = (max if is_upper else min)(found, key=lambda record: record.value, default=None)
    is_measurable = goal.get("needs") not in lacks
    return Verdict(
        _what(goal, limit, is_upper),
        worst.value if worst else None,
        limit,
        is_upper,
        goal["variant"],
        goal["board"],
        _worst(goal, worst) if worst else "",
        _lacking(goal, found) if is_measurable else goal["needs"],
        is_measurable,
    )


def _worst(goal: dict, worst: Record) -> str:
    """Which of the records a goal judges was the worst, as far as it does not say itself."""
    words = [worst.variant] if worst.variant != goal["variant"] else []
    return " ".join(words + ([worst.case] if [worst.case] != patterns(goal) else []))


def is_about(goal: dict, record: Record) -> bool:
    """Whether a goal judges a record."""
    names = ("experiment", "board", "metric")
    return (
        all(getattr(record, name) == goal[name] for name in names)
        and record.stack == goal.get("stack", "plumb")
        and fnmatchcase(record.variant, goal["variant"])
        and any(fnmatchcase(record.case, pattern) for pattern in patterns(goal))
    )


def patterns(goal: dict) -> list[str]:
    """The cases a goal is about."""
    return [goal["case"]] if isinstance(goal["case"], str) else goal["case"]


def _lacking(goal: dict, found: list[Record]) -> str:
    cases = len({(record.case, record.variant) for record in found})
    wanted = goal.get("of", 1)
    if not cases:
        return "not measured"
    return "" if cases >= wanted else f"only {cases} of {wanted} cases measured"


def _what(goal: dict, limit: float, is_upper: bool) -> str:
    variant = "" if goal["variant"] in ("default", "*") else f", {goal['variant']}"
    sign = "≤" if is_upper else "≥"
    case = goal.get("said", ", ".join(patterns(goal)))
    return f"{case} {goal['metric'].replace('_', ' ')}{variant} {sign} {limit:g}"


def as_records(verdicts: list[Verdict], board: str, tools: dict[str, str]) -> list[Record]:
    """The verdicts as records of their own; none for what could not be measured here."""
    return [
        Record(
            "goal",
            v.board or board,
            v.what,
            "goal_met",
            float(v.is_met),
            "",
            variant=v.variant,
            tools=tools,
        )
        for v in verdicts
        if v.is_measurable
    ]
