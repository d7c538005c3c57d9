# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Code by the source file it came from, from a program's line table.

Link-time optimisation mixes the objects, so that the linker's map no longer says
what is whose; the line table still does, for each instruction. A function that was
inlined counts where it was written. Literal pools belong to the line before them.
"""

import os
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

from .elf import line_program
from .errors import LabError
from .paths import ROOT

# The board's own code, and the C library's four functions, are not Plumb's size.
_OTHERS = ("boards", "src/bytes/libc.c")


def _file_name(program: LineProgram, index: int) -> str:
    """The path of file `index`; DWARF counts files from 1 up to version 4, from 0 since."""
    header = program.header
    first = 0 if header["version"] >= 5 else 1
    entry = header["file_entry"][index - first]
    folder = entry["dir_index"] - first
    path = header["include_directory"][folder] if folder >= 0 else b""
    return os.path.join(os.fsdecode(path), os.fsdecode(entry["name"]))


def _ranges(program: LineProgram) -> list[tuple[int, int, str]]:
    found, before = [], None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before and state.address > before[0]:
            found.append((before[0], state.address, before[1]))
        before = None if state.end_sequence else (state.address, _file_name(program, state.file))
    return found


def _text_ranges(program: Path) -> set[tuple[int, int, str]]:
    """Of .text, from where to where it came from which file; relative to the tree, if it
    is a file of it."""
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        text = elf.get_section_by_name(".text")
        if text is None or not elf.has_dwarf_info():
            raise LabError(f"{program} has no .text with a line table")
        start, end = text["sh_addr"], text["sh_addr"] + text["sh_size"]
        dwarf = elf.get_dwarf_info()
        ranges = set()
        for unit in dwarf.iter_CUs():
            lines = line_program(unit)
            ranges.update(_ranges(lines) if lines else ())
    # Code that the linker dropped keeps its lines, at addresses below .text.
    return {
        (low, high, _relative(name)) for low, high, name in ranges if start <= low < high <= end
    }


def _relative(name: str) -> str:
    path = Path(os.path.normpath(name))
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


class Lines:
    """Source lines by address, of a program whose table is read once."""

    def __init__(self, program: Path) -> None:
        self._rows: list[tuple[int, int, str, int]] = []
        with program.open("rb") as stream:
            elf = ELFFile(stream)
            dwarf = elf.get_dwarf_info() if elf.has_dwarf_info() else None
            for unit in dwarf.iter_CUs() if dwarf else ():
                self._add(line_program(unit))
        self._rows.sort()

    def _add(self, program: LineProgram | None) -> None:
        before = None
        for entry in program.get_entries() if program else ():
            state = entry.state
            if state is None:
                continue
            if before and state.address > before.address:
                name = _file_name(program, before.file)
                self._rows.append((before.address, state.address, name, before.line))
            before = None if state.end_sequence else state

    def files(self) -> list[str]:
        """All of them."""
        return sorted({os.path.normpath(row[2]) for row in self._rows})

    def at(self, address: int) -> tuple[str, int] | None:
        """File and line; None where nothing is known."""
        index = bisect_right(self._rows, (address, 1 << 64, "", 0)) - 1
        if index < 0 or not self._rows[index][0] <= address < self._rows[index][1]:
            return None
        return os.path.normpath(self._rows[index][2]), self._rows[index][3]


class SourceLines:
    """Lines of source by address, and their text."""

    def __init__(self, program: Path) -> None:
        self._lines = Lines(program)
        self._texts: dict[str, list[str]] = {}

    def at(self, address: int) -> str:
        """`file:line  text`, as far as it is there."""
        place = self._lines.at(address)
        if place is None:
            return ""
        name, line = place
        lines = self._text(name)
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        shown = name.removeprefix(f"{ROOT}/")
        return f"{shown}:{line}  {text}".rstrip()

    def texts(self) -> Iterator[str]:
        """All source files that are there, whole."""
        for name in self._lines.files():
            yield "\n".join(self._text(name))

    def _text(self, name: str) -> list[str]:
        if name not in self._texts:
            path = Path(name)
            self._texts[name] = (
                path.read_text(errors="replace").splitlines() if path.is_file() else []
            )
        return self._texts[name]


def by_file(program: Path) -> Counter[str]:
    """Bytes of .text by source file, relative to the tree; only files within it."""
    sizes: Counter[str] = Counter()
    for low, high, name in _text_ranges(program):
        if not name.startswith(("/", "..")):  # the compiler's library has relative paths
            sizes[name] += high - low
    return sizes


class Sources:
    """Which source file an address of a program came from."""

    def __init__(self, program: Path) -> None:
        self._ranges = sorted(_text_ranges(program))
        self._starts = [low for low, _, _ in self._ranges]

    def at(self, address: int) -> str:
        """The file, relative to the tree if it is part of it; empty if nobody knows."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._ranges[index][1]:
            return ""
        return self._ranges[index][2]


def by_folder(program: Path) -> dict[str, int]:
    """The same by folder, of what is Plumb's: no board, no C library."""
    folders: dict[str, int] = defaultdict(int)
    for name, size in by_file(program).items():
        if not name.startswith(_OTHERS):
            folders["/".join(Path(name).parts[:2])] += size
    return dict(sorted(folders.items()))
