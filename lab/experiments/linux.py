# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`linux`: Plumb's linux board beside other stacks on this host."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import build, iperf, measure, plots, smoltcp, tools
from ..board import Board, Setup, kind_of
from ..contenders import CONTENDERS, Contender, kernel
from ..errors import LabError
from ..network import TapNetwork, enter_namespace
from ..profile import Interval, Profile
from ..records import Record, of_values
from .base import Experiment, Run, Table, case_of
from .found import Found, number

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BOARD = "linux"
CASES = {"tcp_rx": "receives", "tcp_tx": "sends"}
REPEATS, QUICK_REPEATS = 5, 1
AMOUNT, QUICK_AMOUNT = "64M", "16M"
PATIENCE = 6.0  # this host may have others to serve
KERNEL_LIMIT_S = 240.0
CLIENT_TRIES = 20
RATE, COUNTED, TIME = "throughput_client", "instructions_per_byte", "processor_time_ns_per_byte"
OF_FUNCTION = "function_instructions_per_byte"
SHOWN = 5  # functions of each
COUNTED_NOTE = (
    "Mbit/s: by an unmodified iperf, the median of "
    f"{REPEATS} transfers of {AMOUNT}, stack after stack in turn, and their interquartile range; "
    "they wait for this host's processors as any process does. Processor time: what the stack's "
    "process took of it, its system calls included, but for what the kernel does for a frame in "
    "the other process's time. Instructions: of the process alone, executed under emulation "
    "without system calls, idling left out. The kernel's own are neither counted nor told apart "
    "from iperf's. What Plumb sends is summed while it is copied, so that leaving the sum alone to "
    "the device saves nothing there, and the device has to be told of each frame."
)


class Linux(Experiment):
    """iperf over TAP against Plumb, lwIP and smoltcp, and between two namespaces."""

    name = "linux"
    title = "Plumb, lwIP, smoltcp and the kernel on one host"
    question = (
        "What TCP takes in a process over a TAP device, with what the kernel can do for it and "
        "without, beside lwIP and smoltcp over the same device and the kernel's own TCP over a "
        "pair of virtual Ethernet devices. Windows and buffers are as large for each process."
    )

    def boards(self) -> tuple[str, ...]:
        return (BOARD,)

    def lacks(self) -> frozenset[str]:
        return frozenset() if os.geteuid() == 0 else frozenset({"root"})

    def measure(self, run: Run) -> list[Record]:
        repeats = QUICK_REPEATS if run.is_quick else REPEATS
        part = 1 / (len(CONTENDERS) * (repeats + 2))
        for one in CONTENDERS:
            if one.program:
                run.step(f"building {one.stack} {one.variant}", part)
                one.program()
        enter_namespace()
        found: dict[tuple[Contender, str, str], list[float]] = {}
        for _ in range(repeats):
            for one in CONTENDERS:
                run.step(f"{one.stack} {one.variant}", part)
                for case, metric, value in timed(one, QUICK_AMOUNT if run.is_quick else AMOUNT):
                    found.setdefault((one, case, metric), []).append(value)
        made = [
            of_values(values, case=case, metric=metric, unit=unit_of(metric), **about(one))
            for (one, case, metric), values in found.items()
        ]
        for one in CONTENDERS:
            if one.program:
                run.step(f"counting {one.stack} {one.variant}", part)
                made += counted(one, run.out / f"counter-{one.stack}-{one.variant}")
        return made

    def tables(self, records: list[Record]) -> list[Table]:
        return tables(Found(records))

    def answers(self, records: list[Record]) -> list[str]:
        return answers(Found(records))

    def plot(self, records: list[Record]) -> "list[Figure]":
        found = Found(records)
        titles = [one.title for one in CONTENDERS]
        return [
            plots.bars(
                "TCP on one host",
                "",
                "Mbit/s",
                titles,
                {told: [value_of(found, o, case, RATE) for o in CONTENDERS]
                 for case, told in CASES.items()},
            )
        ]  # fmt: skip


def unit_of(metric: str) -> str:
    """Of what is measured by the clock."""
    return "Mbit/s" if metric == RATE else "ns"


def about(one: Contender) -> dict[str, object]:
    """What all records of a stack have."""
    compiled = smoltcp.compiler() if one.stack == "smoltcp" else ""
    flags = "-C opt-level=3 -C lto" if compiled else ""
    if not compiled and one.program:
        folder = one.program().parent
        while not (folder / "compile_commands.json").exists():
            folder = folder.parent
        compiled, flags = build.compiler_and_flags(folder)
    kernel_version = f"Linux {os.uname().release}"
    return {
        "experiment": "linux",
        "board": BOARD,
        "stack": one.stack,
        "variant": one.variant,
        "tools": {
            "emulator": f"none, {kernel_version}; qemu-x86_64 for the counts",
            "compiler": compiled or kernel_version,
            "flags": flags,
            "client": tools.output_of(["iperf", "-v"]).partition(" (")[0].replace(" version", ""),
            "commit": tools.commit(),
        },
    }


# ---- what is measured ----


def timed(one: Contender, amount: str) -> Iterator[tuple[str, str, float]]:
    """One transfer each way by the clock: case, metric, value."""
    if not one.program:
        yield from of_kernel(one, amount)
        return
    network = TapNetwork()
    try:
        setup = Setup(one.program(), network, offload=one.offload)
        with Board(kind_of(BOARD), setup) as board:
            board.wait_ready()
            for case in CASES:
                errand = measure.Errand(case, one.variant, one.stack)
                before = board.processor_time_ns()
                sample = measure.once(board, network, errand, None, ("-n", amount), PATIENCE)
                took = board.processor_time_ns() - before
                yield case, RATE, sample.client.mbit_per_s
                yield case, TIME, took / sample.board.bytes
    finally:
        network.close()


def of_kernel(one: Contender, amount: str) -> Iterator[tuple[str, str, float]]:
    """The kernel's TCP, by the client alone."""
    with kernel(one.has_single_segments) as network:
        for case in CASES:
            options = [*measure.CASES[case], "-n", amount]
            for _ in range(CLIENT_TRIES):  # until the server listens
                client = iperf.start(network, options)
                text = client.communicate(timeout=KERNEL_LIMIT_S)[0]
                if client.returncode == 0 and "Mbits/sec" in text:
                    break
            else:
                raise LabError(f"iperf between two namespaces failed:\n{text}")
            yield case, RATE, iperf.parse(text).mbit_per_s


def counted(one: Contender, folder: Path) -> list[Record]:
    """One transfer each way under emulation: instructions per byte, and those of functions."""
    network = TapNetwork()
    made: list[Record] = []
    try:
        profile = Profile(one.program(), folder, one.about)
        setup = Setup(one.program(), network, offload=one.offload, plugin=profile.option())
        with Board(kind_of(BOARD), setup) as board:
            board.wait_ready()
            for case in CASES:
                errand = measure.Errand(case, one.variant, one.stack)
                sample = measure.once(board, network, errand, profile, (), PATIENCE)
                made += counts(one, case, sample.counted, sample.board.bytes)
    finally:
        network.close()
    return made


def counts(one: Contender, case: str, interval: Interval, payload: int) -> Iterator[Record]:
    """The records of what was counted."""
    whose = about(one)
    value = round(interval.instructions / payload, 6)
    yield Record(case=case, metric=COUNTED, value=value, unit="", **whose)
    own: Counter[str] = Counter()
    for function in interval.functions:
        own[plain(function["name"])] += function["instructions"]
    own.pop("board_idle", None)
    for name, count in own.most_common(SHOWN):
        part = f"{case} {case_of(function=name)}"
        yield Record(
            case=part, metric=OF_FUNCTION, value=round(count / payload, 6), unit="", **whose
        )


def plain(name: str) -> str:
    """A function's name without what a compiler adds: Rust's path and hash, which may be cut
    off, and a clone's number."""
    parts, rest = [], name.removeprefix("_ZN")
    while rest[:1].isdigit():
        digits = len(rest) - len(rest.lstrip("0123456789"))
        end = digits + int(rest[:digits])
        parts.append(rest[digits:end])
        rest = rest[end:]
    if not name.startswith("_ZN") or not parts:
        return name.partition(".")[0]
    path = parts[:-1] if re.fullmatch(r"h[0-9a-f]{6,16}", parts[-1]) else parts
    owner = re.findall(r"\w+", path[-2].replace("$GT$", ""))[-1] if len(path) > 1 else ""
    return f"{owner}::{path[-1]}" if owner else path[-1]


# ---- what is said ----


def record_of(found: Found, one: Contender, case: str, metric: str) -> Record | None:
    """One record of a stack."""
    return next(iter(found.of(BOARD, (one.stack, one.variant), metric, case)), None)


def value_of(found: Found, one: Contender, case: str, metric: str) -> float | None:
    """One value."""
    record = record_of(found, one, case, metric)
    return record.value if record else None


def rate_text(record: Record | None) -> str:
    """With its spread."""
    return "-" if record is None else f"{record.value:.0f} ± {record.spread:.0f}"


def time_text(record: Record | None) -> str:
    """The same in nanoseconds."""
    return "-" if record is None else f"{record.value:.2f} ± {record.spread:.2f}"


def is_more(one: Record | None, other: Record | None) -> bool:
    """By more than both spreads."""
    if one is None or other is None:
        return False
    return one.value - other.value > one.spread + other.spread


def tables(found: Found) -> list[Table]:
    """By the clock and by count, and where the instructions go."""
    columns = ["", *(f"{told}: {what}" for told in CASES.values()
                     for what in ("Mbit/s", "ns/byte", "instr/byte"))]  # fmt: skip
    rows = []
    for one in CONTENDERS:
        cells = [one.title]
        for case in CASES:
            cells.append(rate_text(record_of(found, one, case, RATE)))
            cells.append(time_text(record_of(found, one, case, TIME)))
            cells.append(number(value_of(found, one, case, COUNTED), 3))
        rows.append(cells)
    functions = []
    for one in CONTENDERS:
        for case, told in CASES.items():
            known = found.of(BOARD, (one.stack, one.variant), OF_FUNCTION, f"{case} function=*")
            parts = [f"{r.case.partition('=')[2]} {r.value:.3f}" for r in known]
            if parts:
                functions.append([f"{one.title}: {told}", ", ".join(parts)])
    return [
        Table("TCP, by an unmodified iperf", columns, rows, COUNTED_NOTE),
        Table(
            "Where the instructions go",
            ["", "functions with the most of their own, per byte of payload"],
            functions,
        ),
    ]


def answers(found: Found) -> list[str]:
    """In which of the figures Plumb, with nothing left to the device, is by more than the spread
    behind a peer that has nothing left to it either."""
    plumb = CONTENDERS[0]
    told = []
    for one in CONTENDERS:
        for case, doing in CASES.items():
            if one.stack in ("plumb", "linux"):
                continue
            for metric, what in ((TIME, "processor time"), (COUNTED, "instructions")):
                ours = record_of(found, plumb, case, metric)
                theirs = record_of(found, one, case, metric)
                if is_more(ours, theirs):
                    share = theirs.value / ours.value
                    told.append(f"{one.title} {doing} with {share:.2f} of the {what}")
    if not told:
        return ["No peer over TAP takes fewer instructions, or by more than the spread less "
                "processor time, per byte than Plumb with nothing left to the device."]
    return [f"Plumb with nothing left to the device is behind: {'; '.join(told)}."]
