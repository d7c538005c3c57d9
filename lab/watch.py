# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Notices a board that goes round in one function and never comes back.

A transfer at full speed may be found in the same function ten seconds running, by
chance; not two hundred times more, as fast as one can ask.
"""

import time
from collections.abc import Callable

SAMPLES = 10
CONFIRMATIONS = 200
CONFIRMATION_PAUSE_S = 0.01
IDLE = "board_idle"


class Watch:
    """To be asked about once a second, while the board says nothing."""

    def __init__(self, function_now: Callable[[], str]) -> None:
        self._function_now = function_now
        self.reset()

    def reset(self) -> None:
        """The board gave a sign of life."""
        self._function = ""
        self._times = 0

    def is_hung(self) -> bool:
        """Looks once more, where the board is; when long in one place, many times."""
        function = self._function_now()
        self._times = self._times + 1 if function == self._function else 1
        self._function = function
        if function in ("", IDLE) or self._times < SAMPLES:
            return False
        if self._is_confirmed(function):
            return True
        self.reset()
        return False

    def _is_confirmed(self, function: str) -> bool:
        for _ in range(CONFIRMATIONS):
            if self._function_now() != function:
                return False
            time.sleep(CONFIRMATION_PAUSE_S)
        return True
