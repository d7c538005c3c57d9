# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Internet checksum on every instruction set: compilers, optimisations, lengths, offsets.

It answers a measurement of eCos' in_cksum on ARM (2000): over a chain of four buffers of
varying lengths, assembly took 5.04 s, portable C 10.62 s at -O0 and 15.95 s at -O1 to -O3.
"""

from typing import TYPE_CHECKING

from .. import plots
from ..isa import OPTS, isa
from ..records import Record
from . import bytes, wall
from .base import Experiment, Run, Table
from .bytes import FULL, GOAL_OPT, LENGTHS, NAMES, SHORT, SIZE_OPT, X86
from .found import Found, number, ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ASM, C = ("plumb", "asm"), ("plumb", "c")
LWIP = tuple(("lwip", f"algorithm-{number}") for number in (1, 2, 3))
PER_BYTE = "instructions_per_byte"
# eCos, ARM, 2000: seconds.
THEN = {"asm": 5.04, "O0": 10.62, "O1": 15.95, "O2": 15.95, "O3": 15.95}


class Checksum(Experiment):
    """Instructions per byte, Plumb's and lwIP's."""

    name = "checksum"
    title = "Checksum"
    question = (
        "What the Internet checksum costs, in executed instructions per byte, on every "
        "instruction set, and whether today's compilers still make it slower than no "
        "optimisation does. An empty call is subtracted; lwIP 2.1.3 is Debian's source package."
    )

    def boards(self) -> tuple[str, ...]:
        return NAMES

    def measure(self, run: Run) -> list[Record]:
        chosen = bytes.builds(run)
        wanted = {}
        for one in chosen:
            wanted |= {bytes.plumb(one, v): one for v in bytes.variants(one.target)}
            wanted[bytes.checksum_peers(one)] = one
        counted = bytes.count(run, wanted, "sum")
        found = bytes.records(self.name, counted)
        found += bytes.text_records(self.name, chosen)
        if run.wants(X86):
            run.step("by the clock on the wall", 0)
            found += wall.records(self.name, ("sum",))
        return found

    def lacks(self) -> frozenset[str]:
        return wall.flags_lacking()

    # ---- what it says ----

    def tables(self, records: list[Record]) -> list[Table]:
        found = Found(records)
        boards = found.boards()
        return [
            _cost(found, boards),
            _optimiser(found, boards),
            _compilers(found, boards),
            _headers(found, boards),
            _sizes(found, boards),
            wall_table(found, "checksum", "ratio_to_lwip_3", ""),
        ]

    def answers(self, records: list[Record]) -> list[str]:
        found = Found(records)
        told = [_answer(found, C, "Plumb's portable C")]
        told += [
            _answer(found, routine, f"lwIP's algorithm {number}")
            for number, routine in enumerate(LWIP, 1)
        ]
        return [sentence for sentence in told if sentence]

    def plot(self, records: list[Record]) -> "list[Figure]":
        found = Found(records)
        figures = [
            plots.lines(_title(board), "bytes", "instructions per byte", curves)
            for board in found.boards()
            if (curves := _curves(found, board))
        ]
        return [*figures, *_optimiser_plot(found)]


def compiler_of(board: str) -> str:
    """The compiler that goals are about: gcc where there is one."""
    return next(iter(isa(board).compilers))


def _title(board: str) -> str:
    return f"{isa(board).title}, {compiler_of(board)} -{GOAL_OPT}, worst of offsets 0 to 3"


def _label(routine: tuple[str, str]) -> str:
    return " ".join(routine)


def _curves(found: Found, board: str) -> dict[str, list[tuple[float, float]]]:
    """By routine: length, and the worst of the offsets."""
    build = f"opt={GOAL_OPT} compiler={compiler_of(board)}"
    curves = {}
    for routine in found.routines(board, PER_BYTE):
        points = [
            (length, found.worst(board, routine, PER_BYTE, f"length={length} offset=* {build}"))
            for length in LENGTHS
        ]
        curves[_label(routine)] = [(x, y) for x, y in points if y is not None]
    return {label: points for label, points in curves.items() if points}


def _cost(found: Found, boards: list[str]) -> Table:
    more = sorted(
        {
            routine
            for board in boards
            for routine in found.routines(board, PER_BYTE)
            if routine not in (ASM, C, *LWIP)
        }
    )
    routines = [ASM, *more, C, *LWIP]
    rows = []
    for board in boards:
        build = f"opt={GOAL_OPT} compiler={compiler_of(board)}"
        cells = []
        for routine in routines:
            full, short = (
                found.worst(board, routine, PER_BYTE, f"length={length} offset=* {build}")
                for length in (FULL, SHORT)
            )
            cells.append("-" if full is None else f"{full:.3f} ({number(short, 2)})")
        whole = f"length={FULL} offset=* {build}"
        asm = found.worst(board, ASM, PER_BYTE, whole)
        gains = [ratio(found.worst(board, routine, PER_BYTE, whole), asm) for routine in LWIP[1:]]
        rows.append([board, compiler_of(board), *cells, *gains])
    return Table(
        f"Instructions per byte, {FULL} bytes ({SHORT} bytes), -{GOAL_OPT}, worst offset",
        ["", "compiler", *map(_label, routines), "lwip 2 / asm", "lwip 3 / asm"],
        rows,
        "asm: the best there is of Plumb's, which is portable C where nothing is known to beat it.",
    )


def _chain(found: Found, board: str, routine: tuple[str, str], opt: str, compiler: str):
    return found.worst(board, routine, PER_BYTE, f"chain * opt={opt} compiler={compiler}")


def _optimiser(found: Found, boards: list[str]) -> Table:
    then = [ratio(THEN.get(opt), THEN["O0"]) for opt in OPTS]
    rows = [["eCos, ARM, 2000", "gcc", "eCos C", *then, ratio(THEN["asm"], THEN["O0"])]]
    for board in boards:
        for compiler in isa(board).compilers:
            base = {r: _chain(found, board, r, "O0", compiler) for r in (C, LWIP[1])}
            asm = _chain(found, board, ASM, GOAL_OPT, compiler)
            for routine, slowest in base.items():
                if slowest is None:
                    continue
                values = (_chain(found, board, routine, opt, compiler) for opt in OPTS)
                cells = [ratio(value, slowest) for value in values]
                rows.append([board, compiler, _label(routine), *cells, ratio(asm, slowest)])
    return Table(
        "A chain of four buffers of varying lengths, by optimisation: the part of -O0's cost",
        ["", "compiler", "", *(f"-{opt}" for opt in OPTS), "assembly"],
        rows if len(rows) > 1 else [],
        "eCos: seconds on hardware; the rest: executed instructions. The last column is Plumb's "
        f"best at -{GOAL_OPT} over the C of this row at -O0.",
    )


def _answer(found: Found, routine: tuple[str, str], name: str) -> str:
    """Whether the optimiser loses, in a sentence."""
    lost, ratios = [], []
    for board in found.boards():
        for compiler in isa(board).compilers:
            slowest = _chain(found, board, routine, "O0", compiler)
            for opt in ("O1", "O2", "O3"):
                value = _chain(found, board, routine, opt, compiler)
                if slowest and value:
                    ratios.append(value / slowest)
                    if value > slowest:
                        lost.append(f"{board} {compiler} -{opt}")
    if not ratios:
        return ""
    where = f"loses to -O0 with {', '.join(lost)}" if lost else "loses to -O0 nowhere"
    return (
        f"{name} {where}: at -O1 to -O3 it takes {min(ratios):.2f} to {max(ratios):.2f} of -O0's "
        f"instructions ({len(ratios)} builds; eCos in 2000: {THEN['O2'] / THEN['O0']:.2f} of "
        "the time)."
    )


def _optimiser_plot(found: Found) -> "list[Figure]":
    """The question of 2000 as a figure, of all builds that were made at -O0."""
    builds = [
        (board, compiler)
        for board in found.boards()
        for compiler in isa(board).compilers
        if _chain(found, board, C, "O0", compiler)
    ]
    if not builds:
        return []
    series = {}
    for opt in OPTS:
        values = [
            _part(_chain(found, board, C, opt, compiler), _chain(found, board, C, "O0", compiler))
            for board, compiler in builds
        ]
        series[f"-{opt}"] = [_part(THEN.get(opt), THEN["O0"]), *values]
    title = "A chain of four buffers, Plumb's portable C (eCos: its own, in seconds)"
    groups = ["eCos 2000", *(" ".join(build) for build in builds)]
    return [plots.bars(title, "compiler", "part of the cost at -O0", groups, series)]


def _part(value: float | None, whole: float | None) -> float | None:
    return value / whole if value and whole else None


def _compilers(found: Found, boards: list[str]) -> Table:
    rows = []
    for board in boards:
        for compiler in isa(board).compilers:
            cells = []
            for routine in (C, ASM):
                for opt in OPTS:
                    case = f"length={FULL} offset=* opt={opt} compiler={compiler}"
                    cells.append(number(found.worst(board, routine, PER_BYTE, case), 3))
            if set(cells) != {"-"}:
                rows.append([board, compiler, *cells])
    titles = [f"{variant} -{opt}" for _, variant in (C, ASM) for opt in OPTS]
    return Table(
        f"Plumb's by compiler and optimisation: instructions per byte, {FULL} bytes",
        ["", "compiler", *titles],
        rows,
    )


def _headers(found: Found, boards: list[str]) -> Table:
    metric = "instructions"
    rows = []
    for board in boards:
        build = f"opt={GOAL_OPT} compiler={compiler_of(board)}"
        own = [
            found.worst(board, routine, metric, f"header length=20 offset={offset} {build}")
            for routine in (ASM, C)
            for offset in (0, 2)
        ]
        others = [
            found.worst(board, routine, metric, f"length=20 offset=0 {build}")
            for routine in (ASM, *LWIP[1:])
        ]
        rows.append([board, *(number(value, 0) for value in (*own, *others))])
    return Table(
        f"An IP header of 20 bytes: instructions, -{GOAL_OPT}",
        ["", "header asm", "at 2 mod 4", "header c", "at 2 mod 4", "sum asm", "lwip 2", "lwip 3"],
        rows,
    )


def _sizes(found: Found, boards: list[str]) -> Table:
    rows = []
    for board in boards:
        cells = []
        for routine in (ASM, C):
            for compiler in ("gcc", "clang"):
                case = f"opt={SIZE_OPT} compiler={compiler}"
                cells.append(number(found.worst(board, routine, "text_bytes", case), 0))
        rows.append([board, *cells])
    return Table(
        f"Code of all of src/bytes at -{SIZE_OPT}: bytes",
        ["", "asm, gcc", "asm, clang", "c, gcc", "c, clang"],
        rows,
        "Without src/bytes/libc.c, which is no part of the library: firmware that has no C "
        "library links it beside.",
    )


def wall_table(found: Found, what: str, metric: str, prefix: str) -> Table:
    """x86-64 by the clock: nanoseconds, and how many times as fast as the reference."""
    rows = []
    for routine in found.routines(X86, metric):
        cells = []
        for length in LENGTHS:
            case = f"{prefix}length={length} clock=wall *"
            time = found.worst(X86, routine, "time", case)
            times = found.worst(X86, routine, metric, case)
            if time is not None:
                cells.append(f"{time:.1f} ({number(times, 2)})")
        if cells:
            rows.append([_label(routine), *cells])
    to = "lwIP's algorithm 3" if metric == "ratio_to_lwip_3" else "the C library's memcpy"
    note = "One processor; batches of the two in turn, the median of the ratios of the fastest tenth."
    if what == "copy":
        note += " Plumb's assembly copies by the C library's memcpy itself."
    return Table(
        f"x86-64, {what}, on hot data: nanoseconds (times as fast as {to})",
        ["", *map(str, LENGTHS)],
        rows,
        note,
    )

