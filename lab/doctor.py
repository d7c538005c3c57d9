# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb doctor`: what is here, in which version, and how the rest gets here."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .tools import PEER, TOOLS, Tool, install_line


def users(tool: Tool) -> str:
    """The commands and experiments that need it."""
    everybody = frozenset().union(*(one.needed_by for one in TOOLS)) - PEER  # which is on top
    if tool.needed_by >= everybody:
        return "everything"
    return ", ".join(sorted(tool.needed_by))


def run(terminal: Console) -> int:
    """Prints the table; 2 if anything is missing."""
    absent = [tool for tool in TOOLS if tool.path() is None]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("tool", no_wrap=True)
    for title in ("version", "needed by", *(["in package"] if absent else [])):
        table.add_column(title, overflow="fold")
    for tool in TOOLS:
        row = [tool.label, tool.version_found() or "[red]missing[/red]", users(tool)]
        table.add_row(*row, *([tool.package if tool in absent else ""] if absent else []))
    terminal.print(table)
    if absent:
        terminal.print("\ninstall what is missing with:", style="bold")
        terminal.print(install_line(absent), soft_wrap=True, highlight=False)
    else:
        terminal.print("\nnothing is missing.")
    return 2 if absent else 0
