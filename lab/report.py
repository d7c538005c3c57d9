# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Prints a run's records as tables, and writes docs/results.md and README.md's from them."""

import re
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .errors import LabError
from .goals import Verdict
from .records import Record, find
from .sizes import DESCRIPTORS

SPEED = (
    ("Mbit/s", "throughput", 1),
    ("busy Mbit/s", "throughput_busy", 1),
    ("idle %", "idle_share", 1),
    ("iperf Mbit/s", "throughput_client", 1),
    ("loss %", "udp_loss", 2),
    ("jitter ms", "jitter", 3),
)
COST = (
    ("instr/byte", "instructions_per_byte", 3),
    ("instr/packet", "instructions_per_packet", 0),
    ("touches/byte", "touches_per_byte", 3),
    ("access/byte", "accesses_per_byte", 3),
    ("misaligned", "misaligned_accesses", 0),
    ("seg/ack", "segments_per_ack", 1),
)
SPREAD_OF = ("throughput", "instructions_per_byte")
CASE_NAMES = {
    "tcp_rx": "TCP receive",
    "tcp_tx": "TCP transmit",
    "udp_rx": "UDP receive",
    "udp_tx": "UDP transmit",
}
CLOCKS = (
    "Mbit/s: the payload over the transfer's time by the board's own clock, waiting included; "
    "median ± interquartile range. busy Mbit/s: the same over the time of the instructions "
    "that were not idle, at the board's 16 ns each. iperf Mbit/s: by the client's clock, this "
    "host's; it says how fast the emulator is. .text smallest: with link-time optimisation and "
    "without a console, by the line table."
)
HOST_CLOCK = (
    "Mbit/s: the payload over the transfer's time by the stack's clock, which is this host's; "
    "instructions are counted in a second run, under emulation, of the same program; its compiler "
    "joins accesses as this host's processor allows, so misaligned ones are no fault here."
)
README_BEGIN = "<!-- results: made by ./plumb bench --record -->"
README_END = "<!-- /results -->"

Rows = list[list[str]]


def _number(record: Record | None, digits: int) -> str:
    if record is None:
        return "-"
    text = f"{record.value:.{digits}f}"
    if record.metric in SPREAD_OF and record.repeats > 1:
        text += f" ± {record.spread:.{digits}f}"
    return text


def case_table(
    records: list[Record], wanted: tuple[tuple[str, str, int], ...]
) -> tuple[list[str], Rows]:
    """A row per case of the default; columns that nobody measured are left out."""
    records = [r for r in records if (r.stack, r.variant) == ("plumb", "default")]
    columns = [c for c in wanted if any(r.metric == c[1] for r in records)]
    rows = []
    for case, name in CASE_NAMES.items():
        if find(records, "throughput", case):
            rows.append([name, *(_number(find(records, m, case), d) for _, m, d in columns)])
    return ["", *(title for title, _, _ in columns)], rows


def size_table(records: list[Record]) -> tuple[list[str], Rows]:
    """Bytes by folder, the total last."""
    kinds = ("text_bytes", "rodata_bytes", "data_bytes", "bss_bytes")
    sizes = [r for r in records if r.experiment == "size" and r.stack == "plumb"]
    plain, smallest, thumb = (
        [r for r in sizes if r.variant == variant] for variant in ("default", "smallest", "size")
    )
    folders = dict.fromkeys(sorted(r.case for r in sizes if r.metric == "text_bytes"))
    folders["total"] = folders.pop("total", None)
    folders[DESCRIPTORS] = None  # beside the total, with the packets' buffers
    rows = [
        [
            folder,
            _number(find(thumb, "text_bytes", folder), 0),
            _number(find(smallest, "text_bytes", folder), 0),
            *(_number(find(plain, kind, folder), 0) for kind in kinds),
        ]
        for folder in folders
    ]
    if not sizes:
        return [], []
    return ["bytes, -Os", ".text Thumb", ".text smallest", ".text", ".rodata", ".data", ".bss"], rows


def goal_table(verdicts: list[Verdict]) -> tuple[list[str], Rows]:
    """The floors."""
    rows = [[v.what, v.measured, v.text] for v in verdicts]
    return ["floor", "measured", ""], rows


def header(tools: dict[str, str], board: str, network: str, repeats: int) -> Rows:
    """What was measured with what."""
    named = ("emulator", "compiler", "flags", "client", "commit")
    rows = [["board", f"{board}, {network}"], *([n, tools[n]] for n in named if n in tools)]
    return [*rows, ["repeats", str(repeats)]]


def rich_table(title: list[str], rows: Rows, widths: list[int] | None = None) -> Table:
    """A table for the terminal; brackets are what they are, and a narrow one cuts nothing."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(title):
        justify = "left" if index == 0 else "right"
        width = widths[index] if widths else None
        table.add_column(
            escape(name), justify=justify, no_wrap=index == 0, overflow="fold", width=width
        )
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def show(console: Console, head: Rows, tables: list[tuple[list[str], Rows]], note: str) -> None:
    """Prints everything."""
    grid = Table.grid(padding=(0, 2))
    for row in head:
        grid.add_row(*row)
    console.print(grid)
    for title, rows in tables:
        if rows:
            console.print()
            console.print(rich_table(title, rows))
    console.print()
    console.print(note, style="dim")


def markdown_table(title: list[str], rows: Rows) -> str:
    """The same for a page."""
    lines = [title, ["---", *["--:"] * (len(title) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown_cell(text: str) -> str:
    """A name as it is, whatever stands in it, in a table of Markdown."""
    one_line = " ".join(text.splitlines())
    return re.sub(r"([\\|`*<])", r"\\\1", one_line)


def write_markdown(
    path: Path, head: Rows, tables: list[tuple[list[str], Rows]], note: str, command: str
) -> None:
    """Writes the page of recorded results."""
    parts = [
        "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->",
        "# Results",
        f"Written by `{command}`; not to be edited.",
        markdown_table(["", ""], head),
        *(markdown_table(title, rows) for title, rows in tables if rows),
        note,
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n")


def fill_readme(path: Path, head: Rows, tables: list[tuple[list[str], Rows]]) -> None:
    """Puts tables between the marks of a page that is otherwise written by hand."""
    before, begin, rest = path.read_text().partition(README_BEGIN)
    _, end, after = rest.partition(README_END)
    if not (begin and end):
        raise LabError(f"{path} has no place for results: {README_BEGIN} ... {README_END}")
    whole = [(["", ""], head), *tables]
    parts = [begin, *(markdown_table(title, rows) for title, rows in whole if rows), end]
    path.write_text(before + "\n\n".join(parts) + after)
