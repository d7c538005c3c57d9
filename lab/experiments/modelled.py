# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfers of iperf on memories that the emulated board does not have: a boot under the
counting plugin and the memory-cost model, and what is changed of a model to see what each of
its parameters does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .. import measure
from ..board import Board, Setup
from ..iperf import PORT
from ..measure import Sample
from ..memory import Core, Cost, Memory, Model, Value
from ..network import UserNetwork
from ..profile import Profile
from .firmware import Firmware

ABSENT = ("icache.bytes", "dcache.bytes", "write_buffer.entries")  # may be 0: off
PATIENCE = 8.0  # every model looks at every access
FREE_FETCHES = {"icache.bytes": 1 << 20}  # no instruction is ever fetched twice


@dataclass(frozen=True)
class Modelled:
    """A transfer, and what it took on each model."""

    sample: Sample
    costs: list[Cost]

    def cycles_per_byte(self, model: int) -> float:
        """Of payload, idling left out."""
        return self.costs[model].cycles / self.sample.board.bytes


@dataclass(frozen=True)
class Running:
    """A firmware that runs under both plugins."""

    board: Board
    network: UserNetwork
    profile: Profile
    memory: Memory

    def transfer(self, case: str, *options: str) -> Modelled:
        """One transfer; further options are the client's."""
        sample = measure.once(
            self.board, self.network, case, self.profile, options, patience=PATIENCE
        )
        return Modelled(sample, self.memory.next())


@contextmanager
def booted(firmware: Firmware, models: list[Model], out: Path) -> Iterator[Running]:
    """Boots a firmware on all models at once, and switches it off."""
    network = UserNetwork((PORT,))
    folder = out / f"modelled-{firmware.variant}"
    profile = Profile(firmware.program(), folder / "counter")
    memory = Memory(firmware.program(), folder, models)
    setup = Setup(
        firmware.program(),
        network,
        plugin=profile.option(),
        second_plugin=memory.option(),
    )
    try:
        with Board(firmware.kind, setup) as board:
            board.wait_ready()
            yield Running(board, network, profile, memory)
    finally:
        network.close()


def mbit_per_s(core: Core, cycles_per_byte: float) -> float:
    """The rate that a core of its clock carries when it does nothing else."""
    return core.clock_mhz * 8 / cycles_per_byte


# ---- sensitivity ----


def changes(core: Core, board: str) -> list[tuple[str, Value]]:
    """Each parameter halved and doubled, or taken away, or the other way round."""
    found: list[tuple[str, Value]] = []
    for name, value in Model(core, board).values().items():
        found += [(name, other) for other in _others(name, value)]
    return found


def _others(name: str, value: Value) -> list[Value]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [other for other in ("lru", "fifo", "random") if other != value]
    if value == 0:
        return [1]
    others: list[Value] = [value // 2, value * 2]
    if name in ABSENT:
        others.append(0)
    least = 8 if name == "sdram.bus_bits" else 1
    return [other for other in dict.fromkeys(others) if _makes_sense(name, other, least)]


def _makes_sense(name: str, value: Value, least: int) -> bool:
    if name in ABSENT:
        return True
    most = {"sdram.bus_bits": 64, "write_buffer.entry_bytes": 64, "sdram.banks": 16}
    return least <= int(value) <= most.get(name, 1 << 30)
