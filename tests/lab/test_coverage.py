# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The host's tests, the packet scripts and the fuzzers' corpora take most branches of src/.

The figure has no exceptions: no comment takes a branch out of it, and what cannot be reached
lowers it. Assembly has no branches in it, and of files for other instruction sets there is
nothing to be counted on this one.
"""

import os
import sys
from pathlib import Path

import pytest

from lab import build, coverage
from lab.paths import ROOT

LEAST = 95.0
SCRIPTS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import plumb_harness, script
library = plumb_harness.load(Path(sys.argv[1]))
for path in sorted(Path(sys.argv[2], "scripts").glob("*.script")):
    script.run_file(library, path)
"""


def runs(folder: Path) -> list[coverage.Run]:
    """Every host test program whole, all scripts, and each corpus once."""
    programs = [
        path
        for path in sorted(folder.glob("tests/host/test_*"))
        if path.is_file() and os.access(path, os.X_OK)
    ]
    assert len(programs) > 60
    found = [coverage.Run(path.name, path, (str(path),)) for path in programs]
    library, scripts = folder / "ports/libplumb_harness.so", ROOT / "tests/script"
    command = (sys.executable, "-c", SCRIPTS, str(library), str(scripts))
    found.append(coverage.Run("scripts", library, command))
    for path in sorted(folder.glob("fuzz/fuzz_*")):
        if path.is_file() and os.access(path, os.X_OK):
            corpus = ROOT / "fuzz/corpus" / path.name.removeprefix("fuzz_")
            found.append(coverage.Run(path.name, path, (str(path), "-runs=0", str(corpus))))
    return found


@pytest.fixture(scope="module")
def measured() -> dict[str, coverage.File]:
    files, faults = coverage.measure(runs(build.preset("host-coverage")), ROOT / "src")
    assert faults == []
    lines = [*coverage.table(files), f"page: {coverage.write_html(files)}"]
    coverage.TABLE.write_text("\n".join(lines) + "\n")
    return files


def test_enough_is_taken(measured: dict[str, coverage.File]) -> None:
    assert coverage.share(measured.values()) >= LEAST


def test_every_source_is_counted(measured: dict[str, coverage.File]) -> None:
    """Those of this processor that have a branch at all."""
    for name in ("src/tcp/input.c", "src/inet/ipv4.c", "src/socket/stream.c", "src/bytes/sum.c"):
        assert measured[name].outcomes > 10


def test_what_was_not_taken_lowers_it() -> None:
    one, other = coverage.File(), coverage.File()
    one.add([1, 1, 1, 9, 5, 0, 0, 0, 4])
    other.add([1, 1, 1, 9, 0, 0, 0, 0, 4])
    assert (one.outcomes, one.taken, other.taken) == (2, 1, 0)
    assert coverage.share([one, other]) == 25
    one.add([1, 1, 1, 9, 0, 3, 0, 0, 4])  # by another program
    assert (one.outcomes, one.taken) == (2, 2)
