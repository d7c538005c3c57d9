# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a plugin writes, a line for each interval, read while the emulator runs."""

import json
import time
from pathlib import Path
from shutil import disk_usage

from .errors import LabError


class Intervals:
    """The file of one boot; an older one of its name is removed."""

    def __init__(self, path: Path, missed: str) -> None:
        """`missed` is what is said when none comes."""
        path.unlink(missing_ok=True)
        self.path = path
        self._missed = missed
        self._offset = 0

    def next(self, limit_s: float) -> dict:
        """The next one, waited for."""
        deadline = time.monotonic() + limit_s
        while not (line := self._line()):
            if time.monotonic() > deadline:
                raise LabError(f"{self._missed} within {limit_s:g} s{self._full()}")
            time.sleep(0.01)
        return json.loads(line)

    def rest(self) -> list[dict]:
        """All that were not yet read, of a program that has ended."""
        return [json.loads(line) for line in iter(self._line, "")]

    def _full(self) -> str:
        """A plugin cannot say that it could not write."""
        if not self.path.exists():
            return ""
        is_cut = self.path.stat().st_size > self._offset
        if not is_cut and disk_usage(self.path).free:
            return ""
        how = "ends within a line" if is_cut else "grew no more"
        return f"; {self.path} {how}: is the disk full?"

    def _line(self) -> str:
        if not self.path.exists():
            return ""
        with self.path.open() as file:
            file.seek(self._offset)
            line = file.readline()
        if not line.endswith("\n"):
            return ""
        self._offset += len(line)
        return line
