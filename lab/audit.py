# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb audit [ELF]`: who loads and stores how wide, and who misaligned.

By the code alone for any program whose processor is known (lab/code.py), and counted
where it can be run: a firmware on its board, another program in the emulator's user mode.
"""

import json
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.elffile import ELFFile
from rich.box import SIMPLE_HEAD
from rich.console import Console as Terminal
from rich.markup import escape
from rich.table import Table

from . import build, measure, report
from .board import Board, Setup, kind_of
from .code import SMALL, Code, Findings
from .elf import Program, readable
from .errors import LabError, NotUnderstood
from .iperf import PORT
from .lines import SourceLines
from .network import UserNetwork
from .paths import OUT

WIDTHS = (1, 2, 4, 8, 16)
NARROW = 2  # slots of WIDTHS: what is narrower than a word of most processors
BOARD = "zynq"
APP = "iperf"
MARK = "board_measure_start"
IDLE = ("board_idle", "clock_alarm")
# Emulators of user mode, by machine, class and byte order.
_EMULATORS = {
    ("EM_ARM", 32, True): "qemu-arm",
    ("EM_ARM", 32, False): "qemu-armeb",
    ("EM_AARCH64", 64, True): "qemu-aarch64",
    ("EM_X86_64", 64, True): "qemu-x86_64",
    ("EM_MIPS", 32, False): "qemu-mips",
    ("EM_MIPS", 32, True): "qemu-mipsel",
    ("EM_RISCV", 32, True): "qemu-riscv32",
    ("EM_RISCV", 64, True): "qemu-riscv64",
    ("EM_SPARC", 32, False): "qemu-sparc",
    ("EM_SPARC32PLUS", 32, False): "qemu-sparc32plus",
    ("EM_SPARCV9", 64, False): "qemu-sparc64",
}
# Where Debian keeps the libraries of programs for other processors.
_SYSROOTS = {
    "qemu-arm": "/usr/arm-linux-gnueabi",
    "qemu-aarch64": "/usr/aarch64-linux-gnu",
    "qemu-mips": "/usr/mips-linux-gnu",
    "qemu-mipsel": "/usr/mipsel-linux-gnu",
    "qemu-riscv64": "/usr/riscv64-linux-gnu",
    "qemu-sparc64": "/usr/sparc64-linux-gnu",
}


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    program: Path | None = None  # None: the board's own application
    arguments: tuple[str, ...] = ()
    board: str = ""  # boot it there, whatever it looks like
    case: str = ""  # of the application's transfers, only this
    is_static: bool = False
    seconds: float = 10.0
    limit: int = 25
    out: Path | None = None


@dataclass
class Counts:
    """What was counted of an instruction, or of all of a function's."""

    loads: list[int] = field(default_factory=lambda: [0] * len(WIDTHS))
    stores: list[int] = field(default_factory=lambda: [0] * len(WIDTHS))
    misaligned: int = 0
    address: int = 0

    def add(self, other: "Counts") -> None:
        """Adds another's."""
        self.loads = [a + b for a, b in zip(self.loads, other.loads, strict=True)]
        self.stores = [a + b for a, b in zip(self.stores, other.stores, strict=True)]
        self.misaligned += other.misaligned
        self.address = other.address or self.address

    @property
    def total(self) -> int:
        """All accesses."""
        return sum(self.loads) + sum(self.stores)

    @property
    def narrow(self) -> int:
        """Those of one and two bytes."""
        return sum(self.loads[:NARROW]) + sum(self.stores[:NARROW])


Counted = dict[int, Counts]  # by instruction


# ---- running it ----


class Watch:
    """The plugin's side of one run."""

    def __init__(self, program: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._map, self._out = folder / "functions.map", folder / "lines.jsonl"
        self._out.unlink(missing_ok=True)
        Program(program).write_function_map(self._map)

    def option(self) -> str:
        """The value of the emulator's -plugin option."""
        return f"{build.plugin('lines')},map={self._map},out={self._out}"

    def counted(self) -> list[Counted]:
        """What was written, interval by interval."""
        if not self._out.exists():
            return []
        lines = [line for line in self._out.read_text().splitlines(True) if line.endswith("\n")]
        return [
            {int(pc): Counts(*values) for pc, values in json.loads(line).items()} for line in lines
        ]


def transfers(program: Path, board_name: str, wanted: str, folder: Path) -> dict[str, Counted]:
    """A board's application under iperf: what each transfer did."""
    watch = Watch(program, folder)
    network = UserNetwork((PORT,))
    cases = [case for case in measure.CASES if wanted in ("", case)]
    if not cases:
        raise NotUnderstood(f"there is no case {wanted!r}; there are: {', '.join(measure.CASES)}")
    try:
        with Board(kind_of(board_name), Setup(program, network, plugin=watch.option())) as board:
            board.wait_ready()
            for case in cases:
                measure.once(board, network, case, None)
    finally:
        network.close()
    return dict(zip(cases, watch.counted(), strict=True))


def on_board(program: Path, options: Options, folder: Path) -> dict[str, Counted]:
    """A user's firmware on a board, for a while or until it ends."""
    watch = Watch(program, folder)
    network = UserNetwork((PORT,))
    setup = Setup(program, network, plugin=watch.option(), keep_own_clock=False)
    try:
        with Board(kind_of(options.board or BOARD), setup) as board:
            deadline = time.monotonic() + options.seconds
            while not board.has_ended and time.monotonic() < deadline:
                board.pump(0.2)
                board.check_faults()
    finally:
        network.close()
    return _summed(watch, f"{options.seconds:g} s on {options.board or BOARD}")


def in_user_mode(program: Path, options: Options, folder: Path) -> dict[str, Counted]:
    """A program of an operating system's, from its start to its end."""
    watch = Watch(program, folder)
    emulator = emulator_of(program)
    words = [emulator]
    sysroot = _SYSROOTS.get(emulator)
    if sysroot and Path(sysroot).is_dir():
        words += ["-L", sysroot]
    words += ["-plugin", watch.option(), str(program.resolve()), *options.arguments]
    try:
        done = subprocess.run(
            ["setpriv", "--pdeathsig", "KILL", *words],
            stdin=subprocess.DEVNULL,
            timeout=options.seconds,
        )
    except subprocess.TimeoutExpired as late:
        raise LabError(
            f"{program} did not end within {options.seconds:g} s; give it --seconds, or --static"
        ) from late
    counted = _summed(watch, "the whole run")
    if not counted:
        raise LabError(f"{emulator} could not run {program}: it ended with {done.returncode}")
    return counted


def _summed(watch: Watch, name: str) -> dict[str, Counted]:
    """All intervals as one."""
    whole: Counted = {}
    for counted in watch.counted():
        for pc, counts in counted.items():
            whole.setdefault(pc, Counts()).add(counts)
    return {name: whole} if whole else {}


def emulator_of(program: Path) -> str:
    """Who can run it in user mode."""
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        key = (elf["e_machine"], elf.elfclass, elf.little_endian)
    if key not in _EMULATORS:
        raise LabError(f"no emulator is known for {program}: {key[0]}; see --static")
    return _EMULATORS[key]


def is_firmware(program: Path) -> bool:
    """Whether a program boots by itself: linked to no loader, and to no system's start."""
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        kinds = {segment["p_type"] for segment in elf.iter_segments()}
        table = elf.get_section_by_name(".symtab")
        names = {s.name for s in table.iter_symbols()} if table else set()
        is_arm = elf["e_machine"] == "EM_ARM"
    is_hosted = "PT_INTERP" in kinds or names & {"__libc_start_main", "user_main", "__libc_start"}
    return is_arm and not is_hosted


# ---- what is told ----


def static_rows(found: list[Findings], limit: int) -> report.Rows:
    """The functions that matter most, the suspects first."""
    def weight(f: Findings) -> tuple[int, int]:
        split = f.split_loads + f.split_stores + sum(f.copies.values())
        narrow = sum(f.loads[w] + f.stores[w] for w in WIDTHS[:NARROW])
        return split, narrow

    ordered = sorted(found, key=weight, reverse=True)
    rows = [_static_row(f.function.name, f) for f in ordered[:limit] if weight(f) != (0, 0)]
    whole = Findings(found[0].function)
    for f in found:
        whole.instructions += f.instructions
        whole.loads += f.loads
        whole.stores += f.stores
        whole.split_loads += f.split_loads
        whole.split_stores += f.split_stores
        whole.copies += f.copies
    return [*rows, _static_row(f"all {len(found)} functions", whole)]


def _static_row(name: str, f: Findings) -> list[str]:
    copies = " ".join(f"{n}x{size}B" for size, n in sorted(f.copies.items()))
    return [
        name,
        str(f.instructions),
        *(str(f.loads[w]) if f.loads[w] else "-" for w in WIDTHS[:4]),
        *(str(f.stores[w]) if f.stores[w] else "-" for w in WIDTHS[:4]),
        f"{f.split_loads or '-'} / {f.split_stores or '-'}",
        copies or "-",
    ]


STATIC_COLUMNS = [
    "function", "instr", *(f"ld {w}" for w in WIDTHS[:4]), *(f"st {w}" for w in WIDTHS[:4]),
    "by bytes", "copies",
]  # fmt: skip
DYNAMIC_COLUMNS = [
    "function", *(f"ld {w}" for w in WIDTHS), *(f"st {w}" for w in WIDTHS), "misaligned",
]  # fmt: skip
SOURCE = "source"
BETWEEN = 3  # columns of a table
LINE_COLUMNS = ["place", "times", "misaligned", "instruction", SOURCE]


def by_function(program: Program, counted: Counted) -> dict[str, Counts]:
    """The instructions' counts, summed."""
    found: dict[str, Counts] = defaultdict(Counts)
    for pc, counts in counted.items():
        found[program.symbol_at(pc).partition("+")[0]].add(counts)
    return found


def dynamic_rows(functions: dict[str, Counts], limit: int) -> report.Rows:
    """Who misaligned most, then who accessed most; idling is told of, not counted in."""
    busy = {name: c for name, c in functions.items() if name not in IDLE}
    ordered = sorted(busy.items(), key=lambda item: (-item[1].misaligned, -item[1].total))
    whole = Counts()
    for counts in busy.values():
        whole.add(counts)
    rows = [_dynamic_row(name, counts) for name, counts in ordered[:limit]]
    return [*rows, _dynamic_row(f"all {len(busy)} functions", whole)]


def _dynamic_row(name: str, c: Counts) -> list[str]:
    return [name, *(str(n) if n else "-" for n in (*c.loads, *c.stores)), str(c.misaligned)]


def worst_rows(code: Code, sources: SourceLines, counted: Counted, limit: int) -> report.Rows:
    """The instructions that are misaligned most often, then the narrow ones that are
    executed most often."""
    program = code.program
    worth = [
        (pc, c)
        for pc, c in counted.items()
        if (c.misaligned or c.narrow) and program.symbol_at(pc).partition("+")[0] not in IDLE
    ]
    worth.sort(key=lambda item: (-item[1].misaligned, -item[1].narrow, item[0]))
    rows = []
    for pc, c in worth[:limit]:
        one = code.instruction(pc)
        misaligned = f"{c.misaligned} ({c.address:#x})" if c.misaligned else "-"
        text = one.text if one else "?"
        rows.append([program.symbol_at(pc), str(c.total), misaligned, text, sources.at(pc)])
    return rows


def run(options: Options, terminal: Terminal) -> int:
    """Looks, runs, prints; 1 if a board's own application was misaligned."""
    out = options.out or OUT / time.strftime("%Y%m%d-%H%M%S")
    path = options.program or build.firmware(kind_of(BOARD).preset("O2"), APP)
    code = Code(path)
    with readable(path):
        found = code.findings()
        sources = None if options.is_static else SourceLines(path)  # now: a run may take long
    _show(terminal, f"{path}: by its code, {code.machine_name.removeprefix('EM_')}",
          STATIC_COLUMNS, static_rows(found, options.limit), STATIC_NOTE)  # fmt: skip
    if sources is None:
        return 0
    counted = _run(options, path, out / "audit")
    if not counted:
        raise LabError(f"{path} ran, and none of its functions loaded or stored anything")
    whole: Counted = {}
    for one in counted.values():
        for pc, counts in one.items():
            whole.setdefault(pc, Counts()).add(counts)
    names = ", ".join(counted)
    functions = by_function(code.program, whole)
    _show(terminal, f"counted: {names}", DYNAMIC_COLUMNS, dynamic_rows(functions, options.limit),
          f"Executed loads and stores by width in bytes; {' and '.join(IDLE)} are left out."
          )  # fmt: skip
    worst = worst_rows(code, sources, whole, options.limit)
    _show(terminal, "the worst lines", LINE_COLUMNS, worst,
          "The misaligned ones first, with the last address; then those of 1 and 2 bytes.",
          )  # fmt: skip
    misaligned = {name: sum(c.misaligned for c in one.values()) for name, one in counted.items()}
    for name, count in misaligned.items():
        terminal.print(f"{name}: {count} misaligned accesses", highlight=False)
    _write(out / "audit.json", path, found, counted, code)
    terminal.print(f"all of it: {out / 'audit.json'}", soft_wrap=True, highlight=False)
    return 1 if options.program is None and any(misaligned.values()) else 0


STATIC_NOTE = (
    "Instructions in the code by width of their access. by bytes: words of 2 to 8 bytes that are "
    "loaded / stored byte by byte and shifted together, which is what a compiler makes of a packed "
    f"field; copies: calls of memcpy and the like for at most {SMALL} bytes (2x6B: two of 6)."
)


def _run(options: Options, path: Path, folder: Path) -> dict[str, Counted]:
    is_booted = options.program is None or options.board or options.case or is_firmware(path)
    if not is_booted:
        return in_user_mode(path, options, folder)
    if Program(path).address_of(MARK) is not None:  # it is iperf, which says when it measures
        return transfers(path, options.board or BOARD, options.case, folder)
    return on_board(path, options, folder)


def _show(
    terminal: Terminal, title: str, columns: list[str], rows: report.Rows, note: str
) -> None:
    terminal.print(f"\n{title}", style="bold", highlight=False, soft_wrap=True)
    terminal.print(_table(*_measured(columns, rows), terminal.width))
    terminal.print(note, style="dim", highlight=False)


def _measured(columns: list[str], rows: report.Rows) -> tuple[list[str], report.Rows]:
    """Without the columns that say nothing, such as widths that a processor has not."""
    told = [i for i in range(len(columns)) if not rows or any(row[i] != "-" for row in rows)]
    return [columns[i] for i in told], [[row[i] for i in told] for row in rows]


def _table(columns: list[str], rows: report.Rows, room: int) -> Table:
    """Numbers on the right, text on the left, and brackets as what they are; a source line is
    cut where the others leave it no room."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, *cells in zip(columns, *rows, strict=True):
        if name == SOURCE:
            least = max(len(cell.partition("  ")[0]) for cell in [name, *cells])  # file and line
            table.add_column(name, no_wrap=True, max_width=max(room, least + 1))
            break
        is_number = all(cell == "-" or cell.isdecimal() for cell in cells)
        justify = "right" if is_number else "left"
        width = max(map(len, [name, *cells]))
        least = min(width, room) if name == columns[0] else None  # a name is folded last
        table.add_column(name, justify=justify, overflow="fold", min_width=least)
        room -= width + BETWEEN
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _write(
    path: Path, program: Path, found: list[Findings], counted: dict[str, Counted], code: Code
) -> None:
    """Everything, for other programs to read."""
    static = {
        f.function.name: {
            "instructions": f.instructions,
            "loads": dict(f.loads),
            "stores": dict(f.stores),
            "split_loads": f.split_loads,
            "split_stores": f.split_stores,
            "copies": dict(f.copies),
        }
        for f in found
    }
    executed = {
        name: [
            {
                "place": code.program.symbol_at(pc),
                "pc": pc,
                "loads": dict(zip(map(str, WIDTHS), c.loads, strict=True)),
                "stores": dict(zip(map(str, WIDTHS), c.stores, strict=True)),
                "misaligned": c.misaligned,
            }
            for pc, c in sorted(one.items())
        ]
        for name, one in counted.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"program": str(program), "code": static, "counted": executed}))
