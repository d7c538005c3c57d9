# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The JUnit report: each test of a host program is a case of its own, by its name."""

import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from lab.paths import ROOT

PROGRAM = """#!/bin/sh
case "$1 $2" in
    "--list ") echo passes; echo fails ;;
    "--run passes") ;;
    *) echo "the reason"; exit 1 ;;
esac
"""
# Instead of building: a folder with one program.
RUN = """
import sys
from pathlib import Path
import pytest
from lab import build
build.preset = lambda name: Path(sys.argv[1])
sys.exit(pytest.main(["tests/host", "-q", "--junit-xml", sys.argv[2]]))
"""


def test_each_test_of_a_program_is_a_case(tmp_path: Path):
    program, report = tmp_path / "tests/host/test_made_up", tmp_path / "report.xml"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM)
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", RUN, tmp_path, report],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stdout
    cases = xml.parse(report).getroot().findall(".//testcase")
    seen = {(case.get("classname").rpartition(".")[2], case.get("name")): case for case in cases}
    assert len(cases) == len(seen) == 4
    for compiler in ("gcc", "clang"):
        of = f"host-{compiler}-test_made_up"
        assert seen[of, "passes"].find("failure") is None
        assert "the reason" in seen[of, "fails"].find("failure").text
