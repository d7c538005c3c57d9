# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One lab at a time at what the labs of a tree share.

The kernel takes a lock back when its holder ends, however that is; no child inherits it.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .errors import LabError

LIMIT_S = 600.0
PAUSE_S = 0.1


@contextmanager
def held(path: Path, what: str, limit_s: float = LIMIT_S) -> Iterator[None]:
    """Waits for its turn; `what` says of another that has it what it is doing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + limit_s
    with path.open("w") as file:
        while not _is_taken(file):
            if time.monotonic() > deadline:
                raise LabError(f"another lab is {what} in this tree; waited {limit_s:g} s for it")
            time.sleep(PAUSE_S)
        yield


def _is_taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
