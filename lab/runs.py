# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs of the bench: where their records lie, and which is which.

A run is named by its folder, its file of records, the name of its folder in out/ (a time,
or as much of it as is unambiguous), or by one of the words `latest`, `previous` (the last
one before it of the same kind) and `recorded` (docs/results.md as it is committed). Beside
another run, `latest` is the latest that has anything in common with that.
"""

import json
import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from . import recorded
from .errors import LabError
from .paths import OUT
from .records import FIELDS, SCHEMA, Record

FILE = "results.jsonl"
LATEST, PREVIOUS, RECORDED = "latest", "previous", "recorded"
_STAMP = re.compile(r"\d{8}-\d{6}")
_NEEDED = ("experiment", "board", "case", "metric", "value", "unit")
# What this was called in records of schema 1 has got a meaning of its own since.
_RENAMED_SINCE_1 = {"touches_per_byte": "accesses_per_byte"}


@dataclass(frozen=True)
class Run:
    """One run's records."""

    path: Path
    records: list[Record]
    when: float  # seconds since the epoch
    label: str = ""

    @property
    def name(self) -> str:
        """What a user knows it as."""
        return self.label or (self.path.parent.name if self.path.name == FILE else self.path.name)

    @property
    def date(self) -> str:
        """When it was, in local time."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))

    @cached_property
    def commit(self) -> str:
        """The tree's commit, as the records say."""
        return next((r.tools["commit"] for r in self.records if r.tools.get("commit")), "")

    @property
    def experiment(self) -> str:
        """What it measured, by its first record."""
        return self.records[0].experiment

    @cached_property
    def kind(self) -> tuple[str, ...]:
        """What has to be equal for two runs to be of one kind."""
        first = self.records[0]
        if first.experiment != "throughput":
            return (first.experiment,)
        level = re.findall(r"-O\w+", first.tools.get("flags", ""))
        return (first.experiment, first.board, first.tools.get("network", ""), *level[-1:])


def read(path: Path) -> Run:
    """A file of records; what is wrong with it is said by line."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise LabError(f"{path} is no file of records: {problem}") from problem
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    records = [_record(path, number, line) for number, line in lines]
    if not records:
        raise LabError(f"{path} holds no record")
    return Run(path, records, _time_of(path))


def _record(path: Path, number: int, line: str) -> Record:
    where = f"{path}, line {number}"
    try:
        whole = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise LabError(f"{where} is no record: {problem}") from problem
    if not isinstance(whole, dict):
        raise LabError(f"{where} is no record, but: {line[:60]}")
    if whole.get("schema", SCHEMA) not in range(1, SCHEMA + 1):
        raise LabError(f"{where} is of schema {whole['schema']!r}; this lab knows {SCHEMA}")
    unknown = sorted(set(whole) - set(FIELDS))
    if unknown:
        raise LabError(f"{where} is no record: it has a field {unknown[0]!r}")
    lacking = [name for name in _NEEDED if name not in whole]
    if lacking:
        raise LabError(f"{where} is no record: it has no {', '.join(lacking)}")
    record = Record(**whole)
    _check(where, record)
    if record.schema == 1:
        return replace(record, metric=_RENAMED_SINCE_1.get(record.metric, record.metric))
    return record


def _check(where: str, record: Record) -> None:
    for name in ("value", "spread"):
        if not _is_number(getattr(record, name)):
            raise LabError(f"{where} is no record: its {name} is {getattr(record, name)!r}")
    if record.spread < 0:
        raise LabError(f"{where} is no record: its spread is {record.spread!r}")
    for name in ("experiment", "board", "stack", "variant", "case", "metric", "unit"):
        if not isinstance(getattr(record, name), str):
            raise LabError(f"{where} is no record: its {name} is no text")
    if not isinstance(record.tools, dict) or not all(
        isinstance(told, str) for told in record.tools.values()
    ):
        raise LabError(f"{where} is no record: its tools are {record.tools!r}")


def _is_number(value: object) -> bool:
    """One that can be compared: JSON's NaN would be neither better nor worse than any, and
    a whole number may be beyond all others."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _time_of(path: Path) -> float:
    stamp = _STAMP.match(path.parent.name)
    if stamp:
        try:
            return time.mktime(time.strptime(stamp[0], "%Y%m%d-%H%M%S"))
        except ValueError:
            pass
    return path.stat().st_mtime


def files() -> list[Path]:
    """The files of records in out/, the oldest first."""
    return sorted(OUT.glob(f"*/{FILE}"), key=lambda path: (_time_of(path), path))


def readable() -> Iterator[Run | LabError]:
    """All runs in out/, or what is wrong with one, the oldest first."""
    for path in files():
        try:
            yield read(path)
        except (LabError, OSError) as problem:
            yield problem if isinstance(problem, LabError) else LabError(f"{path}: {problem}")


def before(run: Run) -> Run | None:
    """The last run in out/ that is of the same kind as this one and older."""
    for path in reversed(files()):
        if path.resolve() == run.path.resolve() or _time_of(path) > run.when:
            continue
        if _first_experiment(path) != run.experiment:
            continue
        try:
            other = read(path)
        except (LabError, OSError):
            continue  # a file that cannot be read is nobody's predecessor
        if other.kind == run.kind:
            return other
    return None


def _first_experiment(path: Path) -> str:
    """By its first line alone, as some files are long."""
    try:
        with path.open() as file:
            whole = json.loads(file.readline())
    except (OSError, ValueError):
        return ""
    return str(whole.get("experiment", "")) if isinstance(whole, dict) else ""


def pair(one: str, other: str) -> tuple[Run, Run]:
    """Two runs that a user names to be set side by side."""
    words = (LATEST, PREVIOUS)
    if one in words and other not in words:
        known = find(other)
        return find(one, known), known
    known = find(one)
    return known, find(other, None if one in words else known)


def find(name: str, beside: Run | None = None) -> Run:
    """The run that a user names, to be looked at beside another or by itself."""
    if name == RECORDED:
        page = recorded.latest()
        return Run(page.path, page.records, page.when, RECORDED)
    if name in (LATEST, PREVIOUS):
        return _by_order(name, beside)
    for path in (Path(name), OUT / name):
        if path.is_dir():
            if not (path / FILE).is_file():
                raise LabError(f"{path} holds no {FILE}: did its run end?")
            return read(path / FILE)
        if path.is_file():
            return read(path)
    return _by_stamp(name)


def _by_order(name: str, beside: Run | None) -> Run:
    known = files()
    if not known:
        raise LabError(f"there is no run in {OUT}; ./plumb bench makes one")
    run = _latest_like(beside) if beside else read(known[-1])
    if name == LATEST:
        return run
    older = before(run)
    if older is None:
        raise LabError(f"there is no run before {run.name} that is of its kind")
    return older


def _latest_like(run: Run) -> Run:
    """The latest in out/ that has a value of what this one has a value of."""
    values = set(map(_subject, run.records))
    for path in reversed(files()):
        if _first_experiment(path) == run.experiment:
            other = read(path)
            if not values.isdisjoint(map(_subject, other.records)):
                return other
    about = f"{run.experiment} on {run.records[0].board}"
    raise LabError(f"no run in {OUT} has anything in common with {run.name}, which is {about}")


def _subject(record: Record) -> tuple[str, ...]:
    return (record.experiment, record.board, record.stack, record.variant, record.case,
            record.metric)  # fmt: skip


def _by_stamp(name: str) -> Run:
    fitting = [path for path in files() if path.parent.name.startswith(name)]
    if len(fitting) == 1:
        return read(fitting[0])
    if fitting:
        names = ", ".join(path.parent.name for path in fitting)
        raise LabError(f"{name!r} can be any of: {names}")
    known = ", ".join(path.parent.name for path in files()[-5:]) or "none"
    raise LabError(f"{name!r} is no file, folder or run; the last runs in {OUT}: {known}")
