# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb size [BUILD]`: what a program takes of memory, by file and function: code, data,
stack, structures and their holes; and the difference of two builds.

lab/sizes.py says what counts as Plumb's for the bench; here everything counts that is
linked.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from rich.box import SIMPLE_HEAD
from rich.console import Console as Terminal
from rich.markup import escape
from rich.table import Table

from . import build, report, tools
from .code import Code
from .depth import Stack
from .elf import readable
from .errors import LabError
from .lines import Lines
from .paths import ROOT
from .structures import Structure, Types

KINDS = ("text", "rodata", "data", "bss")
ROOTS_SHOWN = 8
SECTIONS = (
    "Sections as linked, board and C library included; the bench counts what is Plumb's alone."
)
UNKNOWN = "(not said)"
# What compilers add to the name of a function that they have made another of.
_CLONE = re.compile(r"\.(isra|part|constprop|cold|lto_priv|[0-9]+)(\.\d+)*$")


@dataclass(frozen=True)
class Piece:
    """A function or an object."""

    name: str
    file: str
    kind: str
    size: int
    address: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is called in another build."""
        return self.file, _CLONE.sub("", self.name), self.kind


@dataclass
class Anatomy:
    """A program, taken apart."""

    path: Path
    pieces: list[Piece]
    structures: list[Structure]
    stack: Stack | None
    why_no_stack: str = ""
    totals: Counter[str] = field(default_factory=Counter)

    @property
    def by_file(self) -> dict[str, Counter[str]]:
        """Bytes by kind, of each file."""
        found: dict[str, Counter[str]] = {}
        for piece in self.pieces:
            found.setdefault(piece.file, Counter())[piece.kind] += piece.size
        return found

    @property
    def deepest(self) -> int:
        """The worst of all stacks."""
        if self.stack is None or not self.stack.roots:
            return 0
        return self.stack.deepest[self.stack.roots[0]].depth


def program_of(name: str, app: str) -> Path:
    """The program of a preset, or a file."""
    path = Path(name)
    if path.is_file():
        return path
    if not name or os.sep in name or path.suffix in (".elf", ".o", ".axf"):
        raise LabError(f"{name!r} is no file")
    tools.ensure("size")
    return build.firmware(name, app)


def measure(path: Path) -> Anatomy:
    """All of it."""
    with readable(path):
        return _measured(path)


def _measured(path: Path) -> Anatomy:
    code = Code(path)  # which says what is wrong with the file
    types, lines = Types(path), Lines(path)
    if not types.is_known:
        raise LabError(f"{path} has no debug information: compile it with -g")
    shown = Shortened([*lines.files(), *(v.file for v in types.variables.values())])
    pieces = []
    for function in code.program.functions:
        place = lines.at(function.address)
        file = shown(place[0]) if place else UNKNOWN
        pieces.append(Piece(function.name, file, "text", function.size, function.address))
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        for name, address, size, kind in _objects(elf):
            variable = types.variables.get(address)
            pieces.append(Piece(name, shown(variable.file) if variable else UNKNOWN, kind, size))
        totals = _totals(elf)
    structures = [
        Structure(s.name, shown(s.file), s.size, s.holes) for s in types.structures.values()
    ]
    return Anatomy(path, pieces, structures, *_stack(code, types), totals)


def _stack(code: Code, types: Types) -> tuple[Stack | None, str]:
    """Or why there is none. It reads the file as it is asked, so it is asked here for all."""
    try:
        with readable(code.path):
            stack = Stack(code, types)
            _ = stack.deepest
        return stack, ""
    except LabError as problem:
        return None, str(problem)


class Shortened:
    """File names below the tree that they are of."""

    def __init__(self, names: list[str]) -> None:
        own = [n for n in names if n.startswith("/") and not n.startswith(("/usr/", f"{ROOT}/"))]
        common = os.path.commonpath(own) if len(own) > 1 else ""
        self._prefixes = [f"{ROOT}/", *([f"{common}/"] if len(common) > 1 else [])]

    def __call__(self, name: str) -> str:
        for prefix in self._prefixes:
            if name.startswith(prefix):
                return name.removeprefix(prefix)
        return name or UNKNOWN


def _kind(section: object) -> str:
    flags = section["sh_flags"]  # type: ignore[index]
    if not flags & SH_FLAGS.SHF_ALLOC:
        return ""
    if section["sh_type"] == "SHT_NOBITS":  # type: ignore[index]
        return "bss"
    if flags & SH_FLAGS.SHF_WRITE:
        return "data"
    return "text" if flags & SH_FLAGS.SHF_EXECINSTR else "rodata"


def _objects(elf: ELFFile) -> list[tuple[str, int, int, str]]:
    """Variables and constants: name, address, size, kind."""
    found: dict[int, tuple[str, int, int, str]] = {}
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if table else ():
        index = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(index, int):
            continue
        kind = _kind(elf.get_section(index))
        address = int(symbol["st_value"])
        if kind and symbol["st_size"]:
            kind = "rodata" if kind == "text" else kind  # constants that lie beside code
            found[address] = (symbol.name, address, int(symbol["st_size"]), kind)
    return list(found.values())


def _totals(elf: ELFFile) -> Counter[str]:
    """Of the sections, whatever is in them."""
    totals: Counter[str] = Counter()
    for section in elf.iter_sections():
        kind = _kind(section)
        if kind:
            totals[kind] += int(section["sh_size"])
    return totals


# ---- what is printed ----


def show(found: Anatomy, limit: int, terminal: Terminal) -> None:
    """One program."""
    whole = ", ".join(f".{kind} {found.totals[kind]}" for kind in KINDS)
    terminal.print(f"{found.path}: {whole}", style="bold", highlight=False, soft_wrap=True)
    terminal.print(SECTIONS, style="dim", highlight=False)
    _print(terminal, "by file", ["file", *KINDS], file_rows(found, limit))
    columns = ["function or object", "kind", "size", "frame", "depth", "file"]
    _print(terminal, "the largest", columns, piece_rows(found, limit))
    if found.stack is None:
        terminal.print(f"\nno stacks: {found.why_no_stack}", highlight=False, soft_wrap=True)
    else:
        _show_stack(found.stack, limit, terminal)
    columns = ["structure", "size", "in holes", "holes", "file"]
    _print(terminal, "structures, those with most in holes first", columns,
           structure_rows(found, limit))  # fmt: skip


def file_rows(found: Anatomy, limit: int) -> report.Rows:
    """The largest files, and the sum of all."""
    by_file = sorted(found.by_file.items(), key=lambda item: -item[1].total())
    rows = [[name, *(_or_dash(sizes[kind]) for kind in KINDS)] for name, sizes in by_file[:limit]]
    whole: Counter[str] = Counter()
    for sizes in found.by_file.values():
        whole.update(sizes)
    rows.append([f"all {len(by_file)} files", *(str(whole[kind]) for kind in KINDS)])
    rest = {kind: found.totals[kind] - whole[kind] for kind in KINDS}
    if rest["text"] + rest["rodata"] >= 0:  # constants may lie beside code, or by themselves
        rest["text"], rest["rodata"] = rest["text"] + rest["rodata"], 0
    rows.append(["strings, padding, no name", *(_or_dash(rest[kind]) for kind in KINDS)])
    return rows


def piece_rows(found: Anatomy, limit: int) -> report.Rows:
    """The largest functions and objects."""
    rows = []
    for piece in sorted(found.pieces, key=lambda p: (-p.size, p.name))[:limit]:
        frame = depth = "-"
        if found.stack and piece.kind == "text":
            label = found.stack.labels[piece.address]
            frame = str(found.stack.frames[label].size)
            depth = str(found.stack.deepest[label].depth)
        rows.append([piece.name, piece.kind, str(piece.size), frame, depth, piece.file])
    return rows


def structure_rows(found: Anatomy, limit: int) -> report.Rows:
    """Those with holes, then the largest."""
    ordered = sorted(found.structures, key=lambda s: (-s.padding, -s.size, s.name))
    return [
        [
            s.name,
            str(s.size),
            _or_dash(s.padding),
            ", ".join(f"{size} at {at}" for at, size in s.holes) or "-",
            s.file,
        ]
        for s in ordered[:limit]
    ]


def _show_stack(stack: Stack, limit: int, terminal: Terminal) -> None:
    columns = ["from", "depth", "through (each with its own frame)"]
    _print(terminal, "the deepest stacks, by who is called by nobody that is seen", columns,
           root_rows(stack))  # fmt: skip
    for line in remarks(stack, limit):
        terminal.print(line, highlight=False, markup=False)


def root_rows(stack: Stack) -> report.Rows:
    """The deepest ways."""
    return [
        [
            name,
            str(stack.deepest[name].depth),
            " ".join(f"{one}:{stack.frames[one].size}" for one in stack.deepest[name].path),
        ]
        for name in stack.roots[:ROOTS_SHOWN]
    ]


def remarks(stack: Stack, limit: int) -> list[str]:
    """What the depths do not hold, by name."""
    told = [
        f"unbounded: a circle of calls, each counted once: {', '.join(sorted(group))}"
        for group in stack.circles
    ]
    dynamic = [name for name, frame in stack.frames.items() if frame.is_dynamic]
    if dynamic:
        told.append(f"unbounded: a frame that grows as it runs: {', '.join(dynamic)}")
    by_code = [name for name, frame in stack.frames.items() if frame.is_by_code]
    if by_code:
        told.append(f"by what their code pushes, at most: {', '.join(by_code)}")
    if stack.unknown:
        told.append(
            f"not followed: {len(stack.unknown)} calls through pointers that are set as it runs:"
        )
        told += [f"  {pointer.caller}: {pointer.place}" for pointer in stack.unknown[:limit]]
        candidates = sorted(stack.taken & set(stack.roots), key=lambda n: -stack.deepest[n].depth)
        if candidates:
            worst = candidates[0]
            told.append(
                f"  each adds at most {stack.deepest[worst].depth} ({worst}), the deepest of the "
                f"{len(candidates)} functions that nobody calls by name and whose address is taken"
            )
    return told


def _or_dash(value: int) -> str:
    return str(value) if value else "-"


def _print(terminal: Terminal, title: str, columns: list[str], rows: report.Rows) -> None:
    if not rows:
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(columns):
        is_number = all(re.fullmatch(r"[-+]?\d+|-", row[index]) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    terminal.print(f"\n{title}", style="bold", highlight=False)
    terminal.print(table)


# ---- two builds ----


def difference_rows(old: dict, new: dict, limit: int) -> report.Rows:
    """What changed, the most first; both are sizes by a key of texts."""
    changed = [(key, old.get(key, 0), new.get(key, 0)) for key in {*old, *new}]
    moved = [one for one in changed if one[1] != one[2]]
    moved.sort(key=lambda one: (-abs(one[2] - one[1]), one[0]))
    return [[*key, _or_dash(before), _or_dash(after), f"{after - before:+d}"]
            for key, before, after in moved[:limit]]  # fmt: skip


def show_difference(old: Anatomy, new: Anatomy, limit: int, terminal: Terminal) -> None:
    """From one to another."""
    terminal.print(f"{old.path}  →  {new.path}", style="bold", highlight=False, soft_wrap=True)
    rows = [
        [f".{kind}", str(old.totals[kind]), str(new.totals[kind]),
         f"{new.totals[kind] - old.totals[kind]:+d}"]
        for kind in KINDS
    ]  # fmt: skip
    if old.stack and new.stack:
        depths = (old.deepest, new.deepest)
        rows.append(["deepest stack", *map(str, depths), f"{depths[1] - depths[0]:+d}"])
    _print(terminal, "in all", ["", "before", "after", "change"], rows)
    for title, columns, sizes in (
        ("by file", ["file"], _file_sizes),
        ("by function and object", ["file", "name", "kind"], _piece_sizes),
        ("frames", ["function"], _frame_sizes),
        ("structures", ["structure", "file"], _structure_sizes),
    ):
        rows = difference_rows(sizes(old), sizes(new), limit)
        _print(terminal, title, [*columns, "before", "after", "change"], rows)
        if not rows:
            terminal.print(f"\n{title}: no difference", highlight=False)


def _file_sizes(found: Anatomy) -> dict[tuple[str, ...], int]:
    return {(name,): sizes.total() for name, sizes in found.by_file.items()}


def _piece_sizes(found: Anatomy) -> dict[tuple[str, ...], int]:
    sizes: Counter[tuple[str, ...]] = Counter()
    for piece in found.pieces:
        sizes[piece.key] += piece.size
    return dict(sizes)


def _frame_sizes(found: Anatomy) -> dict[tuple[str, ...], int]:
    frames = found.stack.frames if found.stack else {}
    return {(_CLONE.sub("", name),): frame.size for name, frame in frames.items()}


def _structure_sizes(found: Anatomy) -> dict[tuple[str, ...], int]:
    return {(s.name, s.file): s.size for s in found.structures}


def run(name: str, against: str, app: str, limit: int, terminal: Terminal) -> int:
    """Prints it; of two, the difference."""
    paths = [program_of(one, app) for one in ([against] if against else []) + [name]]
    found = [measure(path) for path in paths]
    if against:
        show_difference(found[0], found[1], limit, terminal)
    else:
        show(found[0], limit, terminal)
    return 0
