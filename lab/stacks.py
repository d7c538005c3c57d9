# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Call stacks with what was executed in each: folded, and as speedscope reads them."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

Stack = tuple[str, ...]
Stacks = Mapping[Stack, int]

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def of_calls(calls: list[list]) -> Stacks:
    """The stacks of a tree of calls as the counting plugin writes it, outermost first,
    and the instructions that the innermost function of each executed itself."""
    paths: list[Stack] = []
    stacks: Counter[Stack] = Counter()
    for index, (parent, name, _, count, _) in enumerate(calls):
        paths.append((*paths[parent], name) if parent else (name,))
        if count:
            stacks[paths[index]] += count
    return stacks


def of_functions(counts: Mapping[str, int]) -> Stacks:
    """The same where only the innermost function is known."""
    return {(name,): count for name, count in counts.items()}


def folded(stacks: Stacks) -> str:
    """A line for each stack: its functions, separated by semicolons, and its count."""
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))


def write_speedscope(path: Path, name: str, profiles: Mapping[str, Stacks]) -> None:
    """One file for several profiles; sampled ones, a sample for each stack."""
    frames = sorted({function for s in profiles.values() for stack in s for function in stack})
    number = {function: index for index, function in enumerate(frames)}
    whole = {
        "$schema": SCHEMA,
        "name": name,
        "exporter": "plumb",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": function} for function in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": title,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(stacks.values()),
                "samples": [[number[function] for function in stack] for stack in stacks],
                "weights": list(stacks.values()),
            }
            for title, stacks in profiles.items()
        ],
    }
    path.write_text(json.dumps(whole))
