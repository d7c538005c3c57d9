# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where a program's variables lie and what they are made of, from its debug information."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

_ADDRESS = 0x03  # DW_OP_addr
_TRANSPARENT = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type")


@dataclass(frozen=True)
class Memory:
    """A variable, or a part of one; `row` is the size of an array's element."""

    address: int
    size: int
    row: int


def find(program: Path, names: list[str]) -> dict[str, Memory]:
    """Those of some variables that a program has: `name`, `name.member`, and with
    `function:` before it, one that a function keeps for itself."""
    wanted: dict[str, list[str]] = {}
    for name in names:
        wanted.setdefault(name.partition(".")[0], []).append(name)
    found: dict[str, Memory] = {}
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        if not elf.has_dwarf_info():
            return {}
        for die, address in _variables(elf, set(wanted)):
            for name in wanted[_full_name(die)]:
                memory = _part(die, address, name.partition(".")[2])
                if memory:
                    found[name] = memory
    return found


def _declared(die: DIE) -> DIE:
    """Where it is said what it is, and not only where it lies: with link-time
    optimisation, or a declaration before it, that is elsewhere."""
    for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if attribute in die.attributes:
            return _declared(die.get_DIE_from_attribute(attribute))
    return die


def _name(die: DIE) -> str:
    name = _declared(die).attributes.get("DW_AT_name")
    return name.value.decode() if name else ""


def _full_name(die: DIE) -> str:
    """With the function's before it, of a variable that is a function's own."""
    parent = die.get_parent()
    owner = f"{_name(parent)}:" if parent and parent.tag == "DW_TAG_subprogram" else ""
    return owner + _name(die)


def _candidates(elf: ELFFile, functions: set[str]) -> Iterator[DIE]:
    for unit in elf.get_dwarf_info().iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            yield die
            if die.tag == "DW_TAG_subprogram" and _name(die) in functions:
                yield from die.iter_children()


def _variables(elf: ELFFile, wanted: set[str]) -> Iterator[tuple[DIE, int]]:
    functions = {name.partition(":")[0] for name in wanted if ":" in name}
    for die in _candidates(elf, functions):
        if die.tag == "DW_TAG_variable" and "DW_AT_location" in die.attributes:
            place = die.attributes["DW_AT_location"]
            if _full_name(die) in wanted:
                if place.value[0] == _ADDRESS:
                    word = "little" if elf.little_endian else "big"
                    yield die, int.from_bytes(bytes(place.value[1:]), word)


def _type(die: DIE) -> DIE:
    kind = _declared(die).get_DIE_from_attribute("DW_AT_type")
    while kind.tag in _TRANSPARENT:
        kind = kind.get_DIE_from_attribute("DW_AT_type")
    return kind


def _lengths(kind: DIE) -> list[int]:
    """Of an array, by dimension; of anything else, none."""
    bounds = [c for c in kind.iter_children() if c.tag == "DW_TAG_subrange_type"]
    return [b.attributes["DW_AT_upper_bound"].value + 1 for b in bounds]


def _size(kind: DIE) -> int:
    if kind.tag == "DW_TAG_array_type":
        size = _size(_type(kind))
        for length in _lengths(kind):
            size *= length
        return size
    return kind.attributes["DW_AT_byte_size"].value


def _part(die: DIE, address: int, member: str) -> Memory | None:
    kind = _type(die)
    if member:
        parts = [c for c in kind.iter_children() if _name(c) == member]
        if not parts:
            return None
        address += parts[0].attributes["DW_AT_data_member_location"].value
        kind = _type(parts[0])
    size = _size(kind)
    lengths = _lengths(kind) if kind.tag == "DW_TAG_array_type" else []
    return Memory(address, size, size // lengths[0] if lengths else size)
