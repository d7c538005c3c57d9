# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurements as records: one JSON object each, one a line."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles

SCHEMA = 2


@dataclass(frozen=True)
class Record:
    """One measurement; `spread` is the interquartile range in the value's unit."""

    experiment: str
    board: str
    case: str
    metric: str
    value: float
    unit: str
    repeats: int = 1
    spread: float = 0.0
    stack: str = "plumb"
    variant: str = "default"
    tools: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA
    rounding: float = 0.0  # how far a value read from a page may be off; in no file


FIELDS = (
    "schema experiment board stack variant case metric value unit repeats spread tools".split()
)


def spread_of(values: list[float]) -> float:
    """The interquartile range; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    low, _, high = quantiles(values, n=4, method="inclusive")
    return high - low


def of_values(values: list[float], **about: object) -> Record:
    """A record of the median of several measurements."""
    return Record(
        value=round(median(values), 6),
        spread=round(spread_of(values), 6),
        repeats=len(values),
        **about,  # type: ignore[arg-type]
    )


def write(path: Path, records: Iterable[Record]) -> None:
    """Writes records, fields in the order of the schema."""
    with path.open("w") as file:
        for record in records:
            whole = asdict(record)
            file.write(json.dumps({name: whole[name] for name in FIELDS}) + "\n")


def read(path: Path) -> list[Record]:
    """Reads what write() wrote."""
    return [Record(**json.loads(line)) for line in path.read_text().splitlines() if line]


def find(records: Iterable[Record], metric: str, case: str) -> Record | None:
    """The one measurement of a metric in a case."""
    return next((r for r in records if r.metric == metric and r.case == case), None)
