# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a program's ELF file tells: functions, and where an address comes from."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

from .errors import LabError


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Says of a user's file what its reader trips over, which takes a file for whole: of a
    damaged one it raises whatever comes up."""
    try:
        yield
    except LabError:
        raise
    except ELFError as problem:
        raise LabError(f"{path} is no ELF file: {problem}") from problem
    except Exception as problem:
        if getattr(problem, "filename", None):
            raise  # it could not even be opened
        told = f"{type(problem).__name__} {problem}".strip()
        raise LabError(f"{path} cannot be read, it is damaged: {told}") from problem


def checked(path: Path) -> Path:
    """A file that is a linked program."""
    if not path.is_file():
        raise LabError(f"{path} is no file")
    with readable(path), path.open("rb") as stream:
        kind = ELFFile(stream)["e_type"]
    if kind not in ("ET_EXEC", "ET_DYN"):
        raise LabError(f"{path} is not linked: give the program that is made of it")
    return path


def line_program(unit: CompileUnit) -> LineProgram | None:
    """Of a unit; None where there is none, or the table was taken out of the file."""
    dwarf = unit.dwarfinfo
    return dwarf.line_program_for_CU(unit) if dwarf.debug_line_sec else None


@dataclass(frozen=True, order=True)
class Function:
    """A function's place."""

    address: int
    size: int
    name: str
    is_thumb: bool = False


class Program:
    """An ELF file, read once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def functions(self) -> list[Function]:
        """All functions, by address; of several names for one place, the first."""
        with self.path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            symbols = list(table.iter_symbols()) if table else []
        found: dict[int, Function] = {}
        for symbol in symbols:
            address, size = symbol["st_value"] & ~self._thumb, symbol["st_size"]
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
                if size > (found[address].size if address in found else 0):
                    is_thumb = bool(symbol["st_value"] & self._thumb)
                    found[address] = Function(address, size, symbol.name, is_thumb)
        return self._without_overlap(sorted(found.values()))

    @staticmethod
    def _without_overlap(functions: list[Function]) -> list[Function]:
        apart: list[Function] = []
        for function in functions:
            if not apart or function.address >= apart[-1].address + apart[-1].size:
                apart.append(function)
        return apart

    @cached_property
    def _starts(self) -> list[int]:
        return [function.address for function in self.functions]

    def function_at(self, address: int) -> Function | None:
        """The function that holds an address."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.functions[index].address + self.functions[index].size:
            return None
        return self.functions[index]

    @cached_property
    def _thumb(self) -> int:
        with self.path.open("rb") as file:
            return 1 if ELFFile(file)["e_machine"] == "EM_ARM" else 0

    @cached_property
    def code_start(self) -> int:
        """Where its first executable segment begins."""
        with self.path.open("rb") as file:
            loaded = list(ELFFile(file).iter_segments("PT_LOAD"))
            code = [int(s["p_vaddr"]) for s in loaded if s["p_flags"] & P_FLAGS.PF_X]
            return min(code, default=0)

    def section(self, name: str) -> tuple[int, int] | None:
        """Where a section lies, and its size; None: there is none of that name."""
        with self.path.open("rb") as file:
            found = ELFFile(file).get_section_by_name(name)
            return (int(found["sh_addr"]), int(found["sh_size"])) if found else None

    def symbol_at(self, address: int) -> str:
        """`function+0x12`, or the bare address outside every function."""
        function = self.function_at(address)
        if function:
            return f"{function.name}+{address - function.address:#x}"
        return f"{address:#x}"

    def line_at(self, address: int) -> str:
        """`file:line` by the debug information, or an empty string."""
        with self.path.open("rb") as file:
            elf = ELFFile(file)
            if not elf.has_dwarf_info():
                return ""
            dwarf = elf.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                found = self._line_in_unit(unit, address)
                if found:
                    return found
        return ""

    @staticmethod
    def _line_in_unit(unit: CompileUnit, address: int) -> str:
        program = line_program(unit)
        previous = None
        for entry in program.get_entries() if program else ():
            state = entry.state
            if state is None:
                continue
            if previous is not None and previous.address <= address < state.address:
                index = previous.file - (1 if program["version"] < 5 else 0)
                name = program["file_entry"][index].name.decode()
                return f"{name}:{previous.line}"
            previous = None if state.end_sequence else state
        return ""

    def place(self, address: int) -> str:
        """Symbol and, where known, the source line."""
        line = self.line_at(address)
        return f"{self.symbol_at(address)}" + (f" ({line})" if line else "")

    def address_of(self, name: str) -> int | None:
        """Where a symbol of any kind stands."""
        with self.path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            found = table.get_symbol_by_name(name) if table else None
            return found[0]["st_value"] if found else None

    def write_function_map(self, path: Path, more: Iterable[str] = ()) -> None:
        """Writes the map that the emulator's plugins read; `more` lines are a plugin's own."""
        lines = [f"code {self.code_start:x}"]
        for function in self.functions:
            state = " thumb" if function.is_thumb else ""
            place = f"{function.address:x} {function.size:x}"
            lines.append(f"function {place} {function.name[:127]}{state}")
        lines += more
        path.write_text("\n".join(lines) + "\n")


