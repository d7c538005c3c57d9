# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An exact profile as tables: by function, and along the path that a packet takes."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase

from .elf import Program
from .lines import Sources
from .profile import Interval
from .work import KINDS

Table = tuple[list[str], list[list[str]]]

# What a packet meets, in the order in which one that arrives does; by source file, the
# first that matches: Plumb's folders, then the files of lwIP and of its port.
PATH = {
    "drivers/*": "driver",
    "bench/peers/*/gem_netif.c": "driver",
    "src/link/*": "link",
    "*/netif/ethernet.c": "link",
    "*/ipv4/etharp.c": "link",
    "src/inet/*": "inet",
    "*/core/ipv4/*": "inet",
    "*/core/udp.c": "inet",
    "src/tcp/*": "tcp",
    "*/core/tcp*.c": "tcp",
    "apps/*": "app",
    "bench/peers/*/iperf.c": "app",
    "bench/peers/*/echo.c": "app",
    "src/bytes/*": "bytes",
    "*/core/inet_chksum.c": "bytes",
    "src/packet/*": "packet",
    "*/core/pbuf.c": "packet",
    "*/core/mem*.c": "packet",
    "src/stack/*": "stack",
    "*/core/*": "stack",
    "boards/*": "board",
    "bench/peers/*": "board",
}
ELSEWHERE = "elsewhere"


def _count(amounts: dict, kind: str) -> int:
    return amounts["work"].get(kind, {}).get("instructions", 0)


def _widths(counts: dict[str, int]) -> str:
    """How many by how wide in bytes: `3x1 20x4`."""
    return " ".join(f"{count}x{width}" for width, count in counts.items()) or "-"


def _sum(function: dict) -> int:
    return function["instructions"] + function["idle"]


def _ordered(interval: Interval) -> list[dict]:
    """What executed most first."""
    return sorted(interval.functions, key=_sum, reverse=True)


def _share(function: dict, interval: Interval) -> str:
    whole = interval.instructions + interval.idle_instructions
    return f"{100 * _sum(function) / whole:.1f}"


def in_brief(interval: Interval, packets: int, most: int) -> Table:
    """A row for each of the largest functions: its share, and per packet its
    instructions, by kind of work, its loads and its stores."""
    title = ["per packet", "%", "instr", *KINDS, "loads", "stores"]
    rows = [
        [
            f["name"],
            _share(f, interval),
            _per(_sum(f), packets),
            *(_per(_count(f, kind), packets) for kind in KINDS),
            *(_per(sum(f[kind].values()), packets) for kind in ("loads", "stores")),
        ]
        for f in _ordered(interval)[:most]
    ]
    return title, rows


def functions(interval: Interval, packets: int) -> Table:
    """A row for each function: instructions, by kind of work and per packet, and of what
    is not idle the loads and stores by width, and those misaligned."""
    title = ["function", "share %", "instr", *KINDS, "instr/packet"]
    title += ["misaligned", "loads", "stores"]
    rows = [
        [
            f["name"],
            _share(f, interval),
            str(_sum(f)),
            *(str(_count(f, kind)) for kind in KINDS),
            _per(_sum(f), packets),
            str(f["misaligned"]),
            *(_widths(f[kind]) for kind in ("loads", "stores")),
        ]
        for f in _ordered(interval)
    ]
    return title, rows


def _per(count: int, packets: int) -> str:
    return f"{count / packets:.1f}" if packets else "-"


def steps_of(program: Program) -> Mapping[str, str]:
    """Which step of a packet's path each function is."""
    sources = Sources(program.path)
    steps: dict[str, str] = defaultdict(lambda: ELSEWHERE)
    for function in program.functions:
        steps[function.name] = step_of(sources.at(function.address))
    return steps


def step_of(source: str) -> str:
    """The step that a source file belongs to."""
    return next((step for name, step in PATH.items() if fnmatchcase(source, name)), ELSEWHERE)


def path(interval: Interval, steps: Mapping[str, str], packets: int) -> Table:
    """A row for each step: instructions per packet, by kind of work."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for function in interval.functions:
        for kind in KINDS:
            sums[steps[function["name"]]][kind] += _count(function, kind)
    order = [step for step in dict.fromkeys((*PATH.values(), ELSEWHERE)) if step in sums]
    sums["all"] = sum(sums.values(), Counter())
    rows = [
        [step, *(_per(sums[step][kind], packets) for kind in KINDS), _per(busy, packets)]
        for step in [*order, "all"]
        for busy in [sum(sums[step][kind] for kind in KINDS if kind != "idle")]
    ]
    return ["instructions per packet", *KINDS, "but idle"], rows
