# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Records, looked up: what tables and plots are made of."""

from collections import defaultdict
from collections.abc import Iterable
from fnmatch import fnmatchcase

from ..records import Record


class Found:
    """Records of one experiment by board, stack, variant and metric."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by: dict[tuple[str, str, str, str], list[Record]] = defaultdict(list)
        for record in records:
            key = (record.board, record.stack, record.variant, record.metric)
            self._by[key].append(record)

    def boards(self) -> list[str]:
        """In the order in which they were measured."""
        return list(dict.fromkeys(board for board, *_ in self._by))

    def routines(self, board: str, metric: str) -> list[tuple[str, str]]:
        """Stack and variant of all that a metric was measured of."""
        return [(s, v) for b, s, v, m in self._by if (b, m) == (board, metric)]

    def of(self, board: str, routine: tuple[str, str], metric: str, case: str) -> list[Record]:
        """The records whose case fits a pattern."""
        found = self._by.get((board, *routine, metric), ())
        return [record for record in found if fnmatchcase(record.case, case)]

    def worst(
        self, board: str, routine: tuple[str, str], metric: str, *cases: str
    ) -> float | None:
        """The highest value of the cases that fit any of the patterns."""
        values = [r.value for case in cases for r in self.of(board, routine, metric, case)]
        return max(values, default=None)


def number(value: float | None, digits: int) -> str:
    """A cell of a table."""
    return "-" if value is None else f"{value:.{digits}f}"


def ratio(value: float | None, to: float | None, digits: int = 2) -> str:
    """A cell of a table, by comparison."""
    return "-" if value is None or not to else f"{value / to:.{digits}f}"
