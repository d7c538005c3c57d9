# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb doctor`: what is here, in which version, and how the rest gets here."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .tools import TOOLS, install_line


def run(terminal: Console) -> int:
    """Prints the table; 2 if anything is missing."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("tool", "version", "needed by", "install with"):
        table.add_column(title, overflow="fold")
    absent = []
    for tool in TOOLS:
        is_here = tool.path() is not None
        version = tool.version_found() if is_here else "[red]missing[/red]"
        command = "" if is_here else install_line([tool])
        table.add_row(tool.label, version, ", ".join(sorted(tool.needed_by)), command)
        absent += [] if is_here else [tool]
    terminal.print(table)
    if absent:
        terminal.print("\ninstall what is missing with:", style="bold")
        terminal.print(install_line(absent), soft_wrap=True, highlight=False)
    else:
        terminal.print("\nnothing is missing.")
    return 2 if absent else 0
