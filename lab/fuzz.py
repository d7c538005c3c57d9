# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The libFuzzer programs: what there is, and runs as long as one likes, counted."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import build
from .errors import LabError, NotUnderstood
from .paths import ROOT

SLICE_S = 30  # of a target, before the next has its turn
GRACE_S = 120  # more than that, and the program hangs
EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")
CORPUS = ROOT / "fuzz/corpus"


@dataclass(frozen=True)
class Target:
    """A program of fuzz/: the longest input that makes sense, and runs of the short test."""

    name: str
    longest: int
    runs: int

    @property
    def seeds(self) -> Path:
        return CORPUS / self.name

    @property
    def dictionary(self) -> Path:
        return ROOT / f"fuzz/{self.name}.dict"


TARGETS = (
    Target("bytes_chain", 1200, 30_000),
    Target("dhcp", 1200, 3_000),
    Target("frames", 4096, 3_000),
    Target("iperf3_control", 1500, 30_000),
    Target("iperf_header", 130, 100_000),
    Target("json", 1500, 100_000),
    Target("reassembly", 400, 1_000),
    Target("sockets", 800, 10_000),
    Target("tcp_options", 44, 100_000),
    Target("tcp_states", 770, 5_000),
)


def target_named(name: str) -> Target:
    for target in TARGETS:
        if target.name == name:
            return target
    known = ", ".join(target.name for target in TARGETS)
    raise NotUnderstood(f"there is no fuzz target {name}; there are {known}")


@dataclass
class Count:
    """What became of a target."""

    executions: int = 0
    seconds: float = 0.0
    found: list[Path] = field(default_factory=list)


def call(target: Target, corpus: Path, findings: Path, *options: str) -> list[str]:
    """The command line: inputs that are found go to `corpus`, crashes into `findings`."""
    dictionary = [f"-dict={target.dictionary}"] if target.dictionary.exists() else []
    return [
        str(build.preset("fuzz") / f"fuzz/fuzz_{target.name}"),
        *(f"-max_len={target.longest}", f"-artifact_prefix={findings}/", "-print_final_stats=1"),
        *(*dictionary, *options, str(corpus), str(target.seeds)),
    ]


def run_slice(target: Target, folder: Path, seconds: int, count: Count) -> None:
    """One turn of a target."""
    corpus, findings = folder / "corpus" / target.name, folder / "found" / target.name
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    command = call(target, corpus, findings, f"-max_total_time={seconds}", "-rss_limit_mb=2048")
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds + GRACE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise LabError(f"fuzz_{target.name} does not end") from problem
    output = done.stdout.decode(errors="replace")
    (folder / f"{target.name}.log").write_text(output)
    executed = EXECUTED.findall(output)
    count.executions += int(executed[-1]) if executed else 0
    count.seconds += time.monotonic() - begun
    count.found = sorted(findings.iterdir())
    if done.returncode and not count.found:
        raise LabError(f"fuzz_{target.name} ended with status {done.returncode}: {output[-2000:]}")


def turns(targets: list[Target], wanted: int, counts: dict[str, Count]) -> Iterator[Target]:
    """The targets in turn until all together have made so many executions; what has found
    something has no more turns."""
    while True:
        left = [target for target in targets if not counts[target.name].found]
        if not left:
            return
        for target in left:
            if sum(count.executions for count in counts.values()) >= wanted:
                return
            yield target


def run(names: list[str], wanted: int, folder: Path, slice_s: int = SLICE_S) -> dict[str, Count]:
    """Runs the targets named (all, if none is) for `wanted` executions in all. What was found
    stays in `folder`: inputs worth keeping in corpus/, crashes in found/, which is emptied first."""
    targets = [target_named(name) for name in names] or list(TARGETS)
    shutil.rmtree(folder / "found", ignore_errors=True)
    counts = {target.name: Count() for target in targets}
    for target in turns(targets, wanted, counts):
        run_slice(target, folder, slice_s, counts[target.name])
    return counts


def report(counts: dict[str, Count]) -> str:
    """A line for each, and the sum."""
    lines = [f"{'target':<16}{'executions':>14}{'per second':>12}  found"]
    for name, count in counts.items():
        rate = count.executions / count.seconds if count.seconds else 0
        found = ", ".join(str(path) for path in count.found) or "-"
        lines.append(f"{name:<16}{count.executions:>14,}{rate:>12,.0f}  {found}")
    total = sum(count.executions for count in counts.values())
    lines.append(f"{'all':<16}{total:>14,}")
    return "\n".join(lines)
