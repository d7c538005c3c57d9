# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What is printed where there is no terminal: tables in a hundred columns, and what is done."""

import io

import pytest
from rich.console import Console

from lab import audit, doctor, report, terminal, tools

WIDE = [["a name", *(f"{n}" * 12 for n in range(9))]]


def test_a_table_in_a_file_is_folded_and_ends_without_blanks(capsys: pytest.CaptureFixture[str]):
    console = terminal.for_tables()
    console.print(report.rich_table(list("abcdefghij"), WIDE))
    console.print(report.rich_table(["name"], [["short"], ["a longer one"]]))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= terminal.FILE_WIDTH
    assert not any(line.endswith(" ") for line in lines)
    for digit in "012345678":
        assert sum(line.count(digit) for line in lines) == 12, "folded, not cut"


def test_each_new_thing_that_is_done_is_a_line(capsys: pytest.CaptureFixture[str]):
    console = terminal.for_tables()
    with terminal.steps(console, 4) as step:
        for what in ("building", "tcp_rx", "tcp_tx", "tcp_rx", "tcp_tx"):
            step(what)
    told = capsys.readouterr()
    assert told.err == "plumb: building\nplumb: tcp_rx\nplumb: tcp_tx\n" and told.out == ""


def test_an_audit_s_tables_say_no_more_than_there_is():
    columns = ["function", "ld 1", "ld 8", audit.SOURCE]
    rows = [["f", "-", "-", "a.c:1  " + "x" * 90], ["g", "7", "-", "b.c:2  y"]]
    console = Console(file=io.StringIO(), width=60)
    audit._show(console, "title", columns, rows, "note")
    lines = console.file.getvalue().splitlines()
    (head,) = (line for line in lines if line.startswith("function"))
    assert "ld 1" in head and "ld 8" not in head
    assert [line.split()[0] for line in lines[4:]] == ["f", "g", "note"], "a line for each row"
    assert "a.c:1  xxx" in lines[4] and "…" in lines[4]


@pytest.mark.parametrize("is_here", [True, False])
def test_the_doctor_needs_eighty_columns(monkeypatch: pytest.MonkeyPatch, is_here: bool):
    if not is_here:
        monkeypatch.setattr(tools.Tool, "path", lambda self: None)
    console = Console(file=io.StringIO(), width=80)
    assert doctor.run(console) == (0 if is_here else 2)
    lines = console.file.getvalue().partition("\ninstall what")[0].splitlines()
    for tool in tools.TOOLS:
        assert any(line.startswith(tool.label + " ") for line in lines), "its name is whole"
    (cmake,) = (line.split() for line in lines if line.startswith("cmake "))
    assert cmake[2:] == (["everything"] if is_here else ["everything", "cmake"])
