# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs iperf against a board, case by case, and turns what was seen into records."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import build, iperf, tools
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
class Sample:
    """One transfer, seen from three sides: the client, the board, the counter."""

    case: str
    client: iperf.Report
    board: Transfer
    counted: Interval | None


def once(
    board: Board,
    network: Network,
    case: str,
    profile: Profile | None,
    options: tuple[str, ...] = (),
) -> Sample:
    """One transfer; further options are the client's, whose last word counts."""
    before = len(board.console.transfers)
    client = iperf.start(network, [*CASES[case], *options])
    board.follow(client, TRANSFER_LIMIT_S, f"iperf ({case})")
    text = client.communicate()[0]
    if client.returncode:
        raise LabError(f"iperf ({case}) failed with {client.returncode}:\n{text.strip()}")
    board.wait(
        lambda: len(board.console.transfers) > before,
        REPORT_LIMIT_S,
        f"reported no end of the transfer ({case})",
    )
    transfer = board.console.transfers[before]
    if transfer.case != case or not transfer.bytes:
        raise LabError(f"asked for {case}, the board reports {transfer}")
    return Sample(case, iperf.parse(text), transfer, profile.next() if profile else None)


def series(
    board: Board,
    network: Network,
    repeats: int,
    profile: Profile | None,
    on_progress: Callable[[str], None],
) -> list[Sample]:
    """All cases, `repeats` times over."""
    samples = []
    for _ in range(repeats):
        for case in CASES:
            on_progress(case)
            samples.append(once(board, network, case, profile))
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
    """The medians of all samples, case by case and metric by metric."""
    made = []
    for case in CASES:
        for metric, (unit, value) in metrics_of(kind, network).items():
            values = [value(sample) for sample in samples if sample.case == case]
            known = [number for number in values if number is not None]
            if known:
                about = {"experiment": "throughput", "board": kind.name, "tools": tools}
                made.append(of_values(known, case=case, metric=metric, unit=unit, **about))
    return made
