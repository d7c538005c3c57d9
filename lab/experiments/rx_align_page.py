# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What is said of received frames and their alignment: tables, figures, answers.

Made of the records of rx_align.py and of what RTEMS on LEON3 (2005) was measured at.
"""

from typing import TYPE_CHECKING

from .. import plots
from ..records import Record
from .base import Table, case_of, parts_of
from .firmware import BOARD
from .found import Found, number, ratio
from .rx_align_strategies import (
    COLUMNS,
    COPIED,
    FIXED,
    FULL,
    IN_PLACE,
    LEAD,
    LOAD,
    STRATEGIES,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# The functions that do what a row of RTEMS' profile did.
ROLES = {
    "idle": ("(idle)",),
    "memcpy": ("pl_copy",),
    "copy and checksum at once": ("pl_copy_sum",),
    "checksum": ("pl_sum",),
    "realigning": ("pl_gem_rx_frame",),
    "emulating": ("trap_entry", "trap_emulate", "emulate"),
    "tcp_input": ("pl_tcp_input",),
}
# RTEMS on LEON3: Mbit/s, and percent of all samples at that. Of the third no profile was told.
THEN = {
    "shift-newlib": (
        30.0,
        {
            "idle": 44.7,
            "realigning": 13.5,
            "memcpy": 10.8,
            "checksum": 8.2,
            "tcp_input": 2.3,
        },
    ),
    "halfword-bytes": (20.0, {"idle": 40.8, "memcpy": 25.7, "checksum": 6.9, "tcp_input": 2.1}),
    "halfword-16": (30.0, {}),
}
THEIR_FIRST = "shift-newlib"


def _value(
    found: Found, strategy: str, receive: str, rate: str, metric: str, **more: str
) -> float | None:
    case = case_of(rate=rate, receive=receive, **more)
    return found.worst(BOARD, ("plumb", strategy), metric, case)


def _rows(found: Found) -> list[tuple[str, str]]:
    """Strategies and how iperf receives, of what was measured."""
    there = []
    for receive in (COPIED, IN_PLACE):
        for one in STRATEGIES:
            is_there = _value(found, one.name, receive, FULL, "instructions_per_byte")
            there += [(one.name, receive)] if is_there is not None else []
    return there


def _share(found: Found, strategy: str, role: str) -> float | None:
    """What part of the time goes into a role, at the fixed rate and copied."""
    case = {"receive": COPIED, "rate": FIXED, "metric": "share"}
    values = [_value(found, strategy, **case, function=name) for name in ROLES[role]]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _rate(found: Found) -> float | None:
    values = [_value(found, s, r, FIXED, "offered_rate") for s, r in _rows(found)]
    return max((value for value in values if value is not None), default=None)


# ---- tables ----


def tables(records: list[Record]) -> list[Table]:
    """All of them."""
    found = Found(records)
    return [
        _full_table(found),
        _fixed_table(found),
        _lead_table(found),
        _then_table(found),
        _roles_table(found),
        *(_profile_table(records, found, one.name) for one in STRATEGIES),
    ]


def _rate_table(
    found: Found, title: str, rate: str, columns: dict[str, tuple[str, int]], note: str
) -> Table:
    """What was measured at a rate; `columns` are metrics and digits by heading."""
    rows = [
        [strategy, receive]
        + [
            number(_value(found, strategy, receive, rate, metric), digits)
            for metric, digits in columns.values()
        ]
        for strategy, receive in _rows(found)
    ]
    return Table(title, ["", "", *columns], rows, note)


def _full_table(found: Found) -> Table:
    return _rate_table(
        found,
        "As fast as it goes, at 62.5 million instructions per second",
        FULL,
        {
            "Mbit/s": ("throughput", 1),
            "busy Mbit/s": ("throughput_busy", 1),
            "idle %": ("idle_share", 1),
            "instr/byte": ("instructions_per_byte", 3),
            "touch/byte": ("touches_per_byte", 3),
            "misaligned": ("misaligned_accesses", 0),
            "emulated/packet": ("emulated_per_packet", 1),
        },
        "Mbit/s by the board's own clock, waiting for the client included; busy: without. "
        "shift: the driver moves the frame by two bytes; halfword: headers are read by halves, "
        "and nothing is moved; pull: headers are copied in front; trap: loads of headers trap "
        "and are emulated. All of these copy to the application by Plumb's routine, which joins "
        "words; -newlib and -bytes as newlib's memcpy in C does, byte by byte unless both sides "
        "lie on words; -16 by halfwords then. misaligned: what was loaded or stored misaligned, "
        "or would have been and was emulated.",
    )


def _fixed_table(found: Found) -> Table:
    return _rate_table(
        found,
        f"At {number(_rate(found), 0)} Mbit/s offered, which the slowest carries at a load of "
        f"{LOAD:.0f} %",
        FIXED,
        {
            "CPU load %": ("cpu_load", 1),
            "instr/byte": ("instructions_per_byte", 3),
            "touch/byte": ("touches_per_byte", 3),
            "Mbit/s": ("throughput", 1),
            "idle %": ("idle_share", 1),
        },
        "Load: of the time that the bytes take at the offered rate. Mbit/s and idle by the board's "
        "clock, which keeps only about to that of the client that paces.",
    )


def _lead_table(found: Found) -> Table:
    rows = []
    for receive in (COPIED, IN_PLACE):
        for rate, metrics in COLUMNS.items():
            for column in metrics:
                value = _value(found, "default", receive, rate, LEAD, column=column)
                if value is not None:
                    rows.append([receive, rate, column.replace("_", " "), number(value, 3)])
    return Table(
        "The default to the best of all others",
        ["", "rate", "column", "ratio"],
        rows,
        "Below 1 the default is better. Mbit/s with the waiting for the client in it depends on "
        "the host as well, and is not compared.",
    )


def _then_table(found: Found) -> Table:
    """Ratios to the frame moved, ours and theirs."""

    def ours(strategy: str, metric: str) -> float | None:
        return _value(found, strategy, COPIED, FULL, metric)

    def work(strategy: str) -> float | None:
        rate, shares = THEN[strategy]
        return (100 - shares["idle"]) / rate if shares else None

    def copying(strategy: str) -> float | None:
        rate, shares = THEN[strategy]
        return shares["memcpy"] / rate if shares else None

    rows = []
    for strategy in THEN:
        busy, per_byte = (ours(strategy, m) for m in ("throughput_busy", "instructions_per_byte"))
        if busy is None:
            continue
        memcpy = [_share(found, name, "memcpy") for name in (strategy, THEIR_FIRST)]
        rows.append(
            [
                strategy,
                number(busy, 1),
                ratio(busy, ours(THEIR_FIRST, "throughput_busy")),
                ratio(THEN[strategy][0], THEN[THEIR_FIRST][0]),
                ratio(per_byte, ours(THEIR_FIRST, "instructions_per_byte")),
                ratio(work(strategy), work(THEIR_FIRST)),
                ratio(*memcpy),
                ratio(copying(strategy), copying(THEIR_FIRST)),
            ]
        )
    return Table(
        "To the frame moved by the driver, beside RTEMS on LEON3, 2005",
        [
            "",
            "busy Mbit/s",
            "ratio",
            "RTEMS",
            "work per byte",
            "RTEMS",
            "memcpy's work per byte",
            "RTEMS",
        ],
        rows,
        "RTEMS: about 30, 20 and 30 Mbit/s; its work per byte is the share of samples that were "
        "not idle, or memcpy's, by the rate at which they were taken.",
    )


def _roles_table(found: Found) -> Table:
    names = [name for name, receive in _rows(found) if receive == COPIED]
    rows = []
    for role in ROLES:
        cells = [number(_share(found, name, role), 1) for name in names]
        then = [number(shares.get(role), 1) for _, shares in list(THEN.values())[:2]]
        rows.append([role, *cells, *then])
    return Table(
        f"Where the time goes, %, copied, at {number(_rate(found), 0)} Mbit/s offered",
        ["", *names, *(f"RTEMS, {name}" for name in list(THEN)[:2])],
        rows if names else [],
        "RTEMS' at the rate that each reached: about 30 and 20 Mbit/s.",
    )


def _profile_table(records: list[Record], found: Found, strategy: str) -> Table:
    """As RTEMS' profile was told: function, samples, ratio."""
    at = {"rate": FIXED, "receive": COPIED}
    rows = []
    for record in records:
        parts = parts_of(record.case)
        if (record.variant, record.metric) == (strategy, "share") and at.items() <= parts.items():
            samples = _value(found, strategy, **at, metric="samples", function=parts["function"])
            rows.append([parts["function"], number(samples, 0), number(record.value, 1)])
    return Table(
        f"{strategy}, copied, at {number(_rate(found), 0)} Mbit/s offered",
        ["function", "samples", "ratio %"],
        rows,
        "A sample: a millisecond of the board's time, counted rather than sampled.",
    )


# ---- answers and figures ----


def answers(records: list[Record]) -> list[str]:
    """What the figures say."""
    found = Found(records)
    told = [_copying(found), _trapping(found), _default(found)]
    return [text for text in told if text]


def _copying(found: Found) -> str:
    def busy(strategy: str) -> float | None:
        return _value(found, strategy, COPIED, FULL, "throughput_busy")

    first, second, third = (busy(name) for name in THEN)
    shares = [_share(found, name, "memcpy") for name in list(THEN)[:2]]
    if not (first and second and third and shares[0] and shares[1]):
        return ""
    return (
        f"With newlib's memcpy, frames moved by the driver come at {first:.0f} Mbit/s of busy "
        f"time, frames left where they lie at {second:.0f}, and at {third:.0f} with a memcpy by "
        f"16 bits: 1 to {second / first:.2f} to {third / first:.2f}; RTEMS on LEON3: about 30, "
        "20 and 30 Mbit/s, 1 to 0.67 to 1. At one rate memcpy's share goes from "
        f"{shares[0]:.1f} to {shares[1]:.1f} %; RTEMS', each at its own, from 10.8 to 25.7 %."
    )


def _trapping(found: Found) -> str:
    def of(metric: str, strategy: str = "trap") -> float | None:
        return _value(found, strategy, COPIED, FULL, metric)

    traps, per_byte, default = (
        of("emulated_per_packet"),
        of("instructions_per_byte"),
        of("instructions_per_byte", "default"),
    )
    share = _share(found, "trap", "emulating")
    if not (traps and per_byte and default and share):
        return ""
    return (
        f"An emulating trap handler is not cheap: {traps:.1f} loads a packet trap, as not IP's "
        "addresses alone lie at 2 mod 4 but every word of its header and of TCP's; a byte "
        f"takes {per_byte / default:.2f} times the instructions of the default. What the "
        "processor itself takes to enter and leave an exception comes on top, and is not in "
        "these figures."
    )


def _default(found: Found) -> str:
    strategies = [name for name, receive in _rows(found) if receive == COPIED]
    loads = {
        name: _value(found, name, COPIED, FIXED, "cpu_load")
        for name in strategies
    }
    own = loads.pop("default", None)
    others = {name: load for name, load in loads.items() if load is not None}
    if own is None or not others:
        return ""
    best, worst = min(others, key=others.__getitem__), max(others, key=others.__getitem__)
    return (
        f"At {number(_rate(found), 0)} Mbit/s the default takes {own:.1f} % of the processor, "
        f"the next best ({best}) {others[best]:.1f} %, the worst ({worst}) {others[worst]:.1f} "
        "%. ARP's two addresses lie 10 bytes apart, so that one of them is misaligned wherever "
        "a frame lands: they are read by halves with every strategy."
    )


def figures(records: list[Record]) -> "list[Figure]":
    """Instructions per byte, load, and where the time goes."""
    found = Found(records)
    rows = _rows(found)
    names = list(dict.fromkeys(name for name, _ in rows))
    ways = list(dict.fromkeys(receive for _, receive in rows))

    def series(rate: str, metric: str) -> dict[str, list[float | None]]:
        return {way: [_value(found, name, way, rate, metric) for name in names] for way in ways}

    if not rows:
        return []
    copied = [name for name, receive in rows if receive == COPIED]
    return [
        plots.bars(
            "TCP receive, as fast as it goes",
            "strategy",
            "instructions per byte",
            names,
            series(FULL, "instructions_per_byte"),
        ),
        plots.bars(
            f"TCP receive at {number(_rate(found), 0)} Mbit/s offered",
            "strategy",
            "CPU load, %",
            names,
            series(FIXED, "cpu_load"),
        ),
        plots.bars(
            f"Where the time goes, copied, at {number(_rate(found), 0)} Mbit/s offered",
            "strategy",
            "share of the time, %",
            copied,
            {role: [_share(found, name, role) for name in copied] for role in ROLES},
        ),
    ]
