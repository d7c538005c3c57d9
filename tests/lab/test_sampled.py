# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The board's own profiler, against the exact count of the same boot."""

from collections import Counter
from pathlib import Path

import pytest

from lab import build, measure, sampled
from lab.board import Board, Setup, kind_of
from lab.console import Console
from lab.elf import Program
from lab.errors import LabError
from lab.iperf import PORT
from lab.network import UserNetwork
from lab.profile import Profile
from lab.profiler import SAMPLING

CASES = ("tcp_rx", "tcp_tx")
NS_PER_INSTRUCTION = 16


class Run:
    """One transfer, both ways."""

    def __init__(self, sample: measure.Sample, taken, program: Program) -> None:
        assert sample.counted is not None
        self.board, self.interval = sample.board, sample.counted
        self.taken = taken
        self.by_function = sampled.by_function(taken, program)
        self.executed = sampled.executed(sample.counted)


@pytest.fixture(scope="module")
def program() -> Program:
    """The firmware that samples."""
    return Program(build.firmware("zynq", "iperf", SAMPLING, "-sampling"))


@pytest.fixture(scope="module")
def runs(program: Program, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Both cases, in one boot."""
    counts = Profile(program.path, tmp_path_factory.mktemp("sampled"))
    network = UserNetwork((PORT,))
    found = {}
    try:
        setup = Setup(program.path, network, plugin=counts.option())
        with Board(kind_of("zynq"), setup) as board:
            board.wait_ready()
            for case in CASES:
                sample = measure.once(board, network, case, counts)
                found[case] = Run(sample, sampled.take(board), program)
    finally:
        network.close()
    return found


@pytest.mark.parametrize("case", CASES)
def test_both_agree_within_the_error_of_sampling(runs: dict[str, Run], case: str) -> None:
    verdicts = sampled.compare(runs[case].by_function, runs[case].executed)
    assert len(verdicts) > 20 and runs[case].taken.total > 1000
    assert sampled.agree(verdicts), verdicts[:3]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("by", [-1, 1])
def test_they_do_not_if_names_are_off_by_one_function(
    runs: dict[str, Run], program: Program, case: str, by: int
) -> None:
    names = [function.name for function in program.functions]
    beside = {name: names[(index + by) % len(names)] for index, name in enumerate(names)}
    shifted = Counter({beside[name]: n for name, n in runs[case].by_function.items()})
    assert not sampled.agree(sampled.compare(shifted, runs[case].executed))


@pytest.mark.parametrize("case", CASES)
def test_they_do_not_if_two_large_functions_are_confused(runs: dict[str, Run], case: str) -> None:
    seen = Counter(runs[case].by_function)
    del seen[sampled.IDLE]
    (first, most), (second, fewer), *_ = seen.most_common(2)
    seen[first], seen[second] = fewer, most
    assert not sampled.agree(sampled.compare(seen, runs[case].executed))


@pytest.mark.parametrize("case", CASES)
def test_samples_are_in_proportion_to_time(runs: dict[str, Run], case: str) -> None:
    run = runs[case]
    expected = run.board.time_us * run.taken.hz / 1e6
    assert run.taken.total == pytest.approx(expected, abs=6 * expected**0.5 + 0.02 * expected)


@pytest.mark.parametrize("case", CASES)
def test_idle_is_sampled_as_long_as_it_lasts(runs: dict[str, Run], case: str) -> None:
    run = runs[case]
    busy_us = run.interval.instructions * NS_PER_INSTRUCTION / 1000
    idle = max(0.0, run.board.time_us - busy_us) * run.taken.hz / 1e6
    assert run.by_function[sampled.IDLE] == pytest.approx(idle, abs=6 * idle**0.5 + 30)


def test_a_sample_costs_little(runs: dict[str, Run], program: Program) -> None:
    cost = sampled.handler_instructions(runs["tcp_rx"].interval, program)
    assert 20 < cost < 125  # of the 6250 from one to the next


def test_it_costs_nothing_when_it_is_off() -> None:
    plain = Program(build.firmware("zynq", "iperf"))
    assert plain.address_of("sampling_interrupt") is None
    assert plain.address_of("samples_start") == plain_end_of_packets(plain.path)


def plain_end_of_packets(path: Path) -> int:
    """Where memory ends that anything lies in, but for what is not cached."""
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".packets")
        return section["sh_addr"] + section["sh_size"]


# ---- parts of it ----


def test_what_the_console_tells_is_put_together() -> None:
    console = Console()
    console.feed(b"samples: total=9 outside=1 taken=7 hz=1000\r\nsample: 00200000=3 00200010=5\n")
    assert not console.samples[0].is_told
    console.feed(b"sample:\nsamples: end\n")
    (samples,) = console.samples
    assert samples.is_told and samples.at == {0x200000: 3, 0x200010: 5}
    samples.check()
    del samples.at[0x200000]
    with pytest.raises(LabError, match="of 9 samples 5 arrived"):
        samples.check()


def test_chance_is_judged_as_it_is() -> None:
    counted = {"half": 500, "rest": 499, "rare": 1}
    agree = lambda **seen: sampled.agree(sampled.compare(seen, counted))  # noqa: E731
    assert agree(half=500, rest=500)
    assert agree(half=530, rest=470)
    assert not agree(half=600, rest=400)
    assert agree(half=500, rest=495, rare=5)
    assert not agree(half=500, rest=480, rare=20)
    assert not agree(half=500, rest=499, unknown=1)
