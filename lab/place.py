# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A board that is not emulated here: labgrid has its console and its power.

Its labgrid environment is a file of the user's, or lab/boards/BOARD-place.yaml, which
takes both from a place at a coordinator. Options in it, all of which may be missing:

    plumb_stage     a command before the board is switched on, {firmware} in it: to where
                    its loader fetches the firmware from
    plumb_load      the same once it is on: for a debugger that writes to its memory
    plumb_address   where to reach the board, if not at the address that it says
    plumb_forwards  a table of its ports and those that stand for them there
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .network import PlaceNetwork
from .paths import LAB

COMMAND_LIMIT_S = 120.0
COORDINATOR_LIMIT_S = 30.0
COORDINATOR = "127.0.0.1:20408"  # labgrid's own default
OURS = "You have already acquired place"


@dataclass(frozen=True)
class Place:
    """Where a board is to be had."""

    name: str  # at a coordinator; empty: on this host, by the environment
    coordinator: str
    environment: Path

    def __str__(self) -> str:
        return f"place {self.name} at {self.coordinator}" if self.name else str(self.environment)

    def export(self) -> None:
        """Tells labgrid, which asks its environment."""
        os.environ["LG_PLACE"] = self.name
        os.environ["LG_COORDINATOR"] = self.coordinator
        for variable in ("LG_STAGE", "LG_LOAD"):
            os.environ.setdefault(variable, "")

    def option(self, name: str, default: object) -> object:
        """One of the environment's options."""
        from labgrid.config import Config

        self.export()
        try:
            return Config(str(self.environment)).get_option(name, default) or default
        except Exception as problem:  # labgrid, attrs and yaml have no base of their own
            raise LabError(f"{self.environment}: {problem}") from problem

    def network(self) -> PlaceNetwork:
        """How to reach the board."""
        forwards = self.option("plumb_forwards", {})
        if not isinstance(forwards, dict):
            raise LabError(f"{self.environment}: plumb_forwards is no table of ports")
        ports = {int(there): int(here) for there, here in forwards.items()}
        return PlaceNetwork(str(self.option("plumb_address", "")), ports)

    def run_command(self, option: str, firmware: Path) -> None:
        """Runs what an option says, if anything."""
        template = str(self.option(option, ""))
        if not template:
            return
        words = [word.replace("{firmware}", str(firmware)) for word in shlex.split(template)]
        done = _run(words, COMMAND_LIMIT_S, f"{option}: no end within {COMMAND_LIMIT_S:g} s")
        if done.returncode:
            raise LabError(f"{option} failed with {done.returncode}:\n{done.stdout.strip()}")


def chosen(board: str, name: str, coordinator: str, environment: Path | None) -> Place | None:
    """What the options come to; None: an emulated board of this host."""
    if not name and environment is None:
        return None
    file = environment or LAB / f"boards/{board}-place.yaml"
    if not file.is_file():
        raise LabError(f"{file}: there is no such labgrid environment")
    return Place(name, coordinator or COORDINATOR, file.resolve())


def _run(words: list[str], limit_s: float, late: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; `late` is what is said when that does not come."""
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired as problem:
        raise LabError(late) from problem


def _client(place: Place, verb: str) -> subprocess.CompletedProcess[str]:
    client = str(Path(sys.prefix) / "bin/labgrid-client")
    words = [client, "-x", place.coordinator, "-p", place.name, verb]
    return _run(words, COORDINATOR_LIMIT_S, f"{place}: the coordinator does not answer")


@contextmanager
def acquired(place: Place) -> Iterator[None]:
    """Has the place for as long as it lasts, and gives back what was not ours before."""
    if not place.name:
        yield
        return
    done = _client(place, "acquire")
    is_ours_already = OURS in done.stdout
    if done.returncode and not is_ours_already:
        raise LabError(f"{place}: {done.stdout.strip()}")
    try:
        yield
    finally:
        if not is_ours_already:
            _client(place, "release")
