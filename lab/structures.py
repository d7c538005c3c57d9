# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a program's data are made of, by its debug information: structures with the holes
between their members, and where each variable was written."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from .elf import line_program

ROWS_MAX = 4096  # of an array that are looked at
_ADDRESS = 0x03  # DW_OP_addr
_NAMED_ONLY = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type",
               "DW_TAG_restrict_type", "DW_TAG_atomic_type")  # fmt: skip
_KINDS = {"DW_TAG_structure_type": "struct", "DW_TAG_union_type": "union",
          "DW_TAG_class_type": "class"}  # fmt: skip


@dataclass(frozen=True)
class Structure:
    """A structure or union as it lies in memory."""

    name: str
    file: str
    size: int
    holes: tuple[tuple[int, int], ...] = ()  # offset and bytes of each, the end's included

    @property
    def padding(self) -> int:
        """Bytes that nothing is kept in."""
        return sum(size for _, size in self.holes)


@dataclass(frozen=True)
class Variable:
    """A variable's place in the source, and the pointers to functions in it: the offset
    of each, and what it is called: `struct driver.start`."""

    file: str
    pointers: tuple[tuple[int, str], ...] = ()


class Types:
    """A program's debug information, read once."""

    def __init__(self, program: Path) -> None:
        self.structures: dict[tuple[str, str], Structure] = {}
        self.variables: dict[int, Variable] = {}
        # What a name can stand for in the source: structures, by variables and members.
        self.kinds: dict[str, set[str]] = {}
        with program.open("rb") as stream:
            elf = ELFFile(stream)
            self._order = "little" if elf.little_endian else "big"
            self._word = elf.elfclass // 8
            self.is_known = elf.has_dwarf_info(strict=True)
            for unit in elf.get_dwarf_info().iter_CUs() if self.is_known else ():
                self._read(unit)

    def _read(self, unit: CompileUnit) -> None:
        files = Files(unit)
        for die in unit.iter_DIEs():
            if die.tag in ("DW_TAG_member", "DW_TAG_variable", "DW_TAG_formal_parameter"):
                self._read_kind(die)
            if die.tag == "DW_TAG_variable":
                self._read_variable(die, files)
            elif die.tag in _KINDS and "DW_AT_byte_size" in die.attributes:
                self._read_structure(die, files)

    def _read_kind(self, die: DIE) -> None:
        kind = _type(die)
        while kind is not None and kind.tag in ("DW_TAG_pointer_type", "DW_TAG_array_type"):
            kind = _type(kind)
        if _name(die) and kind is not None and kind.tag in _KINDS:
            self.kinds.setdefault(_name(die), set()).add(_title(kind))

    def _read_variable(self, die: DIE, files: "Files") -> None:
        place = die.attributes.get("DW_AT_location")
        if not place or not isinstance(place.value, list) or place.value[:1] != [_ADDRESS]:
            return
        address = int.from_bytes(bytes(place.value[1:]), self._order)  # type: ignore[arg-type]
        declared = _origin(die)
        typed = die if "DW_AT_type" in die.attributes else declared
        pointers = tuple(self._pointers(typed, 0, _name(declared)))
        self.variables[address] = Variable(files.of(die) or files.of(declared), pointers)

    def _read_structure(self, die: DIE, files: "Files") -> None:
        title = _title(die)
        if not title:
            return  # it belongs to the one around it
        size, file = die.attributes["DW_AT_byte_size"].value, files.of(die)
        holes = () if die.tag == "DW_TAG_union_type" else tuple(self._holes(die, size))
        self.structures[title, file] = Structure(title, file, size, holes)

    def _holes(self, die: DIE, size: int) -> Iterator[tuple[int, int]]:
        at = 0
        for start, length in sorted(self._members(die)):
            if start > at:
                yield at, start - at
            at = max(at, start + length)
        if size > at:
            yield at, size - at

    def _members(self, die: DIE) -> Iterator[tuple[int, int]]:
        """Offset and size; a bit field is all of the bytes that it has a bit in."""
        for child in die.iter_children():
            if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
                continue
            bits = child.attributes.get("DW_AT_data_bit_offset")
            if bits:
                width = child.attributes["DW_AT_bit_size"].value
                first, last = bits.value // 8, (bits.value + width - 1) // 8
                yield first, last - first + 1
                continue
            place = child.attributes.get("DW_AT_data_member_location")
            start = place.value if place and isinstance(place.value, int) else 0
            yield start, self._size(child)

    def _size(self, die: DIE) -> int:
        return self._size_of(_type(die))

    def _size_of(self, kind: DIE | None) -> int:
        if kind is None:
            return 0
        if kind.tag == "DW_TAG_array_type":
            size = self._size(kind)
            for length in _lengths(kind):
                size *= length
            return size
        size = kind.attributes.get("DW_AT_byte_size")
        return size.value if size else self._word if kind.tag == "DW_TAG_pointer_type" else 0

    def _pointers(self, die: DIE, at: int, name: str) -> Iterator[tuple[int, str]]:
        """Of what a variable, a member or an element is: the pointers to functions."""
        kind = _type(die)
        if kind is None:
            return
        if kind.tag == "DW_TAG_pointer_type":
            to = _type(kind)
            if to is not None and to.tag == "DW_TAG_subroutine_type":
                yield at, name
        elif kind.tag == "DW_TAG_array_type":
            size = self._size_of(_type(kind))
            count = 1
            for length in _lengths(kind):
                count *= length
            first = tuple(self._pointers(kind, 0, name))
            for index in range(min(count, ROWS_MAX) if first else 0):
                yield from ((at + index * size + offset, member) for offset, member in first)
        elif kind.tag in _KINDS:
            for child in kind.iter_children():
                if child.tag == "DW_TAG_member":
                    place = child.attributes.get("DW_AT_data_member_location")
                    start = place.value if place and isinstance(place.value, int) else 0
                    inner = f"{_title(kind)}.{_name(child)}" if _name(child) else name
                    yield from self._pointers(child, at + start, inner)


class Files:
    """The files that a unit's declarations are in."""

    def __init__(self, unit: CompileUnit) -> None:
        self._unit = unit

    @cached_property
    def _names(self) -> list[str]:
        program = line_program(self._unit)
        if program is None:
            return []
        is_new = program.header["version"] >= 5
        folders = [os.fsdecode(name) for name in program.header["include_directory"]]
        names = [] if is_new else [""]
        for entry in program.header["file_entry"]:
            index = entry["dir_index"] - (0 if is_new else 1)
            folder = folders[index] if 0 <= index < len(folders) else ""
            names.append(os.path.normpath(os.path.join(folder, os.fsdecode(entry["name"]))))
        return names

    def of(self, die: DIE) -> str:
        """Of one declaration; empty if it does not say."""
        index = die.attributes.get("DW_AT_decl_file")
        return self._names[index.value] if index and index.value < len(self._names) else ""


def _name(die: DIE) -> str:
    name = die.attributes.get("DW_AT_name")
    return name.value.decode(errors="replace") if name else ""


def _name_of_typedef(die: DIE) -> str:
    """Of a structure without a name, that of the type which is nothing but it."""
    parent = die.get_parent()
    for other in parent.iter_children() if parent else ():
        if other.tag == "DW_TAG_typedef" and "DW_AT_type" in other.attributes:
            if other.get_DIE_from_attribute("DW_AT_type").offset == die.offset:
                return _name(other)
    return ""


def _title(die: DIE) -> str:
    """`struct name`; empty if it has none."""
    name = _name(die) or _name_of_typedef(die)
    return f"{_KINDS[die.tag]} {name}" if name else ""


def _origin(die: DIE) -> DIE:
    """What a variable was declared as, where its place stands elsewhere."""
    for reference in ("DW_AT_specification", "DW_AT_abstract_origin"):
        if reference in die.attributes:
            return _origin(die.get_DIE_from_attribute(reference))
    return die


def _type(die: DIE) -> DIE | None:
    while die is not None and "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag not in _NAMED_ONLY:
            return die
    return None


def _lengths(kind: DIE) -> list[int]:
    lengths = []
    for child in kind.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            bound = child.attributes.get("DW_AT_upper_bound")
            count = child.attributes.get("DW_AT_count")
            known = bound and isinstance(bound.value, int)
            lengths.append(bound.value + 1 if known else count.value if count else 0)
    return lengths
