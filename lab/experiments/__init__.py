# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiments there are, by name; each is loaded when it is asked for.

base.py says what an experiment is, runner.py runs one. Shared by several: bytes.py
(programs around the byte routines), wall.py (the same by the clock), firmware.py (a
board under iperf), found.py (records looked up for tables).
"""

from importlib import import_module

from ..errors import NotUnderstood
from .base import Experiment

# Module of this package, and the class in it.
EXPERIMENTS = {
    "checksum": ("checksum", "Checksum"),
    "copy": ("copy", "Copy"),
    "ether-copy": ("ether_copy", "EtherCopy"),
    "strict-align": ("strict_align", "StrictAlign"),
    "rx-align": ("rx_align", "RxAlign"),
    "rx-path": ("rx_path", "RxPath"),
    "linux": ("linux", "Linux"),
    "impairment": ("impairment", "Impairment"),
}
# What plain `./plumb bench` does; it has a board and a client and is no part of this package.
DEFAULT = "throughput"


def check(name: str) -> None:
    """Raises unless there is such an experiment."""
    if name != DEFAULT and name not in EXPERIMENTS:
        known = ", ".join([DEFAULT, *EXPERIMENTS])
        raise NotUnderstood(f"there is no experiment {name!r}; there are: {known}")


def load(name: str) -> Experiment:
    """An experiment by its name."""
    check(name)
    module, kind = EXPERIMENTS[name]
    return getattr(import_module(f".{module}", __package__), kind)()
