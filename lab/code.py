# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A linked program's instructions, by function, and what each does to memory.

Read by capstone; lab/disassembly.py reads object files that are not linked yet. What a
compiler makes of data whose alignment it does not know is looked for in straight pieces
of code: words that are put together of single bytes, and calls of a copy whose length is
a small constant.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import capstone
from elftools.elf.elffile import ELFFile

from .elf import Function, Program, checked, readable
from .errors import LabError

MEMORY = 3  # the kind of an operand, as every processor of capstone's numbers it
WINDOW = 12  # instructions before a call, in which its length may be set
SMALL = 16  # bytes; a copy of no more should be no call
_ENDS = (capstone.CS_GRP_JUMP, capstone.CS_GRP_CALL, capstone.CS_GRP_RET)
_JUMP = re.compile(r"(c\.)?(b|j|call|ret)")
_COPY = re.compile(r"(__)?(aeabi_)?mem(cpy|move|set|clr|cmp)\d?(_\w+)?")
_SHIFT = re.compile(r"\b(ls[lr]s?|sh[lr]|s[lr]l[iwx]*|srai?w?|ubfx|bfi)\b")
_BY_BYTES = re.compile(r"(#|, )(8|16|24|0x8|0x10|0x18)\b")


@dataclass(frozen=True)
class Instruction:
    """One instruction; `loads` and `stores` are the widths of its accesses."""

    address: int
    text: str
    loads: tuple[int, ...] = ()
    stores: tuple[int, ...] = ()


@dataclass
class Findings:
    """What the code of one function does to memory, by what is written in it."""

    function: Function
    instructions: int = 0
    loads: Counter[int] = field(default_factory=Counter)  # by width in bytes
    stores: Counter[int] = field(default_factory=Counter)
    split_loads: int = 0  # words of which the bytes are loaded one by one, or by LWL and LWR
    split_stores: int = 0
    copies: Counter[int] = field(default_factory=Counter)  # small calls, by length


@dataclass(frozen=True)
class Machine:
    """How a processor's instructions are read."""

    architecture: int
    mode: int
    reader: str  # of the widths, below
    length: str  # the register of a copy's length, as a pattern that it is set by
    has_delay_slot: bool = False


_ARM_LENGTH = r"mov[sw]?(\.w)?\s+r2, #(\w+)$"
_MACHINES = {
    "EM_ARM": Machine(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM, "arm", _ARM_LENGTH),
    "EM_AARCH64": Machine(
        capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM, "aarch64", r"movz?( )[wx]2, #(\w+)$"
    ),
    "EM_X86_64": Machine(
        capstone.CS_ARCH_X86, capstone.CS_MODE_64, "x86", r"mov(abs)? [er]dx, (\w+)$"
    ),
    "EM_386": Machine(capstone.CS_ARCH_X86, capstone.CS_MODE_32, "x86", r"(?!)()()"),
    "EM_MIPS": Machine(
        capstone.CS_ARCH_MIPS, capstone.CS_MODE_MIPS32, "plain",
        r"(addiu|ori|li) \$a2, (?:\$zero, )?(\w+)$", has_delay_slot=True,
    ),
    "EM_RISCV": Machine(
        capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCVC, "plain",
        r"(addi|c\.li|li) a2, (?:zero, )?(\w+)$",
    ),
    "EM_SPARC": Machine(
        capstone.CS_ARCH_SPARC, 0, "plain", r"(mov|or) (?:%g0, )?(\w+), %o2$", has_delay_slot=True
    ),
    "EM_SPARCV9": Machine(
        capstone.CS_ARCH_SPARC, capstone.CS_MODE_V9, "plain",
        r"(mov|or) (?:%g0, )?(\w+), %o2$", has_delay_slot=True,
    ),
}  # fmt: skip
_MACHINES["EM_SPARC32PLUS"] = _MACHINES["EM_SPARC"]


class Code:
    """A program's instructions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.program = Program(checked(path))
        with readable(path):
            with path.open("rb") as stream:
                self._read(ELFFile(stream))
            if not self.program.functions:
                raise LabError(f"{path} has no symbols of functions: was it stripped?")

    def _read(self, elf: ELFFile) -> None:
        self.machine_name: str = elf["e_machine"]
        if self.machine_name not in _MACHINES:
            known = ", ".join(_MACHINES)
            raise LabError(f"{self.path} is for {self.machine_name}; known are: {known}")
        self._machine = _MACHINES[self.machine_name]
        mode = self._machine.mode
        if self.machine_name in ("EM_MIPS", "EM_RISCV") and elf.elfclass == 64:
            mode |= {"EM_MIPS": capstone.CS_MODE_MIPS64, "EM_RISCV": capstone.CS_MODE_RISCV64}[
                self.machine_name
            ]
        elif self.machine_name == "EM_RISCV":
            mode |= capstone.CS_MODE_RISCV32
        # Instructions of a big-endian ARM or AArch64 lie as its data do, but for BE8.
        is_big = not elf.little_endian and not elf["e_flags"] & 0x00800000
        self._mode = mode | (capstone.CS_MODE_BIG_ENDIAN if is_big else 0)
        self._sections = [
            (int(s["sh_addr"]), s.data())
            for s in elf.iter_sections()
            if s["sh_type"] == "SHT_PROGBITS" and s["sh_flags"] & 4  # executable
        ]
        self._marks = self._mapping_symbols(elf)

    @staticmethod
    def _mapping_symbols(elf: ELFFile) -> list[tuple[int, str]]:
        """Where an ARM's code and data change places: `$a`, `$t`, `$d`."""
        table = elf.get_section_by_name(".symtab")
        names = [
            (int(s["st_value"]), s.name[:2])
            for s in (table.iter_symbols() if table else ())
            if re.match(r"\$[atdx](\.|$)", s.name)
        ]
        return sorted(names)

    @cached_property
    def _readers(self) -> dict[bool, Any]:
        """By whether it is Thumb."""
        readers = {False: capstone.Cs(self._machine.architecture, self._mode)}
        if self.machine_name == "EM_ARM":
            big = self._mode & capstone.CS_MODE_BIG_ENDIAN
            thumb = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | big
            readers[True] = capstone.Cs(capstone.CS_ARCH_ARM, thumb)
        for reader in readers.values():
            reader.detail = True
            reader.skipdata = True
        return readers

    def content(self, start: int, size: int) -> bytes:
        """Of code, or what lies in between."""
        for address, data in self._sections:
            if address <= start and start + size <= address + len(data):
                return data[start - address : start - address + size]
        return b""

    def _pieces(self, function: Function) -> Iterator[tuple[int, int]]:
        """Its code without the data that lies in between."""
        end = function.address + function.size
        at, is_data = function.address, False
        for address, mark in self._marks:
            if address >= end:
                break
            if address <= function.address:
                is_data = mark == "$d"
                continue
            if not is_data:
                yield at, address
            at, is_data = address, mark == "$d"
        if not is_data:
            yield at, end

    def decoded(self, function: Function) -> Iterator[Any]:
        """A function's instructions as capstone tells of them."""
        reader = self._readers[function.is_thumb]
        for start, end in self._pieces(function):
            for decoded in reader.disasm(self.content(start, end - start), start):
                if decoded.id:  # not data that was skipped
                    yield decoded

    def instruction(self, address: int) -> Instruction | None:
        """The one at an address."""
        for function in self.program.functions:
            if function.address <= address < function.address + function.size:
                return next(
                    (i for i in self.instructions(function) if i.address == address), None
                )
        return None

    def instructions(self, function: Function) -> Iterator[Instruction]:
        """All of a function's."""
        for decoded in self.decoded(function):
            yield self._instruction(decoded)

    def _instruction(self, decoded: Any) -> Instruction:
        loads, stores = _READERS[self._machine.reader](decoded)
        text = f"{decoded.mnemonic} {decoded.op_str}".strip()
        return Instruction(decoded.address, text, loads, stores)

    # ---- what is found in it ----

    def findings(self) -> list[Findings]:
        """Of every function."""
        return [self._of_function(function) for function in self.program.functions]

    def _of_function(self, function: Function) -> Findings:
        found = Findings(function)
        piece: list[tuple[Any, Instruction]] = []
        ended = False
        for decoded in self.decoded(function):
            one = self._instruction(decoded)
            found.instructions += 1
            found.loads.update(one.loads)
            found.stores.update(one.stores)
            piece.append((decoded, one))
            was_end, ended = ended, self.leaves(decoded)
            if (ended and not self._machine.has_delay_slot) or was_end:
                self._take(found, piece)
                piece = []
        self._take(found, piece)
        return found

    def _take(self, found: Findings, piece: list[tuple[Any, Instruction]]) -> None:
        """A straight piece of code: one way in, as far as can be seen, and one out."""
        found.split_loads += sum(decoded.mnemonic == "lwl" for decoded, _ in piece)  # and lwr
        found.split_stores += sum(decoded.mnemonic == "swl" for decoded, _ in piece)
        shifts = [one for _, one in piece if _SHIFT.search(one.text) and _BY_BYTES.search(one.text)]
        if shifts:
            found.split_loads += split_words(piece, is_store=False)
            found.split_stores += split_words(piece, is_store=True)
        length = self._copied(piece)
        if length is not None:
            found.copies[length] += 1

    def _copied(self, piece: list[tuple[Any, Instruction]]) -> int | None:
        """The length of a small copy that the piece ends with a call of."""
        at = next((i for i, (d, _) in enumerate(piece) if self._calls_copy(d)), None)
        if at is None:
            return None
        last = at + 2 if self._machine.has_delay_slot else at
        for _, one in reversed(piece[max(0, at - WINDOW) : last]):
            match = re.match(self._machine.length, one.text)
            if match:
                value = int(match[2], 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", match[2]) else -1
                return value if 0 < value <= SMALL else None
        return None

    def _calls_copy(self, decoded: Any) -> bool:
        target = re.search(r"(?:#|^|\s)(-?0x[0-9a-f]+)$", decoded.op_str)
        if not target or not self.leaves(decoded):
            return False
        # Of RISC-V the reader tells how far it is, of others where.
        start = decoded.address if self.machine_name == "EM_RISCV" else 0
        return bool(_COPY.fullmatch(self._names.get(start + int(target[1], 16), "")))

    def leaves(self, decoded: Any) -> bool:
        """Whether it jumps; of some processors the reader does not tell."""
        if any(group in _ENDS for group in decoded.groups):
            return True
        return self._machine.reader == "plain" and bool(_JUMP.match(decoded.mnemonic))

    @cached_property
    def _names(self) -> dict[int, str]:
        return {function.address: function.name for function in self.program.functions}


def split_words(piece: list[tuple[Any, Instruction]], is_store: bool) -> int:
    """How many words of 2, 4 or 8 bytes are accessed byte by byte: runs of neighbours
    from one register, as long as that is not written to."""
    runs: dict[tuple[int, int], set[int]] = {}
    version: Counter[int] = Counter()
    for decoded, one in piece:
        if (one.stores if is_store else one.loads) == (1,):
            operand = next((o for o in decoded.operands if o.type == MEMORY), None)
            if operand is not None and operand.mem.base:
                base = operand.mem.base
                runs.setdefault((base, version[base]), set()).add(operand.mem.disp)
        if not one.stores and decoded.operands:
            first = decoded.operands[0]
            if first.type == capstone.CS_OP_REG:
                version[first.reg] += 1
    return sum(_words_in(sorted(places)) for places in runs.values())


def _words_in(places: list[int]) -> int:
    count, length = 0, 1
    for before, place in zip(places, [*places[1:], None], strict=True):
        if place == before + 1:
            length += 1
            continue
        count += length // 4 + (length % 4 >= 2)
        length = 1
    return count


# ---- widths ----

_Widths = tuple[tuple[int, ...], tuple[int, ...]]
_NONE: _Widths = ((), ())


def _registers(decoded: Any) -> int:
    return sum(o.type == capstone.CS_OP_REG for o in decoded.operands)


def _arm(decoded: Any) -> _Widths:
    name = decoded.insn_name()
    is_load = name.startswith(("ld", "pop", "vld", "vpop"))
    if not is_load and not name.startswith(("st", "push", "vst", "vpush")):
        return _NONE
    if name.startswith(("pop", "push")):
        widths = (4,) * _registers(decoded)
    elif name.startswith(("ldm", "stm")):
        widths = (4,) * (_registers(decoded) - 1)
    elif name.startswith("v"):
        widths = (8,) * max(1, _registers(decoded) - (not name.startswith(("vldr", "vstr"))))
    else:
        rest = re.sub(r"^(ld|st)(r|a|l)(ex|t|s)?", "", name.replace("ldrs", "ldr"))
        widths = {"b": (1,), "h": (2,), "d": (4, 4)}.get(rest[:1], (4,))
    return (widths, ()) if is_load else ((), widths)


_AARCH64_SIZES = {"w": 4, "x": 8, "b": 1, "h": 2, "s": 4, "d": 8, "q": 16, "v": 16}


def _aarch64(decoded: Any) -> _Widths:
    name = decoded.insn_name()
    if not name.startswith(("ld", "st")):
        return _NONE
    if "sw" in name:
        width = 4
    elif name.endswith(("b", "bl")) or "rb" in name or "rsb" in name:
        width = 1
    elif name.endswith("h"):
        width = 2
    else:
        is_status = name.startswith(("stxr", "stlxr", "stxp", "stlxp"))  # it comes first
        operand = decoded.op_str.split(",")[1 if is_status else 0].strip(" {")
        width = _AARCH64_SIZES.get(operand[:1], 8)
    widths = (width,) * (2 if re.match(r"(ld|st)(n|l?x|ax)?p", name) else 1)
    return (widths, ()) if name.startswith("ld") else ((), widths)


def _x86(decoded: Any) -> _Widths:
    name = decoded.insn_name()
    if name.startswith(("lea", "nop", "endbr", "prefetch")):
        return _NONE
    if name in ("push", "call"):
        return (), (decoded.operands[0].size if name == "push" else 8,)
    if name in ("pop", "ret"):
        return (8,), ()
    loads: list[int] = []
    stores: list[int] = []
    for operand in decoded.operands:
        if operand.type == MEMORY:
            loads += [operand.size] if operand.access & capstone.CS_AC_READ else []
            stores += [operand.size] if operand.access & capstone.CS_AC_WRITE else []
    return tuple(loads), tuple(stores)


# Of MIPS, RISC-V and SPARC, whose names say it.
_PLAIN = (
    (re.compile(r"(c\.)?l(b|bu)(sp)?|ldub|ldsb|ldstub"), 1, 0),
    (re.compile(r"(c\.)?l(h|hu)(sp)?|lduh|ldsh"), 2, 0),
    (re.compile(r"(c\.)?f?l(w|wu)(sp)?|lw[lr]|ll|lwc1|lr\.w\S*|ld|lduw|ldsw|c\.flwsp"), 4, 0),
    (re.compile(r"(c\.)?f?ld(sp)?|ldd|ldx|ldc1|lr\.d\S*"), 8, 0),
    (re.compile(r"(c\.)?sb(sp)?|stb"), 0, 1),
    (re.compile(r"(c\.)?sh(sp)?|sth"), 0, 2),
    (re.compile(r"(c\.)?f?sw(sp)?|sw[lr]|sc|swc1|sc\.w\S*|st"), 0, 4),
    (re.compile(r"(c\.)?f?sd(sp)?|std|stx|sdc1|sc\.d\S*"), 0, 8),
    (re.compile(r"amo\w+\.w\S*|swap|cas"), 4, 4),
    (re.compile(r"amo\w+\.d\S*|casx"), 8, 8),
)


def _plain(decoded: Any) -> _Widths:
    name = decoded.mnemonic
    is_riscv = decoded._cs.arch == capstone.CS_ARCH_RISCV
    for pattern, load, store in _PLAIN:
        if pattern.fullmatch(name):
            load = 8 if is_riscv and name == "ld" else load
            return (load,) if load else (), (store,) if store else ()
    return _NONE


_READERS = {"arm": _arm, "aarch64": _aarch64, "x86": _x86, "plain": _plain}
