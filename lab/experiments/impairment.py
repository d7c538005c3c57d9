# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Goodput under loss, delay, reordering, duplication, corruption and jitter, beside Linux's.

bench/impairment runs one transfer in real time: the subject, Plumb's linux board or this
host's kernel, listens behind a relay whose faults are those of drivers/wire, by a seed;
a Linux beyond the relay connects. So the peer, the faults and the clock are the same for
both. The subject sends, by one of two algorithms; in cases that say `receiving` it is
Linux beyond the relay that sends, and the subject's is the receiver's part.
"""

import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from .. import build, plots, tools
from ..errors import LabError, MissingTool
from ..records import Record, of_values
from .base import Experiment, Run, Table, case_of
from .found import number, ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BOARD = "linux"
PRESETS = {"cubic": "linux-wide", "reno": "linux-wide-reno"}
RECEIVING = "cubic"  # the algorithm of the Linux that sends to a subject that receives
STACKS = ("plumb", "linux")
SEEDS, FEW_SEEDS, QUICK_SEEDS = 20, 5, 1  # where frames are lost; elsewhere
SECONDS, QUICK_SECONDS = 4, 2
LIMIT_S = 90.0  # beyond the transfer's own time
RATE_MBIT = 100
LOSSES = (0, 0.1, 1, 2, 5, 10, 20, 30)  # % of the frames, either way
# There and back, ms. Not less: to wake a process takes this host 0.1 ms, which a kernel saves.
DELAYS = (5, 20, 100)
DELAY = 20
# Beside loss, at DELAY: % of the frames; of jitter, ms.
OTHERS = (
    ("reordering", 1),
    ("reordering", 10),
    ("duplication", 10),
    ("corruption", 1),
    ("jitter", 5),
)
METRIC, RATIO, ENDED = "goodput", "goodput_ratio", "connections_lost"
# A transfer is measured again, if the relay was late with so many of its frames.
LATE_SHARE, TRIES = 0.02, 3
# What may run at a time, in Mbit/s through a processor, and the least that counts for one.
BUSY_MBIT, LEAST_MBIT = 90, 8


@dataclass(frozen=True)
class Case:
    """What the frames meet, either way."""

    fault: str  # an option of the relay's
    amount: float
    delay: int
    receives: bool = False

    @property
    def name(self) -> str:
        """As records spell it."""
        what = case_of(**{self.fault: f"{self.amount:g}", "delay": self.delay})
        return what + (" receiving" if self.receives else "")

    def options(self) -> list[str]:
        """What the relay is told."""
        scale = 1000 if self.fault == "jitter" else 100  # us of ms; 10000ths of %
        amount = str(round(self.amount * scale))
        words = ["--delay", str(self.delay * 500), f"--{self.fault}", amount]
        return words + (["--receives"] if self.receives else [])

    def algorithms(self) -> tuple[str, ...]:
        """Those of the sender; of a Linux that sends, its own."""
        return (RECEIVING,) if self.receives else tuple(PRESETS)

    @property
    def seeds(self) -> int:
        """Of how many the median is taken."""
        return SEEDS if self.fault == "loss" and self.amount else FEW_SEEDS

    @property
    def weight(self) -> float:
        """About how many Mbit/s it will bring (Mathis et al., 1997), so how busy it keeps us."""
        if self.fault not in ("loss", "corruption") or not self.amount:
            return RATE_MBIT
        rate = 1.22 * 1448 * 8 / (self.delay + 1) / 1000 / (self.amount / 100) ** 0.5
        return max(LEAST_MBIT, min(RATE_MBIT, rate))


CASES = (
    *(Case("loss", loss, delay) for delay in DELAYS for loss in LOSSES),
    *(Case(fault, amount, DELAY) for fault, amount in OTHERS),
    *(Case("loss", loss, DELAY, receives=True) for loss in LOSSES),
    *(Case(fault, amount, DELAY, receives=True) for fault, amount in OTHERS),
)


@dataclass(frozen=True)
class Transfer:
    """One run of one case."""

    case: Case
    stack: str
    algorithm: str
    seed: int


class Room:
    """How much runs at a time."""

    def __init__(self, size: float) -> None:
        self.size = self.left = size
        self.changed = threading.Condition()

    def run(self, weight: float, command: list[str], limit_s: float) -> str:
        """Runs a command when there is room for it; what it prints."""
        weight = min(weight, self.size)
        with self.changed:
            self.changed.wait_for(lambda: self.left >= weight)
            self.left -= weight
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired as late:
            raise LabError(f"no end within {limit_s:g} s: {' '.join(command)}") from late
        finally:
            with self.changed:
                self.left += weight
                self.changed.notify_all()
        if done.returncode:
            raise LabError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout


class Impairment(Experiment):
    """See the head of this file."""

    name = "impairment"
    title = "Goodput through impairments, beside Linux"
    question = (
        "How much arrives in some seconds through a link of 100 Mbit/s that loses, delays, "
        "reorders, repeats or changes frames either way, where Plumb sends (or receives), and "
        "where this host's Linux does, to (from) the same Linux through the same relay. Losses "
        "and the like in % of the frames of either direction, delay there and back in ms, jitter "
        "in ms; medians over the seeds of the faults, Mbit/s."
    )

    def boards(self) -> tuple[str, ...]:
        return (BOARD,)

    def measure(self, run: Run) -> list[Record]:
        if os.geteuid() != 0:
            raise MissingTool(
                "network namespaces need root:\nsudo ./plumb bench --experiment impairment"
            )
        run.step("building", 0)
        folders = {name: build.preset(preset) for name, preset in PRESETS.items()}
        transfers = [
            Transfer(case, stack, algorithm, seed)
            for case in CASES
            for algorithm in case.algorithms()
            for seed in range(QUICK_SEEDS if run.is_quick else case.seeds)
            for stack in STACKS
        ]
        seconds = QUICK_SECONDS if run.is_quick else SECONDS
        found = Transfers(folders, seconds, run, len(transfers)).all(transfers)
        write_raw(run.out / "transfers.jsonl", found)
        return records_of(found, folders)

    def tables(self, records: list[Record]) -> list[Table]:
        by = {(r.case, r.variant, r.stack, r.metric): r for r in records}
        sending = [
            loss_table(by, f"The subject sends; {delay} ms there and back", delay, False)
            for delay in DELAYS
        ]
        receiving = loss_table(by, f"The subject receives; {DELAY} ms", DELAY, True)
        others = [
            row(by, f"{fault} {amount:g}{', receiving' if receives else ''}", case)
            for receives in (False, True)
            for fault, amount in OTHERS
            for case in (Case(fault, amount, DELAY, receives),)
            if (case.name, "cubic", "plumb", METRIC) in by
        ]
        last = Table(f"Other impairments, {DELAY} ms", ["", *COLUMNS], others, NOTE)
        return [*sending, receiving, last]

    def plot(self, records: list[Record]) -> "list[Figure]":
        by = {(r.case, r.variant, r.stack): r.value for r in records if r.metric == METRIC}
        return [
            plots.bars(
                f"The subject sends; {delay} ms there and back",
                "loss, % of the frames either way",
                "goodput, Mbit/s",
                [f"{loss:g}" for loss in LOSSES],
                {
                    f"{stack}, {algorithm}": [
                        by.get((Case("loss", loss, delay).name, algorithm, stack))
                        for loss in LOSSES
                    ]
                    for algorithm in PRESETS
                    for stack in STACKS
                },
            )
            for delay in DELAYS
        ]


class Transfers:
    """Runs them, as many at a time as do not disturb each other."""

    def __init__(self, folders: dict[str, Path], seconds: int, run: Run, total: int) -> None:
        self.folders = folders
        self.seconds = seconds
        self.report = run.step
        self.total = total
        self.room = Room(BUSY_MBIT * (os.cpu_count() or 1))

    def all(self, transfers: list[Transfer]) -> list[tuple[Transfer, dict]]:
        """In the order given."""
        most = int(self.room.size / LEAST_MBIT) + 1
        with ThreadPoolExecutor(most) as pool:
            waiting = [pool.submit(self.one, transfer) for transfer in transfers]
            try:
                results = [future.result() for future in waiting]
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return list(zip(transfers, results, strict=True))

    def one(self, transfer: Transfer) -> dict:
        """One transfer; again, if the relay was too late for it to count."""
        command = [
            str(self.folders["cubic"] / "bench/impairment/plumb_impair"),
            *("--algorithm", transfer.algorithm, "--seed", str(transfer.seed)),
            *("--seconds", str(self.seconds), "--rate", str(RATE_MBIT * 1000000)),
            *transfer.case.options(),
        ]
        if transfer.stack == "plumb":
            preset = self.folders[transfer.algorithm]
            command += ["--program", str(preset / "boards/linux/plumb_iperf")]
        self.report(transfer.case.name, 0)
        for tries in range(1, TRIES + 1):
            text = self.room.run(transfer.case.weight, command, self.seconds + LIMIT_S)
            result = {**json.loads(text), "tries": tries}
            if result["refused"] or result["status"]:
                raise LabError(f"frames or packets were lost: {' '.join(command)}: {text}")
            if result["late"] <= LATE_SHARE * sum(result["frames"]):
                break
        self.report(transfer.case.name, 1 / self.total)
        return result


def write_raw(path: Path, found: list[tuple[Transfer, dict]]) -> None:
    """What the relay said of each transfer."""
    with path.open("w") as file:
        for one, result in found:
            about = {"case": one.case.name, "stack": one.stack, "variant": one.algorithm}
            file.write(json.dumps({**about, "seed": one.seed, **result}) + "\n")


def goodput(result: dict) -> float:
    """Mbit/s."""
    return result["bytes"] * 8 / result["elapsed_us"] if result["elapsed_us"] else 0.0


def tools_of(folder: Path) -> dict[str, str]:
    """What the subject was made with, and what its peer and rival is."""
    compiler, flags = build.compiler_and_flags(folder)
    return {
        "compiler": compiler,
        "flags": flags,
        "client": f"Linux {os.uname().release}",
        "commit": tools.commit(),
    }


def records_of(found: list[tuple[Transfer, dict]], folders: dict[str, Path]) -> list[Record]:
    """Medians over the seeds, Plumb's part of Linux's, and connections that ended."""
    made = []
    about = {name: {"tools": tools_of(folder)} for name, folder in folders.items()}
    for case in dict.fromkeys(transfer.case for transfer, _ in found):
        for algorithm in case.algorithms():
            named = {"experiment": "impairment", "board": BOARD, "case": case.name}
            named |= {"variant": algorithm, **about[algorithm]}
            medians = {}
            for stack in STACKS:
                results = [
                    result
                    for t, result in found
                    if (t.case, t.stack, t.algorithm) == (case, stack, algorithm)
                ]
                values = [goodput(result) for result in results]
                ended = sum(r["ended"] or not r["connected"] for r in results)
                medians[stack] = median(values)
                made.append(
                    of_values(values, metric=METRIC, unit="Mbit/s", stack=stack, **named)
                )
                made.append(Record(metric=ENDED, value=ended, unit="", stack=stack, **named))
            share = medians["plumb"] / medians["linux"] if medians["linux"] else 0.0
            made.append(Record(metric=RATIO, value=round(share, 6), unit="", **named))
    return made


COLUMNS = [
    f"{algorithm}, {what}"
    for algorithm in PRESETS
    for what in ("Plumb", "Linux", "Plumb / Linux")
]
NOTE = "With `receiving` the algorithm is that of the Linux that sends."
By = dict[tuple[str, str, str, str], Record]


def row(by: By, title: str, case: Case) -> list[str]:
    """A case's cells."""
    cells = [title]
    for algorithm in PRESETS:
        both = [by.get((case.name, algorithm, stack, METRIC)) for stack in STACKS]
        values = [record.value if record else None for record in both]
        cells += [
            number(record.value, 2) + f" ± {number(record.spread, 2)}" if record else "-"
            for record in both
        ]
        cells.append(ratio(*values))
    return cells


def loss_table(by: By, title: str, delay: int, receives: bool) -> Table:
    """Rows by loss."""
    cases = [Case("loss", loss, delay, receives) for loss in LOSSES]
    rows = [
        row(by, f"{case.amount:g} %", case)
        for case in cases
        if (case.name, "cubic", "plumb", METRIC) in by
    ]
    return Table(title, ["loss", *COLUMNS], rows)
