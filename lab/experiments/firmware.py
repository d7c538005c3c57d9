# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfers of iperf on an emulated board, for experiments that compare builds of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .. import build, measure
from ..board import Board, Kind, Setup, kind_of
from ..iperf import PORT
from ..measure import Sample
from ..network import UserNetwork
from ..profile import Interval, Profile
from ..records import Record, of_values

BOARD = "zynq"
CASES = ("tcp_tx", "tcp_rx")
REPEATS, QUICK_REPEATS = 3, 1
# What is told of a transfer, of all that lab/measure.py makes of one.
METRICS = (
    "instructions_per_byte",
    "instructions_per_packet",
    "touches_per_byte",
    "accesses_per_byte",
    "misaligned_accesses",
    "throughput_busy",
)


@dataclass(frozen=True)
class Firmware:
    """A build of it, as one of an experiment's variants, and how it is booted."""

    variant: str
    preset: str
    routines: str = ""
    takes_misaligned: bool = False

    @property
    def kind(self) -> Kind:
        """Its board."""
        return kind_of(BOARD)

    def program(self) -> Path:
        """The program that is booted, built."""
        return build.firmware(self.preset, "iperf")


@dataclass(frozen=True)
class Booted:
    """A firmware that runs, and what counts what it executes."""

    board: Board
    network: UserNetwork
    profile: Profile

    def transfer(self, case: str, *options: str) -> Sample:
        """One transfer; further options are the client's."""
        return measure.once(self.board, self.network, case, self.profile, options)


@contextmanager
def booted(firmware: Firmware, out: Path) -> Iterator[Booted]:
    """Boots a firmware, and switches it off."""
    network = UserNetwork((PORT,))
    profile = Profile(firmware.program(), out / f"counter-{firmware.variant}")
    setup = Setup(
        firmware.program(),
        network,
        plugin=profile.option(),
        routines=firmware.routines,
        takes_misaligned=firmware.takes_misaligned,
    )
    try:
        with Board(firmware.kind, setup) as board:
            board.wait_ready()
            yield Booted(board, network, profile)
    finally:
        network.close()


def transfers(
    firmware: Firmware, repeats: int, out: Path, step: Callable[[str], None]
) -> list[Sample]:
    """Boots a firmware; every case so many times, one boot for all."""
    samples = []
    with booted(firmware, out) as running:
        for _ in range(repeats):
            for case in CASES:
                step(f"{firmware.variant} {case}")
                samples.append(running.transfer(case))
    return samples


def records(experiment: str, firmware: Firmware, samples: list[Sample]) -> list[Record]:
    """The medians, as records of an experiment and a variant."""
    made = measure.records(samples, firmware.kind, UserNetwork(), tools_of(firmware))
    return [
        replace(record, experiment=experiment, variant=firmware.variant)
        for record in made
        if record.metric in METRICS
    ]


def per_packet(
    experiment: str,
    firmware: Firmware,
    samples: list[Sample],
    metric: str,
    amount: Callable[[Interval], int],
) -> list[Record]:
    """Something counted, per packet that carried payload."""
    made = []
    for case in CASES:
        values = [
            amount(sample.counted) / sample.board.packets
            for sample in samples
            if sample.case == case and sample.counted and sample.board.packets
        ]
        about = {"board": BOARD, "variant": firmware.variant, "tools": tools_of(firmware)}
        made.append(
            of_values(values, experiment=experiment, case=case, metric=metric, unit="", **about)
        )
    return made


def tools_of(firmware: Firmware) -> dict[str, str]:
    """What a firmware was made and run with."""
    return measure.tools_of(firmware.kind, firmware.program().parent, "user")
