# SPDX-License-Identifier: Apache-2.0 OR MIT
"""docs/rfc.md and the tree: the functions and tests it names are there, and each requirement has a
test or says that it has none.

A section names the files that its rows are about and those of its tests; a row may name others: in
`where` as "`file` `function`", in `test` as "`file`: `test`, `test`; ...". A test that is in one
file only needs no file.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from lab.paths import ROOT

PAGE = ROOT / "docs/rfc.md"
NAME = re.compile(r"`([^`]+)`")
UNIT = re.compile(r"cmocka_unit_test\((\w+)\)")
# RFC 9293 appendix B.
LABELS = {("MUST", 69), ("SHLD", 31), ("MAY", 18), ("REC", 1)}


class Row(NamedTuple):
    section: str
    where: str
    test: str


class Section(NamedTuple):
    title: str
    intro: str
    rows: list[Row]


def sections(text: str) -> list[Section]:
    """The page's sections, of each the text in front of its table and the table's rows."""
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        lines = body.splitlines()
        cells = [[c.strip() for c in re.split(r"(?<!\\)\|", n)[1:-1]] for n in lines if n[:1] == "|"]
        intro = "\n".join(n for n in lines if n[:1] != "|")
        rows = [Row(c[0], *c[-2:]) for c in cells[2:] if any(c[1:])]  # not a line between groups
        found.append(Section(title, intro, rows))
    return found


@cache
def files_called(name: str) -> list[Path]:
    """Files of ours by path, or by their last part."""
    if "/" in name:
        return [ROOT / name] if (ROOT / name).is_file() else []
    folders = ("src", "include", "tests/host", "tests/lab", "tests/script", "drivers", "ports")
    return [p for folder in folders for p in (ROOT / folder).rglob(name)]


@cache
def defines(file: Path, function: str) -> bool:
    """Is there a body of this C function in this file?"""
    text = file.read_text()
    begins = re.compile(rf"^(?:\w[\w *]*[ *])?{re.escape(function)}\(", re.MULTILINE)
    return any(re.match(r"[^;{}]*\)\s*\{", text[m.end() - 1 :]) for m in begins.finditer(text))


@cache
def names_in(file: Path) -> frozenset[str]:
    if file.suffix == ".py":
        return frozenset(re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE))
    return frozenset(UNIT.findall(file.read_text()))


@cache
def host_tests() -> tuple[Path, ...]:
    return tuple((ROOT / "tests/host").glob("test_*.c"))


def near(name: str, default: list[Path]) -> list[Path]:
    """The same, of several the one beside what the section is about."""
    found = files_called(name)
    folders = {f.parent for f in default} or {ROOT / "src/tcp"}
    return [f for f in found if f.parent in folders] if len(found) > 1 else found


def stem(name: str) -> list[Path]:
    """The file of tests by its name without an end."""
    return [f for end in (".c", ".py") for f in files_called(name + end) if "tests" in f.parts]


def intro_files(section: Section) -> tuple[list[Path], list[Path], list[str]]:
    """What a section says its rows and tests are in, and which of that is not there."""
    sources, tests, missing = [], [], []
    for name in NAME.findall(section.intro):
        if not re.search(r"\.(c|h|py)$", name):
            continue
        files = near(name, sources)
        if len(files) != 1:
            missing.append(f"{section.title}: no file {name}")
        elif "tests" in files[0].relative_to(ROOT).parts:
            tests += files
        else:
            sources += files
    return sources, tests, missing


def check_where(cell: str, default: list[Path]) -> list[str]:
    """Functions that are not where the cell says."""
    wrong = []
    for piece in re.split(r"[,;]", cell):
        files = default
        for name in NAME.findall(piece):
            if re.search(r"\.[chS]$", name):
                files = near(name, default)
                if len(files) != 1:
                    wrong.append(f"no file {name}")
            elif name.startswith("CONFIG_PLUMB_"):
                kconfig = (ROOT / "Kconfig").read_text() + (ROOT / "drivers/Kconfig").read_text()
                if not re.search(rf"^config {name.removeprefix('CONFIG_')}$", kconfig, re.MULTILINE):
                    wrong.append(f"no option {name}")
            elif not any(defines(f, name) for f in files):
                wrong.append(f"no function {name} in {', '.join(f.name for f in files) or 'no file'}")
    if not NAME.search(cell) and not re.match(r"(not|none)\b", cell):
        wrong.append(f"neither a place nor a word for none: {cell!r}")
    return wrong


def check_tests(cell: str, default: list[Path]) -> list[str]:
    """Tests that are not where the cell says."""
    wrong = []
    for group in cell.split(";"):
        files = default
        named = re.match(r"\s*`(\w+)`:", group)
        if named:
            files = stem(named[1])
            group = group[named.end() :]
            if not files:
                wrong.append(f"no file of tests {named[1]}")
        for name in NAME.findall(group):
            if name.endswith(".script"):
                if not (ROOT / "tests/script/scripts" / name).is_file():
                    wrong.append(f"no script {name}")
            elif not any(name in names_in(f) for f in files) and not stem(name):
                others = [f for f in host_tests() if name in names_in(f)]
                if named or len(others) != 1:
                    wrong.append(f"test {name} is in {len(others)} other files")
    if not NAME.search(cell) and not re.match(r"none\b", cell):
        wrong.append(f"neither a test nor a word for none: {cell!r}")
    return wrong


def findings(text: str) -> list[str]:
    """What is wrong with the page."""
    wrong = []
    for section in sections(text):
        sources, tests, missing = intro_files(section)
        wrong += missing
        if not section.rows:
            wrong.append(f"{section.title}: no table")
        for row in section.rows:
            found = check_where(row.where, sources) + check_tests(row.test, tests)
            wrong += [f"{section.title}, {row.section}: {f}" for f in found]
    return wrong


def test_all_that_is_named_is_there():
    assert not findings(PAGE.read_text())


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("`src/tcp/ecn.c`", "`src/tcp/enc.c`"),
        ("`take_reset`; `syn_cache.c`", "`take_rest`; `syn_cache.c`"),
        ("`syn_cache.c` `take_reset`", "`cookie.c` `take_reset`"),
        ("`options.c` `build_syn`", "`option.c` `build_syn`"),
        ("`challenges_are_limited`", "`challenges_are_limitless`"),
        ("`test_tcp_data`: ", "`test_tcp_date`: "),
        ("| `an_early_echo_undoes` |", "| |"),
        ("| `offered_when_opening`, `a_mark_without_agreement` |", "| yes |"),
        ("| `take_mark` |", "| somewhere |"),
    ],
)
def test_what_is_wrong_is_found(right: str, wrong: str):
    text = PAGE.read_text()
    assert right in text
    assert findings(text.replace(right, wrong, 1))


def test_every_requirement_of_rfc_9293_has_a_row():
    of_tcp = next(s for s in sections(PAGE.read_text()) if s.title.startswith("RFC 9293"))
    labels = {label for row in of_tcp.rows for label in re.findall(r"[A-Z]+-\d+", row.section)}
    assert labels == {f"{kind}-{n}" for kind, most in LABELS for n in range(1, most + 1)}
