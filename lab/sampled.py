# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a board's own profiler found: where it was, as often as its timer looked."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import erfc, exp, log, sqrt

from .board import Board
from .console import Samples
from .elf import Program
from .profile import Interval
from .stacks import of_calls

IDLE = "board_idle"
# What runs while nobody looks, with all it calls.
ENTRY = "interrupt_entry"
HANDLERS = {ENTRY, "sampling_slept", "start_timer", "interrupt_let_through"}
OUTSIDE = "(outside)"
ARM_INSTRUCTION = 4  # bytes
TELLING_LIMIT_S = 30.0
# Fewer samples than these are expected: they are not distributed as a normal's are.
FEW = 10


def take(board: Board) -> Samples:
    """What the board tells after a measurement, waited for."""
    console = board.console
    board.wait(
        lambda: bool(console.samples) and console.samples[-1].is_told,
        TELLING_LIMIT_S,
        "did not tell what it had sampled",
    )
    samples = console.samples.pop()
    samples.check()
    return samples


def by_function(samples: Samples, program: Program) -> Counter[str]:
    """The samples of each function."""
    found: Counter[str] = Counter()
    for address, count in samples.at.items():
        function = program.function_at(address)
        found[function.name if function else OUTSIDE] += count
    found[OUTSIDE] += samples.outside
    return +found


def executed(interval: Interval) -> Counter[str]:
    """What could have been sampled, by the exact count: what every function executed, idle
    or not, but for sleep, and below the handler."""
    found: Counter[str] = Counter()
    for stack, count in of_calls(interval.calls).items():
        if not HANDLERS.intersection(stack) and stack[-1] != IDLE:
            found[stack[-1]] += count
    return found


def handler_instructions(interval: Interval, program: Program) -> float:
    """What one interrupt costs. Its entry is straight on, so that it was taken as often
    as its instructions fit into what they executed."""
    stacks = of_calls(interval.calls).items()
    spent = sum(count for stack, count in stacks if ENTRY in stack)
    own = sum(count for stack, count in stacks if ENTRY == stack[-1])
    length = sum(f.size // ARM_INSTRUCTION for f in program.functions if f.name == ENTRY)
    return spent * length / own if own else 0.0


def table(by_function: Mapping[str, int], interval: Interval) -> tuple[list[str], list[list[str]]]:
    """A row for each function: samples, their ratio, and of what is neither sleep nor
    handler, the ratio sampled and that counted."""
    counted = executed(interval)
    whole, awake = sum(by_function.values()), sum(_awake(by_function).values())
    rows = [
        [
            "idle" if name == IDLE else name,
            str(count),
            f"{100 * count / whole:.1f}",
            "-" if name == IDLE else f"{100 * count / awake:.1f}",
            "-" if name == IDLE else f"{100 * counted[name] / counted.total():.1f}",
        ]
        for name, count in sorted(by_function.items(), key=lambda item: -item[1])
    ]
    return ["function", "samples", "ratio %", "awake %", "counted %"], rows


def _awake(by_function: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in by_function.items() if name != IDLE}


# ---- whether both agree ----


@dataclass(frozen=True)
class Verdict:
    """One function, sampled and counted."""

    name: str
    sampled: int
    expected: float
    probability: float  # of being as far from it, or farther, by chance


def _by_chance(sampled: int, of: int, share: float) -> float:
    """Of a binomial distribution; by its tail as a normal one's, or a Poisson's bound
    where too few are expected for that."""
    expected = of * share
    if share in (0.0, 1.0):
        return 1.0 if sampled == expected else 0.0
    deviation = sqrt(expected * (1 - share))
    distance = max(0.0, abs(sampled - expected) - 0.5)
    probability = erfc(distance / deviation / sqrt(2))
    return probability if expected >= FEW else max(probability, _few(sampled, expected))


def _few(sampled: int, expected: float) -> float:
    """A bound on a Poisson's tail: Chernoff's."""
    if sampled <= expected:
        return 1.0
    return min(1.0, 2 * exp(sampled - expected - sampled * log(sampled / expected)))


def compare(sampled: Mapping[str, int], counted: Mapping[str, int]) -> list[Verdict]:
    """Every function of either, the least probable first."""
    relevant = _awake(sampled)
    of, whole = sum(relevant.values()), sum(counted.values())
    verdicts = [
        Verdict(name, seen, of * share, _by_chance(seen, of, share))
        for name in {*relevant, *counted}
        for seen in [relevant.get(name, 0)]
        for share in [counted.get(name, 0) / whole]
    ]
    return sorted(verdicts, key=lambda verdict: verdict.probability)


def agree(verdicts: Iterable[Verdict], chance: float = 1e-6) -> bool:
    """Whether no function is where chance would bring it less often than once in a
    million such profiles."""
    all_of_them = list(verdicts)
    return all(v.probability >= chance / len(all_of_them) for v in all_of_them)


def in_words(verdicts: Iterable[Verdict]) -> str:
    """The same, said."""
    return "they agree" if agree(verdicts) else "they do NOT agree"
