# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Copying for every pair of alignments, and copying with checksum, against C libraries.

It answers a measurement of the RTEMS stack on LEON3 (2005): with headers read as halves
and the packet left where the DMA put it, newlib's memcpy went byte by byte whenever
either side was off a word, its share rose from 10.8 % to 25.7 %, and throughput fell
from 30 to 20 Mbit/s; a memcpy of 16-bit units brought it back.
"""

from typing import TYPE_CHECKING

from .. import peers, plots
from ..isa import isa
from ..records import Record
from . import bytes, wall
from .base import Experiment, Run, Table
from .bytes import FULL, GOAL_OPT, NAMES, SIZE_OPT, X86
from .checksum import ASM, C, PER_BYTE, compiler_of, wall_table
from .found import Found, number

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

OPTS = (GOAL_OPT, SIZE_OPT)
PAIRS = [(to, start) for to in range(4) for start in range(4)]
# Both on a word, and not on one of 8 bytes together: apart to those who move such.
HALF_WORD = [(0, 4), (4, 0)]
# Pairs (destination, source) that behave alike.
CLASSES = {
    "(0,0)": [(0, 0)],
    "(0,4) (4,0)": HALF_WORD,
    "(2,2)": [(2, 2)],
    "(1,1) (3,3)": [(1, 1), (3, 3)],
    "(0,2) (2,0)": [(0, 2), (2, 0)],
    "others": [(t, s) for t, s in PAIRS if t != s and (t - s) % 4 != 2] + [(1, 3), (3, 1)],
}
ALIKE = [(t, s) for t, s in PAIRS if t == s]
DRAWN = PAIRS + HALF_WORD
APART = [(t, s) for t, s in PAIRS if t != s]
NEWLIB, HALFWORDS = ("newlib", "generic"), ("simple", "halfwords")
# RTEMS on LEON3, 2005: what was done, Mbit/s, memcpy's part of the samples; and what of
# this experiment stands for it: a routine, and where destination and source lie.
THEN = (
    ("packet moved to a word", "30", "10.8 %", NEWLIB, (0, 0)),
    ("headers read as halves", "20", "25.7 %", NEWLIB, (2, 2)),
    ("and memcpy by 16-bit units", "30", "-", HALFWORDS, (2, 2)),
    ("and Plumb's copy", "-", "-", ASM, (2, 2)),
)


class Copy(Experiment):
    """Instructions per byte, Plumb's and the C libraries'."""

    name = "copy"
    title = "Copy"
    question = (
        "What copying costs, in executed instructions per byte, for all 16 pairs of "
        "alignments mod 4, and for two that differ mod 8, against the memcpy of newlib, picolibc and glibc, a byte loop and "
        "16-bit moves; and copying with checksum in one pass, against memcpy followed by "
        "lwIP's algorithm 3. An empty call is subtracted."
    )

    def boards(self) -> tuple[str, ...]:
        return NAMES

    def measure(self, run: Run) -> list[Record]:
        chosen = bytes.builds(run, OPTS)
        wanted = {}
        for one in chosen:
            wanted |= {bytes.plumb(one, v): one for v in bytes.variants(one.target)}
            wanted[bytes.copy_peers(one)] = one
        counted = bytes.count(run, wanted, "copy")
        found = bytes.records(self.name, counted)
        if run.wants(X86):
            run.step("by the clock on the wall", 0)
            found += wall.records(self.name, ("copy", "fused"))
        return found

    # ---- what it says ----

    def tables(self, records: list[Record]) -> list[Table]:
        found = Found(records)
        return [
            _answered(found),
            _copies(found),
            _fused(found),
            _misaligned(found),
            wall_table(found, "copy", "ratio_to_memcpy", ""),
            wall_table(found, "copy with checksum", "ratio_to_memcpy", "fused "),
        ]

    def answers(self, records: list[Record]) -> list[str]:
        found = Found(records)
        told = []
        for board in found.boards():
            values = [
                worst_of(found, board, routine, [(2, 2)])
                for routine in (NEWLIB, HALFWORDS, ASM)
            ]
            if all(values) and isa(board).is_strict:
                slow, halves, ours = (number(value, 2) for value in values)
                told.append(f"{board} {slow}, {halves}, {ours}")
        if not told:
            return []
        return [
            "Both sides at 2 mod 4, newlib's generic memcpy, 16-bit moves, Plumb: "
            + "; ".join(told) + ".",
            *_better(found),
        ]

    def plot(self, records: list[Record]) -> "list[Figure]":
        found = Found(records)
        figures = []
        for board in found.boards():
            series = {
                " ".join(routine): [worst_of(found, board, routine, [pair]) for pair in DRAWN]
                for routine in _routines(found, board)
            }
            groups = [f"{to},{start}" for to, start in DRAWN]
            title = f"{isa(board).title}, {compiler_of(board)} -{GOAL_OPT}, {FULL} bytes"
            x, y = "(destination, source), as far as they differ", "instructions per byte"
            shown = {name: values for name, values in series.items() if any(values)}
            if shown:
                figures.append(plots.bars(title, x, y, groups, shown))
        return figures


def _better(found: Found) -> list[str]:
    """Which of the others take fewer instructions than Plumb's, in a sentence."""
    told = []
    for board in found.boards():
        for label in ("(2,2)", "others"):
            pairs = CLASSES[label]
            own = worst_of(found, board, ASM, pairs)
            others = {
                routine: value
                for routine in _routines(found, board)
                if routine[0] != "plumb" and (value := worst_of(found, board, routine, pairs))
            }
            if own is None or not others:
                continue
            routine = min(others, key=others.__getitem__)
            if others[routine] < own:
                build = f"all=cases opt={GOAL_OPT} compiler={compiler_of(board)}"
                misaligned = found.worst(board, routine, "misaligned_accesses", build)
                by = ", misaligning" if misaligned else ""
                figures = f"{number(others[routine], 3)} to {number(own, 3)}"
                told.append(f"{board} {label}: {' '.join(routine)} {figures}{by}")
    if not told:
        return []
    return [
        "Fewer than Plumb's: " + "; ".join(told) + ". On x86-64 Plumb's, which is counted here, is "
        "for firmware: with a C library it copies by that one's memcpy."
    ]


def worst_of(
    found: Found,
    board: str,
    routine: tuple[str, str],
    pairs: list[tuple[int, int]],
    prefix: str = "",
) -> float | None:
    """Instructions per byte of full segments, as goals are judged."""
    build = f"opt={GOAL_OPT} compiler={compiler_of(board)}"
    cases = (f"{prefix}length={FULL} to={to} from={start} {build}" for to, start in pairs)
    return found.worst(board, routine, PER_BYTE, *cases)


def _routines(found: Found, board: str) -> list[tuple[str, str]]:
    """Plumb's first."""
    there = found.routines(board, PER_BYTE)
    own = [routine for routine in (ASM, C) if routine in there]
    return own + [routine for routine in there if routine not in own]


def _answered(found: Found) -> Table:
    """The question of 2005, and what each of its answers costs here."""
    boards = [board for board in found.boards() if isa(board).is_strict]
    rows = [
        [
            f"{what}: {' '.join(routine)} {pair}".replace(", ", ","),
            speed,
            share,
            *(number(worst_of(found, board, routine, [pair]), 2) for board in boards),
        ]
        for what, speed, share, routine, pair in THEN
    ]
    return Table(
        "RTEMS on LEON3 (SPARC), 2005: Mbit/s of TCP, memcpy's part of all samples; and here: "
        f"instructions per byte, {FULL} bytes, -{GOAL_OPT}",
        ["", "Mbit/s", "memcpy", *boards],
        rows if boards else [],
        "Moving the packet took 13.5 % of the samples by itself.",
    )


def _copies(found: Found) -> Table:
    rows = []
    for board in found.boards():
        for routine in _routines(found, board):
            values = [worst_of(found, board, routine, pairs) for pairs in CLASSES.values()]
            if any(values):
                rows.append([board, " ".join(routine), *(number(v, 3) for v in values)])
    absent = "; ".join(f"{board}: {why}" for board, why in peers.ABSENT.items())
    return Table(
        f"Instructions per byte, {FULL} bytes, -{GOAL_OPT}, by (destination, source)",
        ["", "", *CLASSES],
        rows,
        "newlib generic: its memcpy.c, compiled as the rest; shipped, nano, release: as Debian "
        "built them, nano and picolibc's shipped for size. glibc on aarch64 and x86_64 is the "
        "generic and the AVX one of those it chooses from. ARMv7-A takes glibc's for ARMv5. "
        f"Not measured: {absent}.",
    )


def _fused(found: Found) -> Table:
    rows = []
    for board in found.boards():
        for routine in _routines(found, board):
            values = [worst_of(found, board, routine, pairs, "fused ") for pairs in (ALIKE, APART)]
            if any(values):
                rows.append([board, " ".join(routine), *(number(v, 3) for v in values)])
    return Table(
        f"Copy with checksum: instructions per byte, {FULL} bytes, -{GOAL_OPT}",
        ["", "", "aligned alike", "apart"],
        rows,
        "+algorithm-3: the library's memcpy, then lwIP's algorithm 3 over the copy.",
    )


def _misaligned(found: Found) -> Table:
    rows = []
    for board in found.boards():
        for routine in found.routines(board, "misaligned_accesses"):
            case = f"all=cases opt={GOAL_OPT} compiler={compiler_of(board)}"
            value = found.worst(board, routine, "misaligned_accesses", case)
            if value and isa(board).is_strict:
                rows.append([board, " ".join(routine), number(value, 0)])
    return Table(
        "Misaligned accesses in all cases, of those that make any",
        ["", "", "accesses"],
        rows,
        "Each would trap where alignment is checked.",
    )
