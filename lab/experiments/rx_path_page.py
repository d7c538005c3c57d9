# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What is said of rx-path's records: beside what was measured in 2008, step by step; which of
its effects the model reproduces; what each parameter of the model does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import plots
from ..memory import load
from ..records import Record
from . import chain
from . import rx_path_steps as steps
from .base import Table, case_of, parts_of
from .firmware import BOARD
from .found import Found, number, ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BOARDS = ("ATSTK1000", "ATNGW100")
LEON = "GR712RC"
THEN_STEPS = ("baseline", "offset", "cacheable", "fragments")
# Linux, AP7000, 2008: TCP receive and transmit in Mbit/s, datagrams lost at 60 Mbit/s in %.
THEN: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "ATSTK1000": {
        "baseline": (54.6, 69.1, 14, 0),
        "offset": (54.5, 71.3, 17, 0),
        "cacheable": (58.8, 70.3, 0.039, 0),
        "fragments": (66.1, 65.5, 0, 0),
    },
    "ATNGW100": {
        "baseline": (43.6, 56.3, 44, 0),
        "offset": (43.6, 55.3, 50, 0),
        "cacheable": (47.6, 55.7, 46, 0),
        "fragments": (50.7, 50.9, 19, 0),
    },
}
COLUMN = {"tcp_rx": 0, "tcp_tx": 1, "udp_rx": 2, "udp_tx": 3}
SMALL_CHANGE = 2.0  # percent: below, nothing happened
CAUSES = ("base", "fetch", "load", "uncached", "store", "maintenance", "device")
Pair = tuple[float | None, ...]
NOTICED = 1.0  # percent of a total that a changed parameter has to move to be shown


@dataclass(frozen=True)
class Seen:
    """The records, asked for as this page needs them."""

    found: Found

    def value(self, variant: str, metric: str, case: str) -> float | None:
        """One value."""
        return self.found.worst(BOARD, ("plumb", variant), metric, case)

    def rate(self, variant: str, case: str, board: str) -> float | None:
        """Modelled Mbit/s."""
        return self.value(variant, steps.THROUGHPUT, f"{case} {case_of(memory=board)}")

    def cycles(self, variant: str, case: str, board: str) -> float | None:
        """Modelled cycles per byte."""
        return self.value(variant, steps.PER_BYTE, f"{case} {case_of(memory=board)}")

    def change(self, to: str, of: str, case: str, board: str) -> float | None:
        """By how many percent a rate is above another step's."""
        new, old = self.rate(to, case, board), self.rate(of, case, board)
        return None if new is None or not old else 100 * (new / old - 1)


def _then(board: str, step: str, case: str) -> float:
    return THEN[board][step][COLUMN[case]]


def _then_change(to: str, of: str, case: str, board: str) -> float:
    return 100 * (_then(board, to, case) / _then(board, of, case) - 1)


def _variants() -> list[str]:
    return [step.variant for step in steps.STEPS]


# ---- tables ----


def tables(records: list[Record]) -> list[Table]:
    """All of them."""
    seen = Seen(Found(records))
    return [
        _counted_table(seen),
        *(_board_table(seen, board) for board in (*BOARDS, LEON)),
        _then_table(seen),
        _saved_table(seen),
        _loss_table(seen),
        _cause_table(seen, "tcp_rx"),
        _cause_table(seen, "tcp_tx"),
        _default_table(seen),
        _chain_table(records),
        _sensitivity_table(records),
    ]


def _counted_table(seen: Seen) -> Table:
    rows = [
        [
            variant,
            *(
                number(seen.value(variant, metric, case), 3)
                for case in steps.BYTES
                for metric in steps.COUNTED
            ),
        ]
        for variant in _variants()
    ]
    kinds = ("instr/byte", "touches/byte")
    columns = [f"{case} {what}" for case in steps.BYTES for what in kinds]
    note = (
        "Counted, not modelled. Of buffers of 128 bytes headers count as touched payload, as "
        "nothing tells a frame's first buffer from the others."
    )
    return Table("Instructions and touches", ["", *columns], rows, note)


def _board_table(seen: Seen, board: str) -> Table:
    rows = []
    for variant in _variants():
        row = [variant]
        for case in steps.BYTES:
            row.append(number(seen.cycles(variant, case, board), 3))
            row.append(number(seen.rate(variant, case, board), 1))
        rows.append(row)
    columns = [f"{case} {what}" for case in steps.BYTES for what in ("cycles/byte", "Mbit/s")]
    bus = next(c.boards[board].value for c in map(load, steps.CORES) if board in c.boards)
    return Table(f"Modelled: {board}, SDRAM of {bus} bits", ["", *columns], rows)


def _then_table(seen: Seen) -> Table:
    rows = []
    for board in BOARDS:
        for step in _variants():
            row = [board, step]
            for case in ("tcp_rx", "tcp_tx"):
                now = ratio(seen.rate(step, case, board), seen.rate("baseline", case, board), 3)
                then = "-"
                if step in THEN[board]:
                    then = ratio(_then(board, step, case), _then(board, "baseline", case), 3)
                row += [then, now]
            rows.append(row)
    columns = ["", ""]
    for case in ("TCP receive", "TCP transmit"):
        columns += [f"{case}, measured in 2008", f"{case}, modelled"]
    return Table("Rates as multiples of the baseline's", columns, rows)


def _then_cycles(board: str, step: str, case: str) -> float:
    return load("ap7000").clock_mhz * 8 / _then(board, step, case)


def _saved_table(seen: Seen) -> Table:
    rows = []
    for board in BOARDS:
        for before, after in zip(THEN_STEPS, THEN_STEPS[1:], strict=False):
            row = [board, f"{before} to {after}"]
            for case in ("tcp_rx", "tcp_tx"):
                old, new = seen.cycles(before, case, board), seen.cycles(after, case, board)
                then = _then_cycles(board, before, case) - _then_cycles(board, after, case)
                row += [number(then, 2), number(None if None in (old, new) else old - new, 2)]
            rows.append(row)
    columns = ["", ""]
    for case in ("TCP receive", "TCP transmit"):
        columns += [f"{case}, 2008", f"{case}, modelled"]
    note = (
        "2008: the clock divided by the rate that was measured, which takes the processor for "
        "the limit. A saving does not depend on what else a stack does, as a ratio does."
    )
    return Table("Cycles saved per byte by each step", columns, rows, note)


def _loss_table(seen: Seen) -> Table:
    rows = []
    for variant in _variants():
        row = [variant]
        for case in ("udp_rx", "udp_tx"):
            for board in BOARDS:
                then = THEN[board].get(variant)
                row.append("-" if then is None else f"{then[COLUMN[case]]:g}")
                loss = seen.value(variant, "modelled_udp_loss", f"{case} {case_of(memory=board)}")
                row.append(number(loss, 1))
            row.append(number(seen.value(variant, "udp_loss", case), 1))
        rows.append(row)
    columns = [""]
    for case in ("receive", "transmit"):
        for board in BOARDS:
            columns += [f"{case} {board}, 2008", "modelled"]
        columns.append(f"{case} emulated, TAP")
    note = (
        "Modelled: what a processor that is saturated below 60 Mbit/s has to drop. Emulated: what "
        "iperf reports; it tells how fast this host emulates, and needs root."
    )
    return Table("Datagrams lost at 60 Mbit/s offered, %", columns, rows, note)


def _cause_table(seen: Seen, case: str) -> Table:
    rows = []
    for board in BOARDS:
        for variant in _variants():
            values = [
                seen.value(
                    variant, f"modelled_{cause}_cycles_per_byte", f"{case} {case_of(memory=board)}"
                )
                for cause in CAUSES
            ]
            rows.append([board, variant, *(number(value, 3) for value in values)])
    return Table(f"Modelled: where the cycles of a byte go, {case}", ["", "", *CAUSES], rows)


def _default_table(seen: Seen) -> Table:
    rows = []
    for variant in _variants():
        row = [variant]
        for metric in ("default_to_step", "copy_break_to_step"):
            for case in ("tcp_rx", "tcp_tx"):
                for board in BOARDS:
                    name = f"{case} {case_of(memory=board, fetches='free')}"
                    row.append(number(seen.value(variant, metric, name), 3))
        rows.append(row)
    columns = [""]
    for default in ("default", "copy-break"):
        for case in ("receive", "transmit"):
            columns += [f"{default} to step, {case}, {board}" for board in BOARDS]
    note = (
        "Rates, as if no instruction were fetched twice: how often code misses the cache depends "
        "on where the linker put it, by up to 5 %. `copy-break` is the default of buffers that "
        "hold no whole frame, and `default` has buffers that do."
    )
    return Table("The defaults against every step", columns, rows, note)


def _chain_table(records: list[Record]) -> Table:
    rows = []
    chosen = [r for r in records if r.case.startswith("chain ")]
    for board in dict.fromkeys(parts_of(r.case)["memory"] for r in chosen):
        for caches in chain.CACHES:
            rows += _chain_rows(chosen, board, caches)
    columns = ["", "caches", "assembly, cycles/byte"]
    columns += [f"C by halves -{opt}, to assembly" for opt in chain.OPTS]
    columns += [f"Plumb's C -{opt}, to assembly" for opt in chain.OPTS]
    then = ", ".join(f"-{o} {chain.THEN[o] / chain.THEN['asm']:.2f}" for o in chain.OPTS)
    return Table(
        "Modelled: the checksum of a chain of four buffers (eCos, 2000), ARMv5 code",
        columns,
        rows,
        f"Measured in 2000, portable C to assembly: {then}.",
    )


def _chain_rows(chosen: list[Record], board: str, caches: str) -> list[list[str]]:
    values = {}
    for record in chosen:
        parts = parts_of(record.case)
        if (parts["memory"], parts["caches"]) == (board, caches):
            values[record.stack, record.variant, parts["opt"]] = record.value
    asm = values.get(("plumb", "asm", chain.ASM_OPT))
    row = [board, caches, number(asm, 2)]
    for routine in (("simple", "halves"), ("plumb", "c")):
        row += [ratio(values.get((*routine, opt)), asm) for opt in chain.OPTS]
    return [row]


# ---- what each parameter does ----


def _sensitivity_table(records: list[Record]) -> Table:
    values = _changed(records)
    rows = []
    for change in dict.fromkeys(change for _, _, change in values):
        if change == "unchanged":
            continue
        row = [change]
        moved = []
        for variant in steps.SENSITIVE:
            for case in ("tcp_rx", "tcp_tx"):
                now, was = (values.get((variant, case, c)) for c in (change, "unchanged"))
                moved.append(100 * (now / was - 1) if now and was else 0.0)
        gain = _gain(values, change)
        if max(abs(m) for m in moved) >= NOTICED:
            rows.append([*row, *(f"{m:+.1f}" for m in moved), number(gain, 2)])
    columns = ["changed to"]
    columns += [f"{v} {c}, %" for v in steps.SENSITIVE for c in ("tcp_rx", "tcp_tx")]
    columns.append("receive, copy-break to baseline")
    note = (
        f"Cycles per byte on {steps.SENSITIVE_BOARD}, one parameter halved, doubled, taken away "
        f"or turned round; shown is what moves a total by {NOTICED:g} % or more. `sdram.bus_bits` "
        "of 16 is the other board."
    )
    return Table("Modelled: what each parameter does", columns, rows, note)


def _changed(records: list[Record]) -> dict[tuple[str, str, str], float]:
    found = {}
    for record in records:
        case, is_changed, change = record.case.partition(" changed ")
        if is_changed and record.metric == steps.PER_BYTE:
            found[record.variant, case.split()[0], change] = record.value
    return found


def _gain(values: dict[tuple[str, str, str], float], change: str) -> float | None:
    first, last = (values.get((v, "tcp_rx", change)) for v in steps.SENSITIVE)
    return first / last if first and last else None


# ---- in words ----


@dataclass(frozen=True)
class Effect:
    """Something that was seen in 2008, as a number per board, and the model's."""

    what: str
    then: tuple[float, ...]
    now: tuple[float | None, ...]
    is_same: Callable[[float, float], bool]
    why: str = ""  # said if it is not reproduced

    def text(self, year: str = "2008") -> str:
        """A sentence, or nothing if it was not measured."""
        known = [value for value in self.now if value is not None]
        if len(known) < len(self.now):
            return ""
        is_there = all(self.is_same(a, b) for a, b in zip(self.then, known, strict=True))
        verdict = "reproduced" if is_there else "not reproduced"
        then, now = (
            " and ".join(f"{value:+.1f} %" for value in values) for values in (self.then, known)
        )
        why = f" {self.why}" if self.why and not is_there else ""
        return f"{self.what}: {then} in {year}, {now} modelled: {verdict}.{why}"


def _same_direction(then: float, now: float) -> bool:
    def direction(value: float) -> int:
        return 0 if abs(value) < SMALL_CHANGE else 1 if value > 0 else -1

    return direction(then) == direction(now)


def _same_sign(then: float, now: float) -> bool:
    return (then > 0) == (now > 0)


def _step(seen: Seen, what: str, of: str, to: str, case: str, why: str = "") -> Effect:
    return Effect(
        what,
        tuple(_then_change(to, of, case, board) for board in BOARDS),
        tuple(seen.change(to, of, case, board) for board in BOARDS),
        _same_direction,
        why=why,
    )


def effects(seen: Seen) -> list[Effect]:
    """Each on the board with 32 bits and the one with 16; what lies between the two last."""
    rx, tx = "tcp_rx", "tcp_tx"
    return [
        _step(
            seen,
            "Offset, TCP receive",
            "baseline",
            "offset",
            rx,
            "An AP7000 loads misaligned words by itself (32003, 6.2.6), so its copy did not mind; "
            "the copy here is a strict processor's, which shifts words where the two sides differ.",
        ),
        _step(seen, "Cached buffers, TCP receive", "offset", "cacheable", rx),
        _step(seen, "No copy, TCP receive", "cacheable", "fragments", rx),
        _step(seen, "All three steps, TCP receive", "baseline", "fragments", rx),
        _step(
            seen,
            "No copy, TCP transmit",
            "cacheable",
            "fragments",
            tx,
            "There a chain of fragments was costlier for an acknowledgement than a linear buffer; "
            "here it is one packet of the same kind either way, which is not copied.",
        ),
        _between("16 bits against 32 at the baseline, TCP receive", _then_narrow, _narrow(seen)),
        _between(
            "What the 16-bit board gained more than the other by not copying, TCP receive",
            lambda: _then_more("fragments", "cacheable"),
            _more(seen, "fragments", "cacheable"),
        ),
        _between(
            "What it gained more by all three, TCP receive",
            lambda: _then_more("fragments", "baseline"),
            _more(seen, "fragments", "baseline"),
        ),
        _loss(seen),
    ]


def _between(what: str, then: Callable[[], float], now: float | None) -> Effect:
    return Effect(what, (then(),), (now,), _same_sign)


def _then_narrow() -> float:
    wide, narrow = (_then(board, "baseline", "tcp_rx") for board in BOARDS)
    return 100 * (narrow / wide - 1)


def _narrow(seen: Seen) -> float | None:
    wide, narrow = (seen.rate("baseline", "tcp_rx", board) for board in BOARDS)
    return 100 * (narrow / wide - 1) if wide and narrow else None


def _then_more(to: str, of: str) -> float:
    wide, narrow = (_then_change(to, of, "tcp_rx", board) for board in BOARDS)
    return narrow - wide


def _more(seen: Seen, to: str, of: str) -> float | None:
    wide, narrow = (seen.change(to, of, "tcp_rx", board) for board in BOARDS)
    return None if wide is None or narrow is None else narrow - wide


def _loss(seen: Seen) -> Effect:
    return Effect(
        "Datagrams lost by the baseline, receiving at 60 Mbit/s",
        tuple(THEN[board]["baseline"][COLUMN["udp_rx"]] for board in BOARDS),
        tuple(
            seen.value("baseline", "modelled_udp_loss", f"udp_rx {case_of(memory=board)}")
            for board in BOARDS
        ),
        _same_direction,
        why=(
            "This stack carries more than is offered even so: what Linux did beside the driver's "
            "part is not there."
        ),
    )


def _left_open(seen: Seen) -> str:
    """What 2008 did not try."""
    parts = []
    for case, name in (("tcp_rx", "receive"), ("tcp_tx", "transmit")):
        changes = [seen.change("copy-break", "fragments", case, board) for board in BOARDS]
        if None not in changes:
            parts.append(f"TCP {name} {' and '.join(f'{c:+.1f} %' for c in changes)}")
    return f"A copy of small frames alone, on top, modelled: {', '.join(parts)}." if parts else ""


def _chain_effects(records: list[Record]) -> list[Effect]:
    """What was seen of portable C in 2000; here with both caches, and with none."""
    costs = {(r.stack, r.variant, r.case): r.value for r in records}

    def cost(routine: tuple[str, str], opt: str, caches: str) -> float | None:
        about = {"memory": BOARDS[0], "caches": caches, "opt": opt, "compiler": chain.COMPILER}
        return costs.get((*routine, f"chain {case_of(**about)}"))

    def more(of: tuple[tuple[str, str], str], to: tuple[tuple[str, str], str]) -> Pair:
        pairs = [(cost(*of, caches), cost(*to, caches)) for caches in ("both", "none")]
        return tuple(100 * (a / b - 1) if a and b else None for a, b in pairs)

    halves, asm = ("simple", "halves"), ("plumb", "asm")
    then = chain.THEN
    return [
        Effect(
            "Checksum of a chain, portable C at -O2 against assembly, caches on and off",
            (100 * (then["O2"] / then["asm"] - 1),) * 2,
            more((halves, "O2"), (asm, chain.ASM_OPT)),
            _same_direction,
        ),
        Effect(
            "The same C at -O2 against -O0",
            (100 * (then["O2"] / then["O0"] - 1),) * 2,
            more((halves, "O2"), (halves, "O0")),
            _same_direction,
            why="It was the compiler of then; no memory makes it so.",
        ),
    ]


def answers(records: list[Record]) -> list[str]:
    """Which of the effects of 2008 the model shows, in sentences made of the figures; on the
    board with 32 bits, and on the one with 16."""
    seen = Seen(Found(records))
    told = [*(effect.text() for effect in effects(seen)), _left_open(seen)]
    told += [effect.text("2000") for effect in _chain_effects(records)]
    return [sentence for sentence in told if sentence]


def plot(records: list[Record]) -> "list[Figure]":
    """Where the cycles of a received and of a sent byte go, and the rates then and now."""
    seen = Seen(Found(records))
    figures = []
    for case in ("tcp_rx", "tcp_tx"):
        for board in BOARDS:
            series = {
                "measured in 2008": [_relative_then(board, s, case) for s in _variants()],
                "modelled": [_relative(seen, board, s, case) for s in _variants()],
            }
            title = f"{case}, {board}: rate as a multiple of the baseline's"
            figures.append(plots.bars(title, "", "", _variants(), series))
    return figures


def _relative_then(board: str, step: str, case: str) -> float | None:
    if step not in THEN[board]:
        return None
    return _then(board, step, case) / _then(board, "baseline", case)


def _relative(seen: Seen, board: str, step: str, case: str) -> float | None:
    now, base = seen.rate(step, case, board), seen.rate("baseline", case, board)
    return now / base if now and base else None
