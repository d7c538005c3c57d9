# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line: what it refuses, and how it says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import PLUMB, plumb

from lab.paths import ROOT


def complaint(*words: str, status: int = 1) -> str:
    """What the lab says, in one line, of a command that it refuses."""
    done = plumb(*words, limit_s=60)
    assert done.returncode == status, done.stdout
    (line,) = done.stdout.splitlines()
    assert line.startswith("plumb: ")
    return line


def test_a_folder_that_cannot_be_made_is_said_in_one_line():
    line = complaint("bench", "--out", "/dev/null/out")
    assert "/dev/null/out" in line and "Not a directory" in line


@pytest.mark.parametrize("command", [("bench",), ("run", "iperf")])
@pytest.mark.parametrize("path", ["/nowhere/frames.pcap", "/dev/null/frames.pcap", "/proc"])
def test_a_capture_that_cannot_be_written_is_refused(command: tuple[str, ...], path: str):
    assert path in complaint(*command, "--pcap", path)


@pytest.mark.parametrize("command", [("bench",), ("run", "iperf")])
def test_an_optimisation_that_is_not_built_is_refused(command: tuple[str, ...]):
    assert "not built with 'O3', but: O2, Os" in complaint(*command, "--opt", "O3", status=2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_tap_device_is_refused_to_a_user_before_anything_is_built():
    script = """
import os, sys
from lab import build, run
from lab.errors import MissingTool
os.setuid(65534)
build.firmware = lambda *_: sys.exit("built")
try:
    run.run(run.Options("iperf", tap=True), 1)
except MissingTool as refusal:
    print(refusal)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert "a TAP device needs root" in done.stdout, done.stdout + done.stderr


def test_a_program_without_a_name_is_none():
    assert "'' is no file" in complaint("size", "")


def test_what_has_no_console_cannot_be_profiled():
    line = complaint("profile", "--variant", "size", status=2)
    assert "zynq has no variant 'size', but: default, " in line and " size," not in line


def test_a_locale_of_plain_ascii_changes_nothing():
    """Sources, records and tables are UTF-8 whatever the terminal's user speaks."""
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [PLUMB, "history"], cwd=ROOT, env=plain, capture_output=True, encoding="utf-8", timeout=60
    )
    assert done.returncode == 0 and "±" in done.stdout, done.stderr


def test_without_a_command_it_explains_itself():
    done = plumb()
    assert done.returncode == 0 and "doctor" in done.stdout


def test_an_unknown_option_is_a_matter_of_usage():
    assert plumb("run", "iperf", "--nonsense").returncode == 2


def test_it_is_found_through_links(tmp_path: Path):
    (tmp_path / "first").symlink_to(PLUMB)
    (tmp_path / "second").symlink_to("first")
    done = subprocess.run([tmp_path / "second", "--help"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / ".venv").exists()
