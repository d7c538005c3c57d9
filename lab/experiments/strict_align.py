# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What keeping from misaligned accesses costs, and what one image for all cores does.

It answers a measurement of Linux for LoongArch (2023): built with -mstrict-align the
kernel was 1.57 % larger, a loop of 8-byte assignments through pointers that may be
misaligned took 2.0 times as long on a core that takes such accesses, an assignment was 8
byte loads and 8 byte stores instead of one of each, and 12 bytes of a hash were 12 byte
loads instead of 3 of words. The reviewers wanted one image, right everywhere and fast
where it can be.
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.elf.elffile import ELFFile

from .. import disassembly, plots, programs, usermode
from ..isa import ISAS
from ..paths import ROOT
from ..programs import Program, Unit
from ..records import Record
from . import bytes, firmware
from .base import Experiment, Run, Table, case_of
from .bytes import Build
from .firmware import Firmware
from .found import Found, number, ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GROUP = "strict"
FOLDER = ROOT / "bench/strict"
BYTES = ROOT / "src/bytes"
OPT = "O2"
NAMES = ("loongarch64", "armv7a", "rv64", "aarch64")
LANDINGS = {"offset": "", "word": "-word"}  # what it adds to a configuration's name
WIDTHS = ("1", "2", "4", "8", "16")
LOADS = {"assign": "assign", "load": "load_half", "hash": "hash36"}


@dataclass(frozen=True)
class Variant:
    """A build, and in a generic one the routines that it is told to take."""

    name: str
    config: str
    arguments: tuple[str, ...] = ()


STRICT = Variant("strict", "asm")
UNALIGNED = Variant("unaligned", "unaligned")
GENERIC_STRICT = Variant("generic-strict", "generic", ("traps", "strict"))
GENERIC_UNALIGNED = Variant("generic-unaligned", "generic", ("taken", "unaligned"))
BOTH = ("strict", "unaligned")
VARIANTS = (STRICT, UNALIGNED, GENERIC_STRICT, GENERIC_UNALIGNED)
FIRMWARES = (
    Firmware("strict", "zynq"),
    Firmware("unaligned", "zynq-unaligned"),
    Firmware("generic-strict", "zynq-generic"),
    Firmware("generic-unaligned", "zynq-generic", "unaligned", takes_misaligned=True),
)


class StrictAlign(Experiment):
    """Instructions, widths and sizes of three builds."""

    name = "strict-align"
    title = "Strict alignment as a build option"
    question = (
        "What it costs never to load or store a misaligned word: for an assignment, a hash "
        "and the whole stack, built strict, unaligned, and generic, which chooses its copy "
        "at start; and what the choice costs. At -O2, and code at -Os too."
    )

    def boards(self) -> tuple[str, ...]:
        return (*NAMES, firmware.BOARD)

    def measure(self, run: Run) -> list[Record]:
        chosen = [
            Build(target.name, compiler, OPT)
            for target in ISAS
            if target.name in NAMES and run.wants(target.name)
            for compiler in target.compilers
        ]
        wanted = {program: one for one in chosen for program in programs_of(one)}
        run.step("building", 0)
        paths = programs.build_all(GROUP, wanted)
        found: list[Record] = []
        for one in chosen:
            run.step(one.isa, 0.5 / len(chosen))
            for variant in VARIANTS:
                found += measure_loads(one, variant, paths)
                for landing in LANDINGS:
                    found += measure_transfer(one, variant, landing, paths)
            found += measure_text(one)
        if run.wants(firmware.BOARD):
            found += on_board(run)
        return found

    # ---- what it says ----

    def tables(self, records: list[Record]) -> list[Table]:
        found = Found(records)
        return [
            _loads_table(found),
            _text_table(found),
            _transfer_table(found),
            _widths_table(found),
            _choice_table(found),
            _board_table(found),
        ]

    def answers(self, records: list[Record]) -> list[str]:
        found = Found(records)
        told = []
        for board in _isas(found):
            build = f"opt={OPT} compiler={_compilers(found, board)[0]}"
            text = _ratio(found, board, "text_bytes", f"rest {build}")
            assign = _ratio(found, board, "instructions", f"assign {build}")
            hashing = _ratio(found, board, "instructions", f"hash {build}")
            told.append(f"{board} {text}, {assign}, {hashing}")
        if not told:
            return []
        return [
            "Strict to unaligned: code without src/bytes, instructions of an 8-byte assignment, "
            "of a hash: " + "; ".join(told) + ". Linux for LoongArch: 1.016 of the image, 2.0 of "
            "the assignment's time.",
            *_one_image(records),
        ]

    def plot(self, records: list[Record]) -> "list[Figure]":
        found = Found(records)
        figures = []
        names = [variant.name for variant in VARIANTS]
        boards = _isas(found)
        if boards:
            case = "transfer landing=offset data=1 *"
            figures.append(
                plots.bars(
                    "Both stacks, frames at an offset of 2, users' data on odd addresses",
                    "instruction set",
                    "instructions per byte",
                    boards,
                    _series(found, boards, names, "instructions_per_byte", case),
                )
            )
            figures.append(
                plots.bars(
                    "Instructions of a hash of 36 bytes at an odd address",
                    "instruction set",
                    "instructions",
                    boards,
                    _series(found, boards, list(BOTH), "instructions", "hash *"),
                )
            )
        if firmware.BOARD in found.boards():
            cases = list(firmware.CASES)
            figures.append(
                plots.bars(
                    f"{firmware.BOARD}, iperf",
                    "transfer",
                    "instructions per byte",
                    cases,
                    {
                        name: [
                            _worst(found, firmware.BOARD, name, "instructions_per_byte", case)
                            for case in cases
                        ]
                        for name in names
                    },
                )
            )
        return figures


# ---- programs ----


def programs_of(one: Build) -> list[Program]:
    """All programs of a build: two of each configuration, and of each landing."""
    configs = dict.fromkeys(variant.config for variant in VARIANTS)
    loads = [loads_program(each, config) for each in (one, small(one)) for config in configs]
    landings = [(config, landing) for config in configs for landing in LANDINGS]
    return loads + [transfer_program(one, config, landing) for config, landing in landings]


def config_of(config: str, landing: str) -> str:
    """A configuration's name, for frames that land so."""
    added = LANDINGS[landing]
    return ("strict" if config == STRICT.config else config) + added if added else config


def small(one: Build) -> Build:
    """The same for size."""
    return replace(one, opt=bytes.SIZE_OPT)


def loads_program(one: Build, config: str) -> Program:
    """What bench/strict/loads.c has."""
    routines = programs.byte_routines(one.target, config, one.opt)
    driver = _drivers(config, "measure.c", "choose.c")
    units = (*programs.harness(), *driver, loads_unit(one, config), *routines)
    return Program(f"loads-{config}-{one.opt}", one.isa, one.compiler, units)


def loads_unit(one: Build, config: str) -> Unit:
    """loads.c itself, compiled as the library is."""
    source = FOLDER / "loads.c"
    alignment = programs.alignment_of(source, config)
    return Unit(source, one.opt, config, alignment=alignment)


def transfer_program(one: Build, config: str, landing: str) -> Program:
    """Two stacks over the wire."""
    full = config_of(config, landing)
    wire = tuple(
        Unit(path, config=full, includes=(str(path.parent),))
        for path in sorted((ROOT / "drivers/wire").glob("*.c"))
    )
    driver = _drivers(full, "transfer.c", "choose.c")
    units = (*programs.harness(), *driver, *wire, *library(one, full))
    return Program(f"transfer-{full}", one.isa, one.compiler, units)


def _drivers(config: str, *names: str) -> tuple[Unit, ...]:
    includes = (str(FOLDER), str(ROOT / "drivers/wire"))
    return tuple(Unit(FOLDER / name, config=config, includes=includes) for name in names)


def library(one: Build, config: str) -> tuple[Unit, ...]:
    """All of src/."""
    sources = (p for p in sorted((ROOT / "src").rglob("*.c")) if p.parent.name not in _families())
    rest = tuple(
        Unit(path, one.opt, config, alignment=programs.alignment_of(path, config))
        for path in sources
    )
    return (*rest, *programs.byte_routines(one.target, config, one.opt))


def _families() -> set[str]:
    """Folders that programs.byte_routines() looks after."""
    return {"bytes", *(path.name for path in BYTES.iterdir() if path.is_dir())}


# ---- measuring ----


def _record(
    one: Build, variant: str, case: str, metric: str, value: float, unit: str = ""
) -> Record:
    return Record(
        StrictAlign.name,
        one.isa,
        case,
        metric,
        value,
        unit,
        variant=variant,
        tools=bytes.tools_of(one),
    )


def measure_loads(one: Build, variant: Variant, paths: dict[Program, Path]) -> list[Record]:
    """What the functions of loads.c are, and what they execute."""
    program = loads_program(one, variant.config)
    with tempfile.TemporaryDirectory(prefix="plumb-strict-") as folder:
        words = list(variant.arguments)
        cases = usermode.run(one.target, paths[program], words, Path(folder))
    empty = next(c.interval.instructions for c in cases if c.words == ("none",))
    made = []
    for counted in cases[1:]:
        what, *rest = counted.words
        case = " ".join((what, *rest, one.case()))
        values: dict[str, float] = {
            "instructions": counted.interval.instructions - empty,
            "misaligned_accesses": counted.interval.misaligned_accesses,
        }
        if what in LOADS:
            path = programs.object_path(program, GROUP, loads_unit(one, variant.config))
            values |= emitted(one, path, LOADS[what])
            values["instructions"] = counted.interval.instructions_of(LOADS[what])
        made += [_record(one, variant.name, case, metric, v) for metric, v in values.items()]
    return made


def emitted(one: Build, path: Path, name: str) -> dict[str, float]:
    """What the compiler made of a function."""
    code = disassembly.function(path, name)
    access = disassembly.accesses(one.isa, code)
    return {
        "emitted_instructions": len(code),
        "loads": access.loads,
        "stores": access.stores,
    }


def measure_transfer(
    one: Build, variant: Variant, landing: str, paths: dict[Program, Path]
) -> list[Record]:
    """Both stacks' share of a transfer: the wire and the users are left out."""
    program = transfer_program(one, variant.config, landing)
    with tempfile.TemporaryDirectory(prefix="plumb-strict-") as folder:
        words = list(variant.arguments)
        cases = usermode.run(one.target, paths[program], words, Path(folder))
    names = functions_of(one, program, config_of(variant.config, landing))
    made = []
    for counted in cases:
        own = [f for f in counted.interval.functions if f["name"] in names]
        placed, *made_of = counted.words[1:]
        segments, mss = (int(word.partition("=")[2]) for word in made_of)
        case = case_of(landing=landing) + f" {placed} {one.case()}"
        values = {
            "instructions_per_byte": sum(f["instructions"] for f in own) / (segments * mss),
            "misaligned_accesses": float(counted.interval.misaligned_accesses),
        }
        for width in WIDTHS:
            count = sum(f[kind].get(width, 0) for f in own for kind in ("loads", "stores"))
            values[f"accesses_of_{width}_per_packet"] = count / segments
        made += [
            _record(one, variant.name, f"transfer {case}", metric, v)
            for metric, v in values.items()
        ]
    return made


def functions_of(one: Build, program: Program, config: str) -> set[str]:
    """The names of the library's functions, none of which anything else may have."""
    units = set(library(one, config))
    own = _functions(program, units)
    others = _functions(program, set(program.units) - units)
    if own & others:
        raise ValueError(f"{program.name}: of the library and of others: {own & others}")
    return own


def _functions(program: Program, units: set[Unit]) -> set[str]:
    found = set()
    for unit in units:
        with programs.object_path(program, GROUP, unit).open("rb") as stream:
            table = ELFFile(stream).get_section_by_name(".symtab")
            found |= {
                symbol.name
                for symbol in (table.iter_symbols() if table else ())
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
            }
    return found


def measure_text(one: Build) -> list[Record]:
    """How much code each build of the library is, and what of it moves no bytes; and all
    that moves them, built for size."""
    made = []
    for variant in (STRICT, UNALIGNED, GENERIC_STRICT):
        program = transfer_program(one, variant.config, "offset")
        sizes = {
            unit: bytes.text_size(programs.object_path(program, GROUP, unit))
            for unit in library(one, variant.config)
        }
        rest = (size for unit, size in sizes.items() if BYTES not in unit.source.parents)
        name = variant.config if variant is GENERIC_STRICT else variant.name
        for case, size in (("library", sum(sizes.values())), ("rest", sum(rest))):
            made.append(_record(one, name, f"{case} {one.case()}", "text_bytes", size, "B"))
        least = small(one)
        program = loads_program(least, variant.config)
        routines = programs.byte_routines(one.target, variant.config, least.opt)
        size = sum(bytes.text_size(programs.object_path(program, GROUP, u)) for u in routines)
        made.append(_record(least, name, f"bytes {least.case()}", "text_bytes", size, "B"))
    return made


def on_board(run: Run) -> list[Record]:
    """iperf on firmware of each kind; the generic one on a processor of either kind."""
    repeats = firmware.QUICK_REPEATS if run.is_quick else firmware.REPEATS
    part = 0.5 / (repeats * len(FIRMWARES) * len(firmware.CASES))
    found = []
    for build in FIRMWARES:
        run.step(f"building {build.preset}", 0)
        samples = firmware.transfers(build, repeats, run.out, lambda what: run.step(what, part))
        found += firmware.records(StrictAlign.name, build, samples)
    return found


# ---- tables ----


def _isas(found: Found) -> list[str]:
    return [board for board in found.boards() if board != firmware.BOARD]


def _worst(found: Found, board: str, variant: str, metric: str, case: str) -> float | None:
    return found.worst(board, ("plumb", variant), metric, case)


def _series(
    found: Found, boards: list[str], names: list[str], metric: str, case: str
) -> dict[str, list[float | None]]:
    return {n: [_worst(found, board, n, metric, case) for board in boards] for n in names}


def _ratio(found: Found, board: str, metric: str, case: str) -> str:
    strict, free = (_worst(found, board, name, metric, case) for name in ("strict", "unaligned"))
    return ratio(strict, free, 3)


def _compilers(found: Found, board: str) -> list[str]:
    cases = [record.case for record in found.of(board, ("plumb", "strict"), "text_bytes", "*")]
    return list(dict.fromkeys(case.rpartition("compiler=")[2] for case in cases))


# What Linux's columns were for the same.
THEN = {"assign": "2.0, of time; 8 / 8 to 1 / 1", "load": "", "hash": "12 to 3 loads a round"}


def _loads_table(found: Found) -> Table:
    rows = []
    for board in _isas(found):
        for compiler in _compilers(found, board):
            for what in LOADS:
                case = f"{what} opt={OPT} compiler={compiler}"
                emitted_cells = [_three(found, board, name, case) for name in BOTH]
                executed = [_worst(found, board, name, "instructions", case) for name in BOTH]
                rows.append([board, compiler, what, *emitted_cells, ratio(*executed), THEN[what]])
    return Table(
        "Strict and unaligned: instructions emitted / loads / stores, with the return",
        ["", "", "", *BOTH, "strict to unaligned", "Linux for LoongArch, 2023"],
        rows,
        "assign: 8 bytes through a pointer of any alignment. load: 4 bytes through one to "
        "halfwords. hash: lookup3 of 36 bytes. The ratio is of instructions executed. A generic "
        "build compiles all of these as a strict one does.",
    )


def _text_table(found: Found) -> Table:
    rows = []
    for board in _isas(found):
        for compiler in _compilers(found, board):
            for what, opt in (("library", OPT), ("rest", OPT), ("bytes", bytes.SIZE_OPT)):
                case = f"{what} opt={opt} compiler={compiler}"
                sizes = [
                    _worst(found, board, name, "text_bytes", case) for name in (*BOTH, "generic")
                ]
                cells = [number(size, 0) for size in sizes]
                ratios = [ratio(sizes[0], sizes[1], 3), ratio(sizes[2], sizes[0], 3)]
                rows.append([board, compiler, f"{what} -{opt}", *cells, *ratios])
    return Table(
        "Code, bytes",
        ["", "", "", *BOTH, "generic", "strict to unaligned", "generic to strict"],
        rows,
        "library: all of src/. rest: without src/bytes, of which unaligned and generic builds "
        "have more; bytes: src/bytes alone. Linux for LoongArch, 2023: 1.016, strict to unaligned.",
    )


def _three(found: Found, board: str, variant: str, case: str) -> str:
    metrics = ("emitted_instructions", "loads", "stores")
    return " / ".join(number(_worst(found, board, variant, m, case), 0) for m in metrics)


def _transfer_table(found: Found) -> Table:
    rows = []
    for board in _isas(found):
        for compiler in _compilers(found, board):
            for landing in LANDINGS:
                rows += [
                    _transfer_row(found, board, compiler, landing, data) for data in ("0", "1")
                ]
    return Table(
        "Bulk TCP between two stacks: instructions per byte of both / misaligned accesses",
        ["", "", "frames", "data", *(variant.name for variant in VARIANTS)],
        rows,
        "frames: landing at an offset of 2, or on words, so that headers are read by halfwords. "
        "data: where the users' memory lies, from a word on. A segment is summed and copied "
        "in one pass by the sender and by the receiver.",
    )


def _transfer_row(
    found: Found, board: str, compiler: str, landing: str, data: str
) -> list[str]:
    case = f"transfer landing={landing} data={data} opt={OPT} compiler={compiler}"
    cells = []
    for variant in VARIANTS:
        value = _worst(found, board, variant.name, "instructions_per_byte", case)
        misaligned = _worst(found, board, variant.name, "misaligned_accesses", case)
        cells.append(f"{number(value, 3)} / {number(misaligned, 0)}")
    return [board, compiler, landing, data, *cells]


def _widths_table(found: Found) -> Table:
    rows = []
    for board in _isas(found):
        compiler = _compilers(found, board)[0]
        for data in ("0", "1"):
            case = f"transfer landing=offset data={data} opt={OPT} compiler={compiler}"
            for variant in VARIANTS:
                cells = [
                    number(_worst(found, board, variant.name, _width_metric(width), case), 1)
                    for width in WIDTHS
                ]
                rows.append([board, compiler, data, variant.name, *cells])
    return Table(
        "The same, frames at an offset: loads and stores per segment by width in bytes",
        ["", "", "data", "", *WIDTHS],
        rows,
    )


def _width_metric(width: str) -> str:
    return f"accesses_of_{width}_per_packet"


def _one_image(records: list[Record]) -> list[str]:
    """Whether one image serves both kinds of processor, and what that takes, in a sentence."""
    values = {(r.board, r.variant, r.metric, r.case): r.value for r in records}
    misaligned = [
        value
        for (_, variant, metric, _), value in values.items()
        if (variant, metric) == (GENERIC_STRICT.name, "misaligned_accesses")
    ]
    calls, bytes_, code = [], [], []
    for (board, variant, metric, case), value in values.items():
        strict = values.get((board, STRICT.name, metric, case))
        if not strict or variant not in (GENERIC_STRICT.name, "generic"):
            continue
        if metric == "instructions" and case.startswith(("copy", "sum")):
            calls.append(value - strict)
        elif metric == "instructions_per_byte":
            bytes_.append(100 * (value / strict - 1))
        elif metric == "text_bytes" and case.startswith("library") and f"opt={OPT}" in case:
            code.append(100 * (value / strict - 1))
    if not (misaligned and calls and bytes_ and code):
        return []
    return [
        f"One image for both kinds of processor: {max(misaligned):g} misaligned accesses where it "
        f"has found that they trap. Against a strict build a call of the routines takes "
        f"{min(calls):g} to {max(calls):g} instructions more, a byte of bulk TCP at most "
        f"{max(bytes_):.1f} %, the library's code {min(code):.1f} to {max(code):.1f} %."
    ]


def _choice_table(found: Found) -> Table:
    rows = []
    for board in _isas(found):
        compiler = _compilers(found, board)[0]
        for what in ("copy", "copy-sum", "sum"):
            for length, apart in ((20, 0), (20, 1), (1460, 0), (1460, 1)):
                case = case_of(length=length, apart=apart, opt=OPT, compiler=compiler)
                values = [
                    _worst(found, board, variant.name, "instructions", f"{what} {case}")
                    for variant in (STRICT, GENERIC_STRICT, GENERIC_UNALIGNED, UNALIGNED)
                ]
                cells = [number(value, 0) for value in values]
                cost = _difference(values[1], values[0])
                rows.append([board, compiler, what, f"{length}, {apart}", *cells, cost])
    return Table(
        "The choice: instructions of one call, direct and through the pointer",
        [
            "",
            "",
            "",
            "length, apart",
            "strict: direct",
            "generic-strict: pointer",
            "generic-unaligned: pointer",
            "unaligned: direct",
            "the pointer costs",
        ],
        rows,
        "apart: how far the source lies from the destination's alignment.",
    )


def _difference(value: float | None, base: float | None) -> str:
    return "-" if value is None or base is None else f"{value - base:+.0f}"


def _board_table(found: Found) -> Table:
    rows = []
    for case in firmware.CASES if firmware.BOARD in found.boards() else ():
        for build in FIRMWARES:
            values = [
                _worst(found, firmware.BOARD, build.variant, metric, case)
                for metric in (
                    "instructions_per_byte",
                    "instructions_per_packet",
                    "throughput_busy",
                    "misaligned_accesses",
                )
            ]
            cells = [number(v, d) for v, d in zip(values, (3, 1, 1, 0), strict=True)]
            rows.append([case, build.variant, *cells])
    return Table(
        "zynq -O2, iperf",
        ["", "", "instr/byte", "instr/packet", "Mbit/s, busy", "misaligned"],
        rows,
        "generic-strict: the processor traps; generic-unaligned: the same image, trapping off.",
    )
