# SPDX-License-Identifier: Apache-2.0 OR MIT
"""gcc -fanalyzer and cppcheck find nothing in what runs on a board or a host; and each finds
what is planted in a copy."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import build
from lab.paths import ROOT

FOLDERS = ("src", "drivers", "apps", "ports", "boards/linux", "boards/common")
LIMIT_S = 600
AT_ONCE = os.cpu_count() or 1
# How it is optimised, warned of and watched is not the analysers' business.
DROPPED = ("-O", "-W", "-g", "-fsanitize", "-fno-sanitize", "-fno-omit")

CPPCHECK = (
    *("cppcheck", "--quiet", "--error-exitcode=1", "--inline-suppr", f"-j{AT_ONCE}"),
    "--enable=warning,performance,portability",
)


@dataclass(frozen=True)
class Source:
    """A file, and how it is compiled."""

    path: Path
    folder: Path
    words: tuple[str, ...]  # without compiler and file


def compiled(entry: dict) -> Source:
    words = [word for word in shlex.split(entry["command"])[1:] if not word.startswith(DROPPED)]
    at = words.index("-o")
    del words[at : at + 2]
    return Source(
        Path(entry["file"]), Path(entry["directory"]), tuple(words[: words.index("-c")])
    )


def sources() -> list[Source]:
    """Each C file of the folders that the host's build compiles, once."""
    entries = json.loads((build.preset("host-gcc") / "compile_commands.json").read_text())
    found = {}
    for entry in entries:
        path = Path(entry["file"])
        if path.suffix == ".c" and any(path.is_relative_to(ROOT / name) for name in FOLDERS):
            found.setdefault(path, compiled(entry))
    return list(found.values())


def run(command: list[str], folder: Path) -> str:
    """What an analyser says; nothing if it found nothing."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
    )
    return f"{shlex.join(command)}\n{done.stdout}" if done.returncode else ""


def gcc(source: Source) -> str:
    # The analyser works on what is compiled, so -fsyntax-only would not do.
    flags = ["-fanalyzer", "-Werror", "-O1", "-S", "-o", "/dev/null"]
    return run(["gcc", *source.words, *flags, str(source.path)], source.folder)


def each(analyser, found: list[Source]) -> str:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return "\n".join(filter(None, pool.map(analyser, found)))


def cppcheck(found: list[Source], tmp_path: Path) -> str:
    entries = [
        {
            "file": str(source.path),
            "directory": str(source.folder),
            "command": shlex.join(["gcc", *source.words, "-c", str(source.path)]),
        }
        for source in found
    ]
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps(entries))
    return run([*CPPCHECK, f"--project={database}"], ROOT)


ANALYSERS = {
    "gcc": lambda found, tmp_path: each(gcc, found),
    "cppcheck": cppcheck,
}


@pytest.mark.parametrize("analyser", ANALYSERS)
def test_nothing_is_found(analyser: str, tmp_path: Path) -> None:
    found = sources()
    assert len(found) > 90  # the tree's, and not some folder's
    assert ANALYSERS[analyser](found, tmp_path) == ""


PLANTED = {
    "null": """
int planted(int wanted);
int planted(int wanted) {
    const int *found = 0;
    if (wanted > 3)
        found = &wanted;
    return *found;
}
""",
    "leak": """
#include <stdio.h>
int planted(const char *name);
int planted(const char *name) {
    FILE *left_open = fopen(name, "r");
    int byte;
    if (!left_open)
        return -1;
    byte = fgetc(left_open);
    return byte;
}
""",
}
NAMES = {
    ("gcc", "null"): "analyzer-null-dereference",
    ("gcc", "leak"): "analyzer-file-leak",
    ("cppcheck", "null"): "nullPointer",
    ("cppcheck", "leak"): "resourceLeak",
}


@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.parametrize("analyser", ANALYSERS)
def test_what_is_planted_is_found(analyser: str, fault: str, tmp_path: Path) -> None:
    source = next(one for one in sources() if one.path.name == "posix.c")
    copy = tmp_path / source.path.name
    as_it_is = Source(copy, source.folder, (*source.words, f"-I{source.path.parent}"))
    copy.write_text(source.path.read_text())
    assert ANALYSERS[analyser]([as_it_is], tmp_path) == ""
    copy.write_text(source.path.read_text() + PLANTED[fault])
    assert NAMES[analyser, fault] in ANALYSERS[analyser]([as_it_is], tmp_path)
