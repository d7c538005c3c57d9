# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a metric is called in print, with how many digits, and which way is better.

A metric that is not listed is known by how its name ends; one that is not known at all
is shown and never judged.
"""

from dataclasses import dataclass
from enum import Enum


class Better(Enum):
    """Which of two values is the better one."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"  # it tells what was done, or how fast this host is


@dataclass(frozen=True)
class Metric:
    """How a metric is shown and judged."""

    title: str
    digits: int = 3
    better: Better = Better.LESS
    meaning: str = ""


_LESS, _MORE, _NEITHER = Better.LESS, Better.MORE, Better.NEITHER

KNOWN = {
    "instructions_per_byte": Metric(
        "instructions per byte", 3, _LESS,
        "executed outside idling, divided by the bytes of payload",
    ),
    "instructions_per_packet": Metric(
        "instructions per packet", 0, _LESS,
        "the same, divided by the segments or datagrams that carried payload",
    ),
    "touches_per_byte": Metric(
        "touches per byte", 3, _LESS,
        "payload bytes that the processor loaded plus those it stored, divided by the payload",
    ),
    "accesses_per_byte": Metric(
        "accesses per byte", 3, _LESS, "loads and stores of any width, per byte of payload"
    ),
    "misaligned_accesses": Metric(
        "misaligned", 0, _LESS, "loads and stores whose address is no multiple of their size"
    ),
    "throughput": Metric(
        "Mbit/s", 1, _MORE, "payload over time by the stack's clock, waiting included"
    ),
    "throughput_busy": Metric(
        "busy Mbit/s", 1, _MORE, "payload over the time of the instructions that were not idle"
    ),
    "throughput_client": Metric(
        "iperf Mbit/s", 1, _NEITHER, "by this host's clock: how fast the emulator is"
    ),
    "idle_share": Metric("idle %", 1, _NEITHER, "of the stack's time"),
    "segments_per_ack": Metric(
        "segments per ACK", 1, _NEITHER, "segments with payload per acknowledgement without"
    ),
    "udp_loss": Metric("loss %", 2, _LESS, "as the receiver reported"),
    "jitter": Metric("jitter ms", 3, _LESS, "as the receiver reported"),
    "modelled_udp_loss": Metric(
        "modelled loss %", 2, _LESS, "of what is offered, what a modelled core cannot carry"
    ),
    "gain_over_baseline": Metric(
        "gain over baseline %", 1, _MORE, "of a modelled rate, over that of the step `baseline`"
    ),
    "payload_bytes": Metric("payload bytes", 0, _NEITHER),
    "instructions": Metric("instructions", 0, _LESS),
    "idle_instructions": Metric("idle instructions", 0, _NEITHER),
    "connections": Metric(
        "connections", 0, _MORE, "that opened, delivered and closed, one after the other"
    ),
    "lost_buffers": Metric("lost buffers", 0, _LESS),
    "goal_met": Metric("goal met", 0, _MORE),
}  # fmt: skip
# What is counted of UDP receive depends on this host's pace: datagrams arrive by its clock,
# and a turn of the board's loop that finds only one costs some 120 instructions more. Runs of
# one firmware on an idle and on a loaded host were seen to differ by 6 to 8 %.
PACED = ("udp_rx", 0.08)
PACED_METRICS = (
    "instructions", "instructions_per_byte", "instructions_per_packet",
    "instructions_by_register_per_byte", "accesses_per_byte", "throughput_busy",
)  # fmt: skip
_BY_ENDING = (
    (("_per_byte",), 3, _LESS),
    (("_per_packet", "_per_segment"), 1, _LESS),
    (("_bytes",), 0, _LESS),
    (("loads", "stores", "instructions", "accesses", "calls", "cycles"), 1, _LESS),
    (("time", "_ns", "_us"), 2, _LESS),
)
_BY_START = (
    (("throughput", "modelled_throughput"), 1, _MORE),
    (("ratio_to_",), 2, _MORE),
    (("default_to_", "copy_break_to_"), 3, _MORE),
)


def of(name: str) -> Metric:
    """What is known of a metric."""
    if name in KNOWN:
        return KNOWN[name]
    title = name.replace("_", " ")
    for starts, digits, better in _BY_START:
        if name.startswith(starts):
            return Metric(title, digits, better)
    for ends, digits, better in _BY_ENDING:
        if name.endswith(ends):
            return Metric(title, digits, better)
    return Metric(title, 3, _NEITHER)


def tolerance(name: str, case: str) -> float:
    """By what share of it a value differs from run to run, whatever its repeats say."""
    paced, share = PACED
    return share if case == paced and name in PACED_METRICS else 0.0


def number(name: str, value: float) -> str:
    """A value as it is printed."""
    return f"{value:.{of(name).digits}f}"


def with_spread(name: str, value: float, spread: float) -> str:
    """A value, and its spread if that is anything in as many digits."""
    told = number(name, spread)
    return number(name, value) + (f" ± {told}" if float(told) else "")
