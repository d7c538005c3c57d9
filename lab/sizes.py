# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How big Plumb is in a firmware, by folder, from the linker's map.

What counts is everything of src/, drivers/ and the application: no console, no
board start-up, no C or compiler library. Memory that the board's main.c and the
superloop's run.c set aside for the stack and the driver (instances, pools,
descriptor rings, the DHCP client) counts as Plumb's RAM, in the folder GIVEN;
packets, which lie in a section of their own, do not.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

from .errors import LabError
from .paths import ROOT

_CONTRIBUTION = re.compile(
    r"^ (?P<section>\.[\w.$]+|COMMON)\s+0x(?P<address>[0-9a-f]+)\s+0x(?P<size>[0-9a-f]+)"
    r"\s+(?P<object>\S.*)$",
    re.MULTILINE,
)
_KINDS = (
    ("text", (".text", ".glue")),
    ("rodata", (".rodata", ".data.rel.ro")),
    ("data", (".data",)),
    ("bss", (".bss", "COMMON", ".uncached")),
)
GIVEN = "given by the board"
DESCRIPTORS = "packet descriptors"
_GIVER = re.compile(r"CMakeFiles/\w+\.dir/(?:main|\S*/common/run)\.c\.o(?:bj)?$")


@dataclass
class Size:
    """Bytes by kind of section."""

    text: int = 0
    rodata: int = 0
    data: int = 0
    bss: int = 0

    def add(self, other: "Size") -> None:
        """Adds another's bytes."""
        for kind in ("text", "rodata", "data", "bss"):
            setattr(self, kind, getattr(self, kind) + getattr(other, kind))


def kind_of(section: str) -> str:
    """text, rodata, data or bss; empty for what does not occupy the board."""
    for kind, prefixes in _KINDS:
        if section.startswith(prefixes):
            return kind
    return ""


@cache
def _source_folders(below: str) -> dict[str, set[str]]:
    folders: dict[str, set[str]] = defaultdict(set)
    for pattern in ("*.c", "*.S"):
        for path in (ROOT / below).rglob(pattern):
            folders[path.name].add(str(path.parent.relative_to(ROOT)))
    return folders


def folder_of(object_name: str) -> str:
    """The folder an object of the map comes from; empty if it is none of Plumb's."""
    member = re.search(r"lib(plumb\w*)\.a\((.+)\.o(?:bj)?\)", object_name)
    if member:
        library, source = member.groups()
        below = f"drivers/{library.removeprefix('plumb_')}"
        below = below if (ROOT / below).is_dir() else "src"
        folders = _source_folders(below).get(source, set())
        return next(iter(folders)) if len(folders) == 1 else below
    app = re.search(r"apps/CMakeFiles/app_(\w+)\.dir/", object_name)
    return f"apps/{app.group(1)}" if app else ""


def parse(text: str) -> dict[str, Size]:
    """Sizes by folder, from a linker map of the GNU linker."""
    _, _, placed = text.partition("Linker script and memory map")
    if not placed:
        raise LabError("this is no linker map")
    # A long section name stands on a line of its own.
    placed = re.sub(r"^( \.[\w.$]+)\n\s+(?=0x)", r"\1 ", placed, flags=re.MULTILINE)
    sizes: dict[str, Size] = defaultdict(Size)
    for match in _CONTRIBUTION.finditer(placed):
        folder, kind = folder_of(match["object"]), kind_of(match["section"])
        if kind in ("data", "bss") and _GIVER.search(match["object"]):
            folder = GIVEN
        if folder and kind and int(match["address"], 16):
            sizes[folder].add(Size(**{kind: int(match["size"], 16)}))
    return dict(sorted(sizes.items()))


def total(sizes: dict[str, Size]) -> Size:
    """The sum over all folders."""
    whole = Size()
    for size in sizes.values():
        whole.add(size)
    return whole


def descriptors(program: Path) -> int:
    """Bytes of the packets' descriptors, which a board names NAME_packets."""
    with program.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab")
        return sum(s["st_size"] for s in symbols.iter_symbols() if s.name.endswith("_packets"))
