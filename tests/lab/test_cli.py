# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line: what it refuses, and how it says so."""

import pytest
from helpers import plumb


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
