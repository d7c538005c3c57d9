# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How many bytes a stack takes of a firmware's memory, Plumb's or a peer's, by the same rule.

The firmwares are apps/size over Plumb and bench/peers/lwip/zynq/size.c over lwIP: Thumb
state, -Os, one user of the same features. What counts is the code that the stack's own
sources became, by the line table, which knows whose an instruction is after link-time
optimisation too, and all constants but those of the C library and the compiler's. So no
driver, no board, no application; but of both the byte routines that they use.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

from . import build, lines, lwip
from .errors import LabError
from .records import Record

FEATURES = (
    "TCP (listen, accept, connect, receive in place, send by copy and by reference, close, "
    "abort; out-of-order queue), UDP (receive, send), ICMP echo and unreachables, ARP, IPv4 with "
    "fragments both ways, native API; no DHCP, no console"
)
THUMB = "-mcpu=cortex-a9 -mthumb -mfloat-abi=soft -mno-unaligned-access"
NO_FRAGMENTS, NO_ASSERTS, EVERYTHING = "no-fragments", "no-asserts", "everything"
_BYTES = "src/bytes"
_CONSTANTS = re.compile(
    r"^ \.rodata\S*\s+0x[0-9a-f]+\s+0x(?P<size>[0-9a-f]+)\s+(?P<object>\S.*)$", re.MULTILINE
)
_OTHERS = re.compile(r"lib(gcc|plumb_freestanding|plumb_gem|board)\.a")


@dataclass(frozen=True)
class Subject:
    """A firmware whose stack is measured, and the name of what describes a connection."""

    stack: str
    variant: str
    connection: str
    about: tuple[tuple[str, str], ...] = ()  # lwIP's build
    configuration: lwip.Configuration | None = None

    def firmware(self) -> Path:
        """Builds it."""
        if self.configuration is None:
            return build.firmware(self.variant, "size")
        return _lwip(self.configuration, self.variant, self.about)


@cache
def _lwip(one: lwip.Configuration, variant: str, about: tuple[tuple[str, str], ...]) -> Path:
    options = {
        "CMAKE_BUILD_TYPE": "MinSizeRel",
        "CMAKE_C_FLAGS": f"{THUMB} -ffreestanding -fno-tree-loop-distribute-patterns -g",
        "CMAKE_ASM_FLAGS": f"{THUMB} -g",
        "PLUMB_SETTINGS": "PLUMB_CONSOLE=n;PLUMB_DHCP=n",
        "PEER_LEVEL": one.level,
        "PEER_LTO": "ON" if one.is_lto else "OFF",
        **dict(about),
    }
    return lwip.project(f"lwip-{variant}", options, "size.elf") / "size.elf"


def of_plumb() -> tuple[Subject, ...]:
    """With fragments and without, and with all that can be chosen."""
    names = ("size", f"size-{NO_FRAGMENTS}", f"size-{EVERYTHING}")
    return tuple(Subject("plumb", name, "plumb_tcp") for name in names)


def of_lwip() -> tuple[Subject, ...]:
    """Stock, tuned and best, and each without what is named."""
    found = []
    shown = [one for one in lwip.CONFIGURATIONS if one.name in ("stock", "tuned", "best")]
    for one in shown:
        ways = {"": (), NO_FRAGMENTS: (("PEER_FRAGMENTS", "OFF"),)}
        if one.level < 2:
            ways[NO_ASSERTS] = (("PEER_ASSERTS", "OFF"),)
        for way, about in ways.items():
            variant = "-".join([one.name, "size", way] if way else [one.name, "size"])
            found.append(Subject("lwip", variant, "tcp_pcb", about, one))
    return tuple(found)


def code(program: Path) -> Counter[str]:
    """Bytes of a stack's code, by folder; lwIP's are named by its own."""
    found: Counter[str] = Counter()
    for name, size in lines.by_file(program).items():
        own = re.search(r"^build/peers/lwip-[^/]*/(src/.*)", name)
        if own:
            found["lwip/" + str(Path(own[1]).parent)] += size
        elif name.startswith(("src/", "include/")) and name != f"{_BYTES}/libc.c":
            found["/".join(Path(name).parts[:2])] += size
    return found


def constants(program: Path) -> int:
    """Bytes of constants."""
    placed = program.with_suffix(".map").read_text().partition("Linker script and memory map")[2]
    placed = re.sub(r"^( \.rodata\S*)\n\s+(?=0x)", r"\1 ", placed, flags=re.MULTILINE)
    found = [m for m in _CONSTANTS.finditer(placed) if not _OTHERS.search(m["object"])]
    return sum(int(m["size"], 16) for m in found)


def structure(program: Path, name: str) -> int:
    """Bytes of a structure."""
    with program.open("rb") as stream:
        for unit in ELFFile(stream).get_dwarf_info().iter_CUs():
            for die in unit.iter_DIEs():
                own = die.attributes.get("DW_AT_name")
                size = die.attributes.get("DW_AT_byte_size")
                if die.tag == "DW_TAG_structure_type" and own and size:
                    if own.value.decode() == name:
                        return int(size.value)
    raise LabError(f"{program} knows no struct {name}")


def records(subject: Subject, board: str, tools: dict[str, str]) -> list[Record]:
    """All of it: code by folder, in all, constants, both, and what a connection takes."""
    program = subject.firmware()
    found = code(program)
    total, fixed = sum(found.values()), constants(program)
    sizes = {
        **{(folder, "text_bytes"): size for folder, size in sorted(found.items())},
        ("total", "text_bytes"): total,
        ("total", "rodata_bytes"): fixed,
        ("total", "linked_bytes"): total + fixed,
        ("connection", "ram_bytes"): structure(program, subject.connection),
    }
    if subject.variant == f"size-{EVERYTHING}":
        sizes["handshake", "ram_bytes"] = structure(program, "pl_tcp_handshake")
    flags = build.compiler_and_flags(program.parent)[1]
    is_lto = subject.configuration is None or subject.configuration.is_lto
    about = {
        "unit": "B",
        "stack": subject.stack,
        "variant": subject.variant,
        "tools": {**tools, "flags": flags + (" -flto" if is_lto else "")},
    }
    return [
        Record("size", board, case, metric, float(value), **about)
        for (case, metric), value in sizes.items()
    ]
