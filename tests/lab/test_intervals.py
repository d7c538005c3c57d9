# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A plugin's lines, read while it writes them."""

import pytest

from lab.errors import LabError
from lab.intervals import Intervals


def test_what_does_not_come_is_missed(tmp_path):
    path = tmp_path / "counts.jsonl"
    told = Intervals(path, "nothing was told")
    for _ in range(2):
        with pytest.raises(LabError, match="^nothing was told within 0 s$"):
            told.next(0)
        path.touch()


def test_each_line_is_read_once_and_when_it_is_whole(tmp_path):
    path = tmp_path / "counts.jsonl"
    path.write_text('{"of": "another boot"}\n')
    told = Intervals(path, "nothing was told")
    assert told.rest() == []
    with path.open("w") as file:
        print('{"n": 1}\n{"n": 2}', file=file, flush=True)
        assert told.next(1) == {"n": 1}
        print('{"n": ', end="", file=file, flush=True)
        assert told.next(1) == {"n": 2}
        with pytest.raises(LabError, match="within 0 s; .*ends within a line: is the disk full?"):
            told.next(0)
        print('3}\n{"n": 4}', file=file, flush=True)
        assert told.rest() == [{"n": 3}, {"n": 4}]
        assert told.rest() == []
