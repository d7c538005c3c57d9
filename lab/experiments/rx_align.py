# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What becomes of a received frame whose network header would lie at 2 mod 4.

It answers a measurement of RTEMS on LEON3 (2005; SPARC V8, which traps misaligned words):
a driver that moved each packet by two bytes reached about 30 Mbit/s and spent 13.5 % of
the samples on that; a stack that read its headers by halves, the packet left where it
lay, about 20, as memcpy then went byte by byte (25.7 % of the samples instead of 10.8 %);
the same with a memcpy by 16 bits about 30 again. A trap handler that emulates the loads,
as eCos had one, was believed to be cheap, and not measured.

This file measures; rx_align_page.py has what is said of it.
"""

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from .. import measure
from ..measure import Sample
from ..network import UserNetwork
from ..records import Record, of_values
from . import firmware, rx_align_page
from .base import Experiment, Run, Table, case_of
from .firmware import BOARD, Booted, Firmware
from .rx_align_strategies import (
    COLUMNS,
    FIXED,
    FULL,
    LEAD,
    LOAD,
    STRATEGIES,
    Strategy,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

CASE = "tcp_rx"
BYTES, QUICK_BYTES = "16M", "4M"
FUNCTIONS = 10  # of a profile; what is left is one row
NS = 16
EMULATED = f"{BOARD}.emulated_accesses"
IDLE, REST = "(idle)", "(rest)"
METRICS = (
    "throughput",
    "throughput_busy",
    "idle_share",
    "instructions_per_byte",
    "touches_per_byte",
)


@dataclass(frozen=True)
class Build:
    """One of a strategy's firmwares."""

    strategy: str
    receive: str
    firmware: Firmware

    def case(self, rate: str, **more: object) -> str:
        """As records spell it."""
        return case_of(rate=rate, receive=self.receive, **more)

    def record(self, values: list[float], metric: str, unit: str, case: str) -> Record:
        """A median of this build's."""
        return of_values(
            values,
            experiment=RxAlign.name,
            board=BOARD,
            variant=self.strategy,
            case=case,
            metric=metric,
            unit=unit,
            tools=firmware.tools_of(self.firmware),
        )


@dataclass(frozen=True)
class Seen:
    """A transfer, and how many accesses trapped and were emulated in it."""

    sample: Sample
    emulated: int

    @property
    def instructions(self) -> int:
        """Executed beside idling."""
        return self.sample.counted.instructions if self.sample.counted else 0

    def time_us(self, mbit_per_s: float) -> float:
        """How long so many bytes take at a rate."""
        return self.sample.board.bytes * 8 / mbit_per_s

    def share(self, instructions: float, mbit_per_s: float) -> float:
        """What part of that instructions take, in percent."""
        return 100 * instructions * NS / 1000 / self.time_us(mbit_per_s)


class RxAlign(Experiment):
    """iperf against firmware of every strategy, at full speed and at a fixed rate."""

    name = "rx-align"
    title = "Received frames on a strict processor"
    question = (
        "What it costs to bring a received network header to where words can be loaded: the "
        "frame moved, headers read by halves, headers pulled in front, loads that trap and are "
        "emulated; and Plumb's default, where the device pads. TCP receive, read in place and "
        "copied to the application, as fast as it goes and at a rate that all can carry."
    )

    def boards(self) -> tuple[str, ...]:
        return (BOARD,)

    def measure(self, run: Run) -> list[Record]:
        builds = builds_of(STRATEGIES)
        part = 1 / (3 * len(builds))
        for build in builds:
            run.step(f"building {build.firmware.preset}", part)
            build.firmware.program()
        found: list[Record] = []
        slowest: list[float] = []
        for build in builds:
            run.step(f"{build.strategy} {build.receive}", part)
            seen = transfers(build, run, ())
            found += of_any(build, FULL, seen)
            slowest.append(found_value(found, build, FULL, "throughput_busy"))
        rate = max(1, int(min(slowest) * LOAD / 100))
        for build in builds:
            run.step(f"{build.strategy} {build.receive}, {rate} Mbit/s", part)
            seen = transfers(build, run, ("-b", f"{rate}M"))
            found += of_any(build, FIXED, seen) + of_rate(build, seen, rate)
        return found + leads(found, builds)

    def tables(self, records: list[Record]) -> list[Table]:
        return rx_align_page.tables(records)

    def answers(self, records: list[Record]) -> list[str]:
        return rx_align_page.answers(records)

    def plot(self, records: list[Record]) -> "list[Figure]":
        return rx_align_page.figures(records)


def builds_of(strategies: tuple[Strategy, ...]) -> list[Build]:
    """Every firmware there is to measure."""
    return [
        Build(one.name, receive, Firmware(f"{one.name}-{receive}", preset))
        for one in strategies
        for receive, preset in one.presets.items()
    ]


# ---- measuring ----


def transfers(build: Build, run: Run, options: tuple[str, ...]) -> list[Seen]:
    """One boot, some transfers."""
    repeats = firmware.QUICK_REPEATS if run.is_quick else firmware.REPEATS
    amount = QUICK_BYTES if run.is_quick else BYTES
    with firmware.booted(build.firmware, run.out) as running:
        return [once(running, ("-n", amount, *options)) for _ in range(repeats)]


def once(running: Booted, options: tuple[str, ...]) -> Seen:
    """One transfer. The board tells what it emulated in it, if it does that at all."""
    sample = running.transfer(CASE, *options)
    return Seen(sample, running.board.console.counters.get(EMULATED, 0))


def of_any(build: Build, rate: str, seen: list[Seen]) -> list[Record]:
    """What is told of a transfer at any rate."""
    made = []
    known = measure.metrics_of(build.firmware.kind, UserNetwork())
    for metric in METRICS:
        unit, value = known[metric]
        values = [v for one in seen if (v := value(one.sample)) is not None]
        made.append(build.record(values, metric, unit, build.case(rate)))
    counted = [one.sample.counted for one in seen]
    misaligned = [
        float(interval.misaligned_accesses + one.emulated)
        for one, interval in zip(seen, counted, strict=True)
        if interval
    ]
    emulated = [one.emulated / one.sample.board.packets for one in seen]
    made.append(build.record(misaligned, "misaligned_accesses", "", build.case(rate)))
    made.append(build.record(emulated, "emulated_per_packet", "", build.case(rate)))
    return made


def of_rate(build: Build, seen: list[Seen], rate: int) -> list[Record]:
    """Of the time that the bytes take at the offered rate: what is busy, by function.

    The client paces by this host's clock, to which the board's keeps only about; so the
    time is that of the rate, and the instructions are those that were executed.
    """
    case = build.case(FIXED)
    load = [one.share(one.instructions, rate) for one in seen]
    made = [
        build.record([float(rate)], "offered_rate", "Mbit/s", case),
        build.record(load, "cpu_load", "%", case),
    ]
    shares = profile(seen, rate)
    time_ms = median(one.time_us(rate) for one in seen) / 1000
    for name, share in shares.items():
        at = build.case(FIXED, function=name)
        made.append(build.record([share], "share", "%", at))
        made.append(build.record([float(round(share * time_ms / 100))], "samples", "", at))
    return made


def profile(seen: list[Seen], rate: float) -> dict[str, float]:
    """The functions that take the most, each one's share of all time; idling included."""
    names = {f["name"] for one in seen for f in one.sample.counted.functions}
    shares = {
        name: median(one.share(one.sample.counted.instructions_of(name), rate) for one in seen)
        for name in names
    }
    idle = 100 - median(one.share(one.instructions, rate) for one in seen)
    most = sorted(shares, key=lambda name: -shares[name])[:FUNCTIONS]
    rest = 100 - idle - sum(shares[name] for name in most)
    top = {name: shares[name] for name in most}
    return {IDLE: idle, **top, REST: rest}


def found_value(found: list[Record], build: Build, rate: str, metric: str) -> float:
    """The record of a build, which is there."""
    wanted = (build.strategy, build.case(rate), metric)
    return next(r.value for r in found if (r.variant, r.case, r.metric) == wanted)


def leads(found: list[Record], builds: list[Build]) -> list[Record]:
    """How the default stands to the best of all others, column by column: 1 is as good,
    less is better."""
    made = []
    for default in (build for build in builds if build.strategy == "default"):
        others = [b for b in builds if b.receive == default.receive and b is not default]
        for rate, metrics in COLUMNS.items() if others else ():
            for metric in metrics:
                own = found_value(found, default, rate, metric)
                values = [found_value(found, other, rate, metric) for other in others]
                is_more = metric == "throughput_busy"
                lead = max(values) / own if is_more else own / min(values)
                case = default.case(rate, column=metric)
                made.append(default.record([lead], LEAD, "", case))
    return made
