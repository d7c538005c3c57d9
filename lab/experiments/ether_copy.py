# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Moving an Ethernet address and a type: what compilers emit, and what a packet pays.

It answers a change of NetBSD's output path (2002, XScale): address copies always inlined,
byte loads interleaved with stores, took TCP from 190 to 193 and later from 205 to
211 Mb/s; the type's store, inlined, from a call to 3 cycles.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import disassembly, plots, programs, usermode
from ..isa import ISAS, OPTS, isa
from ..paths import ROOT
from ..profile import Interval
from ..programs import Program, Unit
from ..records import Record
from . import bytes, firmware
from .base import Experiment, Run, Table
from .bytes import Build
from .firmware import Firmware
from .found import Found, number, ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GROUP = "ether"
FOLDER = ROOT / "bench/ether"
HALFWORDS, BYTES, CALL = "halfwords", "bytes-interleaved", "call"
MOVES = ("address", "type")
NAMES = tuple(target.name for target in ISAS)
# Where headers are written and read; memcpy is what the variant `call` adds to them.
LINK = ("pl_ethernet_output", "pl_ethernet_input", "memcpy")
LISTING = "ether-copy.disassembly"
# Where a call is made and counted from.
HARNESS = ("measure", "user_main", "board_measure_start", "board_measure_stop")
AS_MANY = "as many"
LINK_METRIC = "link_instructions_per_packet"
# NetBSD on XScale, 2002, in the columns of the table of packets.
THEN = [
    ["NetBSD, 2002", BYTES, "-", "-", "-", f"{190 / 193:.3f}"],
    ["NetBSD, later", BYTES, "-", "-", "-", f"{205 / 211:.3f}"],
]
THEN_TYPE = (
    " NetBSD on XScale, 2002: the type stored inline took 3 cycles, its call 6 for going and "
    "coming back alone."
)


@dataclass(frozen=True)
class Variant:
    """One way to move."""

    name: str  # of the functions in bench/ether
    config: str  # of lab/programs.py
    preset: str


VARIANTS = {
    HALFWORDS: Variant("halfwords", "asm", "zynq"),
    BYTES: Variant("bytes", "ether-bytes", "zynq-ether-bytes"),
    CALL: Variant("call", "ether-call", "zynq-ether-call"),
}


class EtherCopy(Experiment):
    """Instructions, loads and stores of a move, and of a packet."""

    name = "ether-copy"
    title = "Ethernet address and type"
    question = (
        "What compilers make of copying an Ethernet address (6 bytes) and a type (2 bytes) "
        "by halfwords, which is Plumb's way, by bytes whose loads and stores alternate, and by "
        "memcpy; and what that changes per packet in the whole of a firmware."
    )

    def boards(self) -> tuple[str, ...]:
        return (*NAMES, firmware.BOARD)

    def measure(self, run: Run) -> list[Record]:
        chosen = [
            Build(target.name, compiler, opt)
            for target in ISAS
            if run.wants(target.name)
            for compiler in target.compilers
            for opt in OPTS
        ]
        wanted = {program_of(one): one for one in chosen}
        run.step("building", 0)
        paths = programs.build_all(GROUP, wanted)
        found: list[Record] = []
        for program, one in wanted.items():
            run.step(one.isa, 0.5 / len(wanted))
            found += emitted(one, program) + executed(one, paths[program])
        (run.out / LISTING).write_text("".join(map(listing, wanted, chosen)))
        if run.wants(firmware.BOARD):
            found += on_board(run)
        return found

    # ---- what it says ----

    def tables(self, records: list[Record]) -> list[Table]:
        found = Found(records)
        return [_emitted_table(found, move) for move in MOVES] + [_packet_table(found)]

    def answers(self, records: list[Record]) -> list[str]:
        found = Found(records)
        return [text for case in firmware.CASES if (text := _saving(found, case))]

    def plot(self, records: list[Record]) -> "list[Figure]":
        found = Found(records)
        boards = [name for name in found.boards() if name != firmware.BOARD]
        figures = []
        for move in MOVES if boards else ():
            series = {
                name: [
                    found.worst(one, ("plumb", name), "instructions", f"{move} opt=O2 *")
                    for one in boards
                ]
                for name in VARIANTS
            }
            title = f"Moving one {move} at -O2, the costlier of both compilers"
            figures.append(
                plots.bars(title, "instruction set", "instructions executed", boards, series)
            )
        packets = {
            name: [_on_board(found, name, LINK_METRIC, case) for case in firmware.CASES]
            for name in VARIANTS
        }
        if firmware.BOARD in found.boards():
            title = f"{firmware.BOARD}: link layer and memcpy"
            cases = list(firmware.CASES)
            figures.append(
                plots.bars(title, "transfer", "instructions per packet", cases, packets)
            )
        return figures


# ---- in user mode ----


def program_of(one: Build) -> Program:
    """All variants in one program."""
    moves = tuple(move_unit(one, variant) for variant in VARIANTS.values())
    units = (*programs.harness(), Unit(FOLDER / "measure.c"), *moves)
    return Program(f"moves-{one.opt}", one.isa, one.compiler, units)


def move_unit(one: Build, variant: Variant) -> Unit:
    """One variant's functions."""
    defines = (f"VARIANT={variant.name}",)
    return Unit(FOLDER / "moves.c", one.opt, variant.config, defines, tag=variant.name)


def _record(one: Build, variant: str, move: str, metric: str, value: float) -> Record:
    return Record(
        EtherCopy.name,
        one.isa,
        f"{move} {one.case()}",
        metric,
        value,
        "",
        variant=variant,
        tools=bytes.tools_of(one),
    )


def emitted(one: Build, program: Program) -> list[Record]:
    """What the compiler made of each function."""
    made = []
    for name, variant in VARIANTS.items():
        path = programs.object_path(program, GROUP, move_unit(one, variant))
        for move in MOVES:
            code = disassembly.function(path, f"{move}_by_{variant.name}")
            access = disassembly.accesses(one.isa, code)
            values = {
                "emitted_instructions": len(code),
                "calls": disassembly.calls(code),
                "loads": access.loads,
                "stores": access.stores,
                "loads_and_stores": access.loads + access.stores,
            }
            made += [_record(one, name, move, metric, v) for metric, v in values.items()]
    return made


def listing(program: Program, one: Build) -> str:
    """Every function of a build, disassembled."""
    text = ""
    for variant in VARIANTS.values():
        path = programs.object_path(program, GROUP, move_unit(one, variant))
        for move in MOVES:
            code = disassembly.function(path, f"{move}_by_{variant.name}")
            text += f"{one.isa} {move} {variant.name} {one.case()}\n{disassembly.listing(code)}\n"
    return text


def _beside(interval: Interval) -> int:
    """What functions other than those that measure executed."""
    return sum(f["instructions"] for f in interval.functions if f["name"] not in HARNESS)


def executed(one: Build, path: Path) -> list[Record]:
    """What each function executes, with what it calls and the return."""
    with tempfile.TemporaryDirectory(prefix="plumb-ether-") as folder:
        cases = usermode.run(isa(one.isa), path, [], Path(folder))
    counts = {case.words: _beside(case.interval) for case in cases}
    return [
        _record(one, name, move, "instructions", counts[move, v.name])
        for name, v in VARIANTS.items()
        for move in MOVES
    ]


# ---- on the board ----


def on_board(run: Run) -> list[Record]:
    """Both ways of TCP, with a firmware of each variant."""
    repeats = firmware.QUICK_REPEATS if run.is_quick else firmware.REPEATS
    part = 0.5 / (repeats * len(VARIANTS) * len(firmware.CASES))
    found = []
    for name, variant in VARIANTS.items():
        run.step(f"building {variant.preset}", 0)
        build = Firmware(name, variant.preset)
        samples = firmware.transfers(build, repeats, run.out, lambda what: run.step(what, part))
        found += firmware.records(EtherCopy.name, build, samples)
        found += firmware.per_packet(EtherCopy.name, build, samples, LINK_METRIC, in_link)
    return found


def in_link(interval: Interval) -> int:
    """Instructions of the functions that read and write headers."""
    return sum(f["instructions"] for f in interval.functions if f["name"] in LINK)


# ---- tables ----


def _on_board(found: Found, variant: str, metric: str, case: str) -> float | None:
    return found.worst(firmware.BOARD, ("plumb", variant), metric, case)


def _saving(found: Found, case: str) -> str:
    """What inlining saves, beside what NetBSD gained by it."""
    values = [_on_board(found, name, "instructions_per_packet", case) for name in VARIANTS]
    by_halfwords, by_bytes, by_call = values
    if not (by_halfwords and by_bytes and by_call):
        return ""
    bytewise, halfwise = difference(by_call, by_bytes), difference(by_call, by_halfwords)
    told = f"{bytewise} instructions by bytes and {halfwise} by halfwords"
    if bytewise == halfwise == AS_MANY:
        told = f"{AS_MANY} instructions as with one, by bytes and by halfwords alike: in bulk, "
        told += "headers are prepared once and compared whole, so no packet pays for a copy"
    return (
        f"{firmware.BOARD}, {case}: without a call to memcpy a packet takes {told}. NetBSD's "
        "throughput rose by 1.6 % and 2.9 % when it copied by bytes, inlined."
    )


def difference(before: float, after: float) -> str:
    """How many that is, beside how many it was."""
    share = round(100 * (1 - after / before), 1)
    return f"{abs(share):.1f} % {'fewer' if share > 0 else 'more'}" if share else AS_MANY


def _emitted_table(found: Found, move: str) -> Table:
    rows = []
    for board in found.boards():
        for compiler in isa(board).compilers if board != firmware.BOARD else ():
            for name in VARIANTS:
                cases = (f"{move} opt={opt} compiler={compiler}" for opt in OPTS)
                cells = (_cell(found, board, name, case) for case in cases)
                rows.append([board, compiler, name, *cells])
    return Table(
        f"Copying an Ethernet {move}: instructions emitted / loads and stores among them",
        ["", "", "", *(f"-{opt}" for opt in OPTS)],
        rows,
        "With the return. +call: it calls memcpy, whose instructions come on top: "
        "the last figure is what is executed." + (THEN_TYPE if move == "type" else ""),
    )


def _cell(found: Found, board: str, variant: str, case: str) -> str:
    def value(metric: str) -> float | None:
        return found.worst(board, ("plumb", variant), metric, case)

    if value("calls") is None:
        return "-"
    text = f"{number(value('emitted_instructions'), 0)} / {number(value('loads_and_stores'), 0)}"
    return text + (f" +call {number(value('instructions'), 0)}" if value("calls") else "")


def _packet_table(found: Found) -> Table:
    rows = []
    for case in firmware.CASES:
        for name in VARIANTS:
            values = [
                _on_board(found, name, metric, case)
                for metric in (LINK_METRIC, "instructions_per_packet", "instructions_per_byte")
            ]
            if values[0] is not None:
                digits = (1, 1, 3)
                cells = [number(v, d) for v, d in zip(values, digits, strict=True)]
                called = _on_board(found, CALL, "instructions_per_packet", case)
                rows.append([case, name, *cells, ratio(values[1], called, 3)])
    return Table(
        "zynq -O2: executed per packet of payload, acknowledgements included",
        ["", "", "link layer and memcpy", "all", "all, per byte", "all, to call"],
        rows + THEN if rows else [],
        "The link layer: " + ", ".join(LINK) + ". NetBSD: the time for a byte, from 190 to 193 "
        "and, when other problems were solved, from 205 to 211 Mb/s.",
    )
