# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The table of Plumb's variants, with a peer's beside them, from a run's records.

A row is a manner of moving bytes. Plumb's figure is the one of the variant of that name,
a peer's the one of its configuration's in that manner; the goal is that of
bench/goals.json.
"""

from dataclasses import dataclass, replace

from . import footprint, goals, lwip
from .records import Record

Rows = list[list[str]]
NOTE = (
    "By variant: instructions per payload byte, driver and application included, idling not; "
    "by register: each register of a load or store of several counts as an instruction; touches: "
    "payload bytes loaded plus those stored. "
    "*As if: the device verifies nothing here, and its word is not waited for. An echo is sent "
    "when the last one is back. lwIP: docs/lab.md says what each column is. Thumb: -Os, the "
    f"stack alone, without driver, board and application: {footprint.FEATURES}."
)
PER_BYTE = "instructions_per_byte"
BY_REGISTER = "instructions_by_register_per_byte"
PER_PACKET = "instructions_per_packet"
TOUCHES = "touches_per_byte"


@dataclass(frozen=True)
class Row:
    """One manner, and how it is named."""

    title: str
    manner: str  # Plumb's variant; empty: its default
    case: str
    metric: str = PER_BYTE
    digits: int = 3

    @property
    def variant(self) -> str:
        """Plumb's."""
        return self.manner or "default"

    def variant_of(self, configuration: str) -> str:
        """A peer's."""
        return f"{configuration}-{self.manner}" if self.manner else configuration


ROWS = (
    Row("TCP receive, read in place", "", "tcp_rx"),
    Row("TCP receive, copied", "copy", "tcp_rx"),
    Row("TCP receive, summed by GEM*", "hw-checksum", "tcp_rx"),
    Row("TCP transmit by copy", "", "tcp_tx"),
    Row("TCP transmit by reference", "reference", "tcp_tx"),
    Row("the same, summed by GEM", "hw-checksum", "tcp_tx"),
    Row("UDP echo, 64 bytes: instr.", "", "udp_echo", PER_PACKET, 0),
    Row("code + constants, Thumb: bytes", "size", "total", "linked_bytes", 0),
    Row("the same without fragments", "size-no-fragments", "total", "linked_bytes", 0),
    Row("the same without assertions", "size-no-asserts", "total", "linked_bytes", 0),
    Row("the same with everything", "size-everything", "total", "linked_bytes", 0),
    Row("a connection: bytes of RAM", "size", "connection", "ram_bytes", 0),
    Row("the same with everything", "size-everything", "connection", "ram_bytes", 0),
)


def _value(records: list[Record], stack: str, variant: str, row: Row) -> float | None:
    wanted = (stack, variant, row.case, row.metric)
    found = (r.value for r in records if (r.stack, r.variant, r.case, r.metric) == wanted)
    return next(found, None)


def _goal(row: Row, board: str, opt: str) -> float | None:
    about = (board, row.variant, row.case, row.metric)
    names = ("board", "variant", "case", "metric")
    for goal in goals.load():
        if tuple(goal[name] for name in names) == about and goal.get("opt", opt) == opt:
            return goal["at_most"]
    return None


def _text(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _peers(records: list[Record]) -> list[lwip.Configuration]:
    measured = {r.variant for r in records if r.stack == "lwip"}
    return [one for one in lwip.CONFIGURATIONS if one.name in measured]


def _figures(records: list[Record], row: Row) -> list[float | None]:
    """Of a row: the peers', then Plumb's."""
    theirs = [
        _value(records, "lwip", row.variant_of(one.name), row) for one in _peers(records)
    ]
    return [*theirs, _value(records, "plumb", row.variant, row)]


def table(records: list[Record], board: str, opt: str) -> tuple[list[str], Rows]:
    """A row for each manner, a column for each stack that was measured, and the goals."""
    rows = []
    for row in ROWS:
        figures = _figures(records, row)
        if any(figure is not None for figure in figures):
            goal = _goal(row, board, opt)
            told = [_text(figure, row.digits) for figure in figures]
            rows.append([row.title, *told, "-" if goal is None else f"{goal:g}"])
    titles = [one.title for one in _peers(records)]
    return ["instr/byte", *titles, "Plumb", "goal"], rows


def by_register(records: list[Record]) -> tuple[list[str], Rows]:
    """The same where each register of a load or store of several counts as an instruction."""
    return _of_metric(records, BY_REGISTER, "instr/byte, by register")


def touches(records: list[Record]) -> tuple[list[str], Rows]:
    """How often the processor touched each byte of payload."""
    return _of_metric(records, TOUCHES, "touches/byte")


def _of_metric(records: list[Record], metric: str, title: str) -> tuple[list[str], Rows]:
    rows = []
    for row in ROWS:
        if row.metric == PER_BYTE:
            figures = _figures(records, replace(row, metric=metric))
            if any(figure is not None for figure in figures):
                rows.append([row.title, *(_text(figure, row.digits) for figure in figures)])
    return [title, *(one.title for one in _peers(records)), "Plumb"], rows
