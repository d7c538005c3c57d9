# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an experiment is, and what it is given to run with.

An experiment measures and says so in records; its tables and its plot are made of
records only, those of this run or of another read from a file. The runner does the
rest: tools, goals, the records' file, the pages, the exit status.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..records import Record

if TYPE_CHECKING:  # slow to import, and of no use to who only measures
    from plotly.graph_objects import Figure

Rows = list[list[str]]


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and text for every cell; a note follows it."""

    title: str
    columns: list[str]
    rows: Rows
    note: str = ""


@dataclass(frozen=True)
class Run:
    """What the user asked for, and where results go."""

    out: Path  # an existing folder
    is_quick: bool = False  # fewer compilers and optimisations; every goal's case is kept
    isas: tuple[str, ...] = ()  # only these; none named: all
    # Says what is being done, and by what part of the whole (1) it has advanced.
    step: Callable[[str, float], None] = field(default=lambda what, part: None)

    def wants(self, isa: str) -> bool:
        """Whether an ISA, or a board, is to be measured."""
        return not self.isas or isa in self.isas


class Experiment(ABC):
    """One question to the lab.

    `name` is the records' `experiment` field, the command's word, and what
    lab/tools.py knows as a user of a tool (`needed_by`).
    """

    name: str
    title: str  # of the page, and of the plot
    question: str  # what it answers, a sentence or two, for the page

    @abstractmethod
    def boards(self) -> tuple[str, ...]:
        """What --isa may name: the `board` fields it measures."""

    @abstractmethod
    def measure(self, run: Run) -> list[Record]:
        """Builds and measures everything `run` wants."""

    @abstractmethod
    def tables(self, records: list[Record]) -> list[Table]:
        """What is printed, and written to the page."""

    @abstractmethod
    def plot(self, records: list[Record]) -> "list[Figure]":
        """Figures, that one HTML file holds one below the other."""

    def answers(self, records: list[Record]) -> list[str]:
        """What the figures say, in sentences made of them; printed below the tables."""
        return []

    def lacks(self) -> frozenset[str]:
        """What this machine has not and a goal may need (its field `needs`): such a goal
        is shown as not measurable here and does not fail."""
        return frozenset()


def case_of(**parts: object) -> str:
    """A case as records spell it: `length=1460 offset=2 opt=O2 compiler=gcc`."""
    return " ".join(f"{name}={value}" for name, value in parts.items())


def parts_of(case: str) -> dict[str, str]:
    """The same taken apart; words without a `=` are left out."""
    return dict(word.split("=", 1) for word in case.split() if "=" in word)
