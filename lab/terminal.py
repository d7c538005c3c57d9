# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where tables and progress go: a terminal, or a file or pipe that somebody reads later."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

FILE_WIDTH, LEAST_WIDTH = 100, 80
_BLANKS = re.compile(r" +(?=\n)")


class _WithoutBlanks:
    """A file in which no line ends with the blanks that a table pads it with."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.encoding = file.encoding

    def write(self, text: str) -> int:
        self._file.write(_BLANKS.sub("", text))
        return len(text)

    def flush(self) -> None:
        self._file.flush()

    def isatty(self) -> bool:
        return False


def for_tables(file_width: int = FILE_WIDTH) -> Console:
    """Standard output: what is wider than it is folded, and a narrow terminal breaks lines."""
    if sys.stdout.isatty():
        console = Console()
        console.width = max(console.width, LEAST_WIDTH)
        return console
    return Console(file=_WithoutBlanks(sys.stdout), width=file_width)  # type: ignore[arg-type]


class Step(Protocol):
    """Says what is being done, and by what part of the whole it has advanced."""

    def __call__(self, what: str, part: float = 1) -> None: ...


@contextmanager
def steps(terminal: Console, total: float) -> Iterator[Step]:
    """Shows how far something has come: a bar, or a plain line for each new thing that is done,
    to standard error, as what is printed in the end belongs to whoever reads the output."""
    if not terminal.is_terminal:
        told: set[str] = set()

        def tell(what: str, _: float = 1) -> None:
            if what not in told:
                told.add(what)
                print(f"plumb: {what}", file=sys.stderr, flush=True)

        yield tell
        return
    columns = (TextColumn("{task.description:32}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=terminal, transient=True) as progress:
        task = progress.add_task("building", total=total)

        def advance(what: str, part: float = 1) -> None:
            progress.update(task, description=what, advance=part)

        yield advance
