# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs iperf and echo against a board, case by case; turns what was seen into records."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import build, echo, iperf, tools
from .board import Board, Kind
from .console import Transfer
from .errors import LabError
from .network import Network, TapNetwork
from .profile import Interval, Profile
from .records import Record, of_values

TRANSFER_LIMIT_S = 40.0
REPORT_LIMIT_S = 5.0
LOST_BUFFER_COUNTERS = ("rx_no_buffer", "ipv4_no_buffer", "tcp_no_buffer")

# A fixed number of bytes rather than of seconds, so that counts repeat.
CASES: dict[str, list[str]] = {
    "tcp_rx": ["-n", "16M"],
    "tcp_tx": ["-R", "-n", "16M"],
    "udp_rx": ["-u", "-b", "80M", "-n", "8M"],
    "udp_tx": ["-u", "-R", "-b", "80M", "-n", "8M"],
}
ECHO = "udp_echo"  # and this one is a sender of the lab's


def tools_of(kind: Kind, folder: Path, network: str) -> dict[str, str]:
    """What a build of a firmware was made and run with."""
    compiler, flags = build.compiler_and_flags(folder)
    emulator = "qemu-system-arm" if kind.is_emulated else "qemu-x86_64"
    version = tools.first_version(tools.output_of([emulator, "--version"]))
    pace = f"{kind.ns_per_instruction} ns an instruction"
    manner = pace if kind.is_emulated else "for the counts only"
    return {
        "emulator": f"{emulator} {version}, {manner}",
        "compiler": compiler,
        "flags": flags,
        "client": tools.output_of(["iperf", "-v"]).partition(" (")[0].replace(" version", ""),
        "commit": tools.commit(),
        "network": network,
    }


@dataclass(frozen=True)
class Errand:
    """A transfer to ask for: which case, and as whose measurement it counts."""

    case: str
    variant: str = "default"
    stack: str = "plumb"
    port: int = iperf.PORT

    @property
    def what(self) -> str:
        """For whoever waits."""
        words = [self.stack, self.variant] if self.variant != "default" else []
        return " ".join([*words, self.case])


@dataclass(frozen=True)
class Sample:
    """One transfer, seen from three sides: the client, the board, the counter."""

    case: str
    client: iperf.Report
    board: Transfer
    counted: Interval | None
    variant: str = "default"
    stack: str = "plumb"


def once(
    board: Board,
    network: Network,
    errand: Errand | str,
    profile: Profile | None,
    options: tuple[str, ...] = (),
    patience: float = 1.0,
) -> Sample:
    """One transfer, of a case or as an errand says; further options are the client's, whose
    last word counts. `patience` stretches the waits, where more than counting slows the board."""
    if isinstance(errand, str):
        errand = Errand(errand)
    before = len(board.console.transfers)
    case = errand.case
    if case == ECHO:
        client = echo.run(board, network)
    else:
        client = _iperf(board, network, errand, options, TRANSFER_LIMIT_S * patience)
    board.wait(
        lambda: len(board.console.transfers) > before,
        REPORT_LIMIT_S * patience,
        f"reported no end of the transfer ({errand.what})",
    )
    transfer = board.console.transfers[before]
    if transfer.case != case or not transfer.bytes:
        raise LabError(f"asked for {case}, the board reports {transfer}")
    counted = profile.next() if profile else None
    return Sample(case, client, transfer, counted, errand.variant, errand.stack)


def _iperf(
    board: Board, network: Network, errand: Errand, options: tuple[str, ...], limit_s: float
) -> iperf.Report:
    client = iperf.start(network, [*CASES[errand.case], *options], errand.port)
    board.follow(client, limit_s, f"iperf ({errand.what})")
    text = client.communicate()[0]
    if client.returncode:
        raise LabError(f"iperf ({errand.what}) failed with {client.returncode}:\n{text.strip()}")
    return iperf.parse(text)


DEFAULT = tuple(Errand(case) for case in CASES)


def series(
    board: Board,
    network: Network,
    repeats: int,
    profile: Profile | None,
    on_progress: Callable[[str], None],
    errands: tuple[Errand, ...] = DEFAULT,
) -> list[Sample]:
    """All errands, `repeats` times over."""
    samples = []
    for _ in range(repeats):
        for errand in errands:
            on_progress(errand.what)
            samples.append(once(board, network, errand, profile))
    return samples


def lost_buffers(board: Board) -> int:
    """Frames and payloads lost for want of a buffer, since the board's start."""
    return sum(
        value
        for name, value in board.console.counters.items()
        if name.rpartition(".")[2] in LOST_BUFFER_COUNTERS
    )


Value = Callable[[Sample], float | None]


def _per(amount: Callable[[Interval], int], unit: Callable[[Transfer], int]) -> Value:
    def value(sample: Sample) -> float | None:
        if sample.counted is None or not unit(sample.board):
            return None
        return amount(sample.counted) / unit(sample.board)

    return value


def _touches_per_byte(sample: Sample) -> float | None:
    touches = sample.counted.touches(sample.case) if sample.counted else None
    return None if touches is None or not sample.board.bytes else touches / sample.board.bytes


def _count(amount: Callable[[Interval], int]) -> Value:
    return lambda sample: float(amount(sample.counted)) if sample.counted else None


def _by_clock(sample: Sample) -> float | None:
    return sample.board.bytes * 8 / sample.board.time_us if sample.board.time_us else None


def _segments_per_ack(sample: Sample) -> float | None:
    return sample.board.packets / sample.board.acks if sample.board.acks else None


def metrics_of(kind: Kind, network: Network) -> dict[str, tuple[str, Value]]:
    """What is made of a sample: names, units, and how. A value of None is left out."""
    metrics: dict[str, tuple[str, Value]] = {
        "throughput": ("Mbit/s", _by_clock),
        "throughput_client": ("Mbit/s", lambda sample: sample.client.mbit_per_s),
        "payload_bytes": ("B", lambda sample: float(sample.board.bytes)),
        "segments_per_ack": ("", _segments_per_ack),
        "instructions": ("", _count(lambda i: i.instructions)),
        "idle_instructions": ("", _count(lambda i: i.idle_instructions)),
        "misaligned_accesses": ("", _count(lambda i: i.misaligned_accesses)),
        "instructions_per_byte": ("", _per(lambda i: i.instructions, lambda t: t.bytes)),
        "instructions_per_packet": ("", _per(lambda i: i.instructions, lambda t: t.packets)),
        "instructions_by_register_per_byte": (
            "",
            _per(lambda i: i.by_register, lambda t: t.bytes),
        ),
        "accesses_per_byte": ("", _per(lambda i: i.accesses, lambda t: t.bytes)),
        "touches_per_byte": ("", _touches_per_byte),
    }
    if kind.ns_per_instruction:
        metrics |= _of_own_clock(kind.ns_per_instruction)
    if isinstance(network, TapNetwork):
        metrics["udp_loss"] = ("%", lambda sample: sample.client.loss_percent)
        metrics["jitter"] = ("ms", lambda sample: sample.client.jitter_ms)
    return metrics


def _of_own_clock(ns: int) -> dict[str, tuple[str, Value]]:
    def busy_us(sample: Sample) -> float | None:
        return sample.counted.instructions * ns / 1000 if sample.counted else None

    def throughput_busy(sample: Sample) -> float | None:
        busy = busy_us(sample)
        return sample.board.bytes * 8 / busy if busy else None

    def idle_share(sample: Sample) -> float | None:
        busy = busy_us(sample)
        if busy is None or not sample.board.time_us:
            return None
        return max(0.0, 100 * (1 - busy / sample.board.time_us))

    return {"throughput_busy": ("Mbit/s", throughput_busy), "idle_share": ("%", idle_share)}


def records(
    samples: list[Sample], kind: Kind, network: Network, tools: dict[str, str]
) -> list[Record]:
    """The medians of all samples, one case after the other and metric by metric."""
    made = []
    for stack, variant, case in dict.fromkeys((s.stack, s.variant, s.case) for s in samples):
        ours = [s for s in samples if (s.stack, s.variant, s.case) == (stack, variant, case)]
        whose = {"stack": stack, "variant": variant, "case": case}
        about = {"experiment": "throughput", "board": kind.name, "tools": tools, **whose}
        for metric, (unit, value) in metrics_of(kind, network).items():
            known = [number for number in map(value, ours) if number is not None]
            if known:
                made.append(of_values(known, metric=metric, unit=unit, **about))
    return made
