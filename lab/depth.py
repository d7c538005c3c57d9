# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How deep a program's stack can get: frames, calls, and the deepest way through them.

All of it is read from the linked program, so that inlining, link-time optimisation and
assembly are as they are. A frame's size is what the debug information says for unwinding
(which gcc's -fstack-usage agrees with, see the tests); without it, what the code pushes.
A call through a pointer is followed where its line in the source names a member of a
structure (`netif->driver->transmit(...)`) which initialised tables hold functions in, or the
source sets to one (`netif->input = receive;`): then any of these may be called. Where not,
it is named. A circle of calls counts each of its functions once, and is named, too.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import capstone
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from .code import Code
from .elf import Function
from .errors import LabError
from .lines import SourceLines
from .structures import Types

# The stack pointer's number in the debug information.
_POINTERS = {"EM_ARM": 13, "EM_AARCH64": 31, "EM_X86_64": 7, "EM_RISCV": 2}
_LOOK_BACK = 32  # instructions, for the other half of an address
# `owner->member(`, `owners[i].member(`, `(*owner->member)(`
_CALL = re.compile(r"(\w+)(?:\[[^\]]*\])?(?:->|\.)(\w+)\)?\s*\(")
_SETTING = re.compile(r"(\w+)(?:\[[^\]]*\])?(?:->|\.)(\w+)\s*=\s*&?(\w+)\s*;")
_RETURN_ADDRESS = {"EM_X86_64": 8}  # that a call pushes
# What makes room on the stack: by a number, and by what is calculated.
_TAKES = (
    re.compile(r"sub\S* r?sp, (?:sp, )?#?(0x[0-9a-f]+|\d+)$"),
    re.compile(r"add rsp, -(0x[0-9a-f]+|\d+)$"),
    re.compile(r"v?st[rp]d? .*\[sp, #-(0x[0-9a-f]+|\d+)\]!$"),
    re.compile(r"(?:c\.)?addi(?:16sp)? sp, (?:sp, )?-(0x[0-9a-f]+|\d+)$"),
)
_TAKES_CALCULATED = re.compile(
    r"sub\S* (r?sp), (sp, )?(r[a-z0-9]+|x\d+|[a-z]\d)\b|mov\S* sp, (?!r7|r11|fp|x29)|"
    r"c\.mv sp, (?!s0)"
)
_RETURN = re.compile(r"(bx|ret|br|jr|c\.jr)\s*(lr|ra|x30)?$")


@dataclass
class Frame:
    """What a function keeps on the stack by itself."""

    size: int = 0
    is_by_code: bool = False  # not by the debug information: at most
    is_dynamic: bool = False  # it has more, whose size is known when it runs


@dataclass(frozen=True)
class Pointer:
    """A call through a pointer."""

    caller: str
    place: str  # in the source, or the address
    targets: tuple[str, ...] = ()  # of tables; none: it is not known


@dataclass
class Deepest:
    """The worst there is from one function on."""

    depth: int
    path: list[str] = field(default_factory=list)


class Stack:
    """A program's frames and calls."""

    def __init__(self, code: Code, types: Types) -> None:
        if code.machine_name not in _POINTERS:
            known = ", ".join(name.removeprefix("EM_") for name in _POINTERS)
            raise LabError(f"stacks are read of {known} only, not of {code.machine_name}")
        self.code = code
        self.types = types
        self.calls: dict[str, set[str]] = {}
        self.pointers: list[Pointer] = []
        self.taken: set[str] = set()  # functions whose address code takes
        self.labels = self._label()
        for function in code.program.functions:
            self._read(function)

    def _label(self) -> dict[int, str]:
        """Functions' names by address; those of a name that several have, with their file."""
        functions = self.code.program.functions
        counts = Counter(function.name for function in functions)
        labels = {}
        for function in functions:
            labels[function.address] = function.name
            if counts[function.name] > 1:
                place = self._sources.at(function.address).partition(":")[0].rpartition("/")[2]
                labels[function.address] += f"({place or hex(function.address)})"
        return labels

    # ---- frames ----

    @cached_property
    def frames(self) -> dict[str, Frame]:
        """By function."""
        found = dict(_unwound(self.code.path, _POINTERS[self.code.machine_name]))
        return {
            self.labels[f.address]: self._frame(f, found.get(f.address))
            for f in self.code.program.functions
        }

    def _frame(self, function: Function, unwound: tuple[int, bool] | None) -> Frame:
        if unwound is not None and not unwound[1]:
            return Frame(unwound[0])
        # It has a frame pointer, whose distance from the stack's end is not told.
        size, is_dynamic = self._by_code(function)
        if unwound is None:
            return Frame(size, is_by_code=True, is_dynamic=is_dynamic)
        return Frame(max(size, unwound[0]), is_dynamic=is_dynamic)

    def _by_code(self, function: Function) -> tuple[int, bool]:
        """All that is ever pushed in it, and whether it takes what it calculates."""
        size, is_dynamic = _RETURN_ADDRESS.get(self.code.machine_name, 0), False
        for decoded in self.code.decoded(function):
            text = f"{decoded.mnemonic} {decoded.op_str}"
            is_dynamic |= bool(_TAKES_CALCULATED.match(text))
            match = next(filter(None, (pattern.match(text) for pattern in _TAKES)), None)
            if match:
                size += int(match[1], 0)
            elif re.match(r"(v?push|stmdb\S* sp!)", text):
                size += self._pushed(decoded, text)
        return size, is_dynamic

    def _pushed(self, decoded: Any, text: str) -> int:
        if self.code.machine_name == "EM_X86_64":
            return 8
        registers = sum(o.type == capstone.CS_OP_REG for o in decoded.operands)
        return (8 if text.startswith("v") else 4) * (registers - text.startswith("stm"))

    # ---- calls ----

    def _read(self, function: Function) -> None:
        called = self.calls.setdefault(self.labels[function.address], set())
        before: list[Any] = []
        for decoded in self.code.decoded(function):
            if self.code.leaves(decoded):
                self._take(function, decoded, before, called)
            self._take_address(decoded, before)
            before.append(decoded)
        self._take_literals(function)

    def _take(
        self, function: Function, decoded: Any, before: list[Any], called: set[str]
    ) -> None:
        target = self._target(decoded)
        if target is not None:
            name = self._function_at(target)
            is_inside = function.address <= target < function.address + function.size
            if name and (not is_inside or target == function.address and self._is_call(decoded)):
                called.add(name)
            return
        if _RETURN.match(f"{decoded.mnemonic} {decoded.op_str}".strip()):
            return
        if not self._is_through_pointer(decoded):
            return
        called.update(self._point(function, decoded.address))

    def _point(self, function: Function, address: int) -> tuple[str, ...]:
        """Notes a call through a pointer; what it may call."""
        line = self._sources.at(address)
        found = _CALL.findall(line)
        targets = tuple(
            sorted(
                target
                for owner, member in found
                for kind in self.types.kinds.get(owner, ())
                for target in self.tables.get(f"{kind}.{member}", ())
            )
        )
        place = line or f"{address:#x}"
        self.pointers.append(Pointer(self.labels[function.address], place, targets))
        return targets

    @cached_property
    def _sources(self) -> SourceLines:
        return SourceLines(self.code.path)

    def _is_call(self, decoded: Any) -> bool:
        return capstone.CS_GRP_CALL in decoded.groups or decoded.mnemonic.startswith("bl")

    def _target(self, decoded: Any) -> int | None:
        match = re.search(r"(?:#|^|\s)(-?0x[0-9a-f]+)$", decoded.op_str)
        if match is None:
            return None
        start = decoded.address if self.code.machine_name == "EM_RISCV" else 0
        return start + int(match[1], 16)

    def _is_through_pointer(self, decoded: Any) -> bool:
        """And not through a table of the function's own, as of a switch."""
        name, operands = decoded.mnemonic, decoded.op_str
        if self.code.machine_name == "EM_ARM":
            is_register = re.fullmatch(r"[a-z]\w*", operands) and operands not in ("lr", "pc")
            return bool(is_register and re.match(r"bl?x", name))
        return name in ("blr", "call", "c.jalr", "jalr", "c.jr", "jr")

    def _function_at(self, address: int) -> str:
        function = self.code.program.function_at(address)
        return self.labels[function.address] if function else ""

    # ---- pointers ----

    @cached_property
    def tables(self) -> dict[str, set[str]]:
        """The functions that initialised tables hold, by the member's name."""
        found: dict[str, set[str]] = {}
        with self.code.path.open("rb") as stream:
            elf = ELFFile(stream)
            size = elf.elfclass // 8
            order = "little" if elf.little_endian else "big"
            thumb = elf["e_machine"] == "EM_ARM"
            sections = [
                (int(s["sh_addr"]), s.data())
                for s in elf.iter_sections()
                if s["sh_type"] == "SHT_PROGBITS" and s["sh_addr"]
            ]
        for address, variable in self.types.variables.items():
            for offset, member in variable.pointers:
                value = int.from_bytes(_content(sections, address + offset, size), order)
                name = self.labels.get(value & ~int(thumb)) if value else None
                if name:
                    found.setdefault(member, set()).add(name)
        for owner, member, name in self._set_in_source():
            for kind in self.types.kinds.get(owner, ()):
                found.setdefault(f"{kind}.{member}", set()).add(name)
        return found

    def _set_in_source(self) -> Iterator[tuple[str, str, str]]:
        """What the source sets members of structures to, as far as it is functions."""
        names = set(self.labels.values())
        for text in self._sources.texts():
            for owner, member, name in _SETTING.findall(text):
                if name in names:
                    yield owner, member, name

    def _take_address(self, decoded: Any, before: list[Any]) -> None:
        """MOVW and MOVT of an ARM put an address together."""
        if self.code.machine_name != "EM_ARM" or not decoded.mnemonic.startswith("movt"):
            return
        register, _, high = decoded.op_str.partition(", #")
        for earlier in reversed(before[-_LOOK_BACK:]):
            if earlier.mnemonic.startswith("movw") and earlier.op_str.startswith(f"{register}, #"):
                low = int(earlier.op_str.partition("#")[2], 0)
                self._note(int(high, 0) << 16 | low)
                return

    def _take_literals(self, function: Function) -> None:
        if self.code.machine_name != "EM_ARM":
            return
        data = self.code.content(function.address, function.size)
        for at in range(-function.address % 4, len(data) - 3, 4):
            self._note(int.from_bytes(data[at : at + 4], "little"))

    def _note(self, value: int) -> None:
        name = self.labels.get(value & ~1)
        if name:
            self.taken.add(name)

    # ---- the deepest ----

    @cached_property
    def circles(self) -> list[list[str]]:
        """Functions that reach themselves, in groups that reach each other."""
        return [
            group
            for group in _components(self.calls)
            if len(group) > 1 or group[0] in self.calls.get(group[0], ())
        ]

    @cached_property
    def deepest(self) -> dict[str, Deepest]:
        """By function: what it takes with all that it calls."""
        found: dict[str, Deepest] = {}
        for group in _components(self.calls):  # who is called comes before who calls
            own = sum(self.frames[name].size for name in group)
            members = set(group)
            below = [
                found[called]
                for name in group
                for called in self.calls[name]
                if called not in members
            ]
            worst = max(below, key=lambda one: one.depth, default=Deepest(0))
            for name in group:
                rest = [other for other in group if other != name]
                found[name] = Deepest(own + worst.depth, [name, *rest, *worst.path])
        return found

    @cached_property
    def roots(self) -> list[str]:
        """Functions that nobody is seen to call, the deepest first."""
        called = {name for callers in self.calls.values() for name in callers}
        names = [name for name in self.calls if name not in called]
        return sorted(names, key=lambda name: -self.deepest[name].depth)

    @property
    def unknown(self) -> list[Pointer]:
        """Calls through pointers that no table tells the targets of."""
        return [pointer for pointer in self.pointers if not pointer.targets]


def _unwound(path: Path, pointer: int) -> Iterator[tuple[int, tuple[int, bool]]]:
    """From the debug information, by the functions' addresses: how far the stack's end gets
    from where it was at the call, and whether it is not told of all the way."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        if not elf.has_dwarf_info():
            return
        dwarf = elf.get_dwarf_info()
        entries = list(dwarf.CFI_entries()) if dwarf.has_CFI() else []
        entries += list(dwarf.EH_CFI_entries()) if dwarf.has_EH_CFI() else []
        thumb = elf["e_machine"] == "EM_ARM"
        for entry in entries:
            if isinstance(entry, FDE):
                rules = [row["cfa"] for row in entry.get_decoded().table if "cfa" in row]
                known = [rule for rule in rules if rule.reg is not None]
                size = max((rule.offset for rule in known), default=0)
                has_pointer = any(rule.reg != pointer for rule in known)
                yield entry["initial_location"] & ~int(thumb), (size, has_pointer)


def _content(sections: list[tuple[int, bytes]], address: int, size: int) -> bytes:
    """What lies at an address when the program starts; nothing where that is not given."""
    for start, data in sections:
        if start <= address and address + size <= start + len(data):
            return data[address - start : address - start + size]
    return b""


def _components(calls: dict[str, set[str]]) -> list[list[str]]:
    """Functions that reach each other, those that are called before those that call
    (Tarjan's way, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    held: list[str] = []
    is_held: set[str] = set()
    found: list[list[str]] = []
    for first in calls:
        if first in index:
            continue
        work = [(first, iter(sorted(calls[first])))]
        index[first] = low[first] = len(index)
        held.append(first)
        is_held.add(first)
        while work:
            name, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    found.append(_popped(held, is_held, name))
            elif following not in index:
                index[following] = low[following] = len(index)
                held.append(following)
                is_held.add(following)
                work.append((following, iter(sorted(calls.get(following, ())))))
            elif following in is_held:
                low[name] = min(low[name], index[following])
    return found


def _popped(held: list[str], is_held: set[str], until: str) -> list[str]:
    group = []
    while True:
        name = held.pop()
        is_held.discard(name)
        group.append(name)
        if name == until:
            return group
