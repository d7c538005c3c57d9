# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a compiler made of a function: its instructions, read by LLVM's disassembler."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from . import tools

OBJDUMP = "llvm-objdump-19"

_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
_RELOCATION = re.compile(r"^\s*([0-9a-f]+):\s+R_\S+\s+(\S+)")
# A call, on any of the instruction sets; what RISC-V loads before it has the symbol.
_CALL = re.compile(r"blx?|bl\.w|blr|callq?|jalr?|bal|jirl")
# By what compilers call when they are told to copy.
_COPY = re.compile(r"(__aeabi_)?mem(cpy|move)")


@dataclass(frozen=True)
class Instruction:
    """One instruction; `symbol` is what the linker is to put into it."""

    mnemonic: str
    operands: str
    symbol: str = ""


@dataclass(frozen=True)
class Access:
    """What an instruction does to memory."""

    loads: int = 0
    stores: int = 0


def function(path: Path, name: str) -> list[Instruction]:
    """The instructions of a function of an object file that has a section for each;
    padding behind it is left out."""
    start, size = _place(path, name)
    text = tools.output_of(
        [OBJDUMP, "-dr", "--no-show-raw-insn", f"--section=.text.{name}", str(path)]
    )
    found: dict[int, Instruction] = {}
    for line in text.splitlines():
        relocation = _RELOCATION.match(line)
        instruction = _INSTRUCTION.match(line)
        if relocation:
            _relocate(found, int(relocation[1], 16), relocation[2])
        elif instruction and start <= int(instruction[1], 16) < start + size:
            operands = re.split(r"\s[@#<]|\s//", instruction[3])[0].strip()
            found[int(instruction[1], 16)] = Instruction(instruction[2], operands)
    if not found:
        raise ValueError(f"{path} has no function {name}, or {OBJDUMP} cannot read it")
    return list(found.values())


def _place(path: Path, name: str) -> tuple[int, int]:
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        symbols = elf.get_section_by_name(".symtab").get_symbol_by_name(name) or []
        thumb = 1 if elf["e_machine"] == "EM_ARM" else 0
    if not symbols:
        raise ValueError(f"{path} has no function {name}")
    return symbols[0]["st_value"] & ~thumb, symbols[0]["st_size"]


def _relocate(found: dict[int, Instruction], address: int, symbol: str) -> None:
    """Notes a symbol with the instruction that it is put into."""
    places = [start for start in found if start <= address]
    if places and not symbol.startswith(("*", ".")):
        last = found[places[-1]]
        found[places[-1]] = Instruction(last.mnemonic, last.operands, symbol)


def calls(code: list[Instruction]) -> int:
    """How many calls of anything there are, and jumps to a C library's copy."""
    count, has_symbol = 0, False
    for instruction in code:
        is_call = _CALL.fullmatch(instruction.mnemonic) and not has_symbol
        has_symbol = _COPY.match(instruction.symbol) is not None
        count += bool(is_call or has_symbol)
    return count


def listing(code: list[Instruction]) -> str:
    """As text, a line for each."""
    return "".join(f"    {i.mnemonic:8} {i.operands} {i.symbol}".rstrip() + "\n" for i in code)


def accesses(machine: str, code: list[Instruction]) -> Access:
    """The loads and stores in it; of an instruction of many registers, each counts."""
    reader = _READERS[machine]
    found = [reader(i.mnemonic, i.operands) for i in code]
    return Access(sum(a.loads for a in found), sum(a.stores for a in found))


# ---- one reader for each instruction set ----


def _arm(mnemonic: str, operands: str) -> Access:
    listed = re.search(r"\{(.*)\}", operands)
    count = len(listed[1].split(",")) if listed else 1
    if mnemonic.startswith(("ldrd", "strd")):
        count = 2
    if re.match(r"ldr|ldm|pop", mnemonic):
        return Access(loads=count)
    return Access(stores=count) if re.match(r"str|stm|push", mnemonic) else Access()


def _aarch64(mnemonic: str, _operands: str) -> Access:
    count = 2 if mnemonic in ("ldp", "stp", "ldpsw") else 1
    if mnemonic.startswith("ld"):
        return Access(loads=count)
    return Access(stores=count) if mnemonic.startswith("st") else Access()


def _by_name(loads: str, stores: str) -> Callable[[str, str], Access]:
    def reader(mnemonic: str, _operands: str) -> Access:
        is_load = re.fullmatch(loads, mnemonic) is not None
        is_store = re.fullmatch(stores, mnemonic) is not None
        return Access(int(is_load), int(is_store))

    return reader


def _x86(mnemonic: str, operands: str) -> Access:
    if mnemonic.startswith(("lea", "nop")):
        return Access()
    if mnemonic.startswith("push"):
        return Access(stores=1)
    if mnemonic.startswith("pop"):
        return Access(loads=1)
    if "(" not in operands:
        return Access()
    is_store = mnemonic.startswith("mov") and operands.endswith(")")
    return Access(stores=1) if is_store else Access(loads=1)


_mips = _by_name(r"l[bhw]u?|lw[lr]", r"s[bhw]|sw[lr]")
_riscv = _by_name(r"(c\.)?l[bhwd]u?", r"(c\.)?s[bhwd]")

# By instruction set, as lab/isa.py names them.
_READERS: dict[str, Callable[[str, str], Access]] = {
    "armv5": _arm,
    "armv7a": _arm,
    "thumb1": _arm,
    "thumb2": _arm,
    "aarch64": _aarch64,
    "sparcv8": _by_name(r"ld\w*", r"st\w*"),
    "mips32be": _mips,
    "mips32le": _mips,
    "rv32": _riscv,
    "rv64": _riscv,
    "loongarch64": _by_name(r"ld(ptr)?\.\w+", r"st(ptr)?\.\w+"),
    "x86_64": _x86,
}
