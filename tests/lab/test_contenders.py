# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiment `linux`: the stacks that it sets beside each other, and what it says of them."""

from pathlib import Path

import pytest
from helpers import needs_tap

from lab import build, iperf, measure
from lab.board import Board, Setup, kind_of
from lab.contenders import CONTENDERS, kernel
from lab.experiments import linux
from lab.experiments.found import Found
from lab.network import TAP_NAME, TapNetwork
from lab.records import Record

AMOUNT = 4 << 20
TRIES = 20


def frames_sent(device: str) -> int:
    """By a device of this namespace."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()
    return next(int(line.split()[10]) for line in lines if line.split()[0] == f"{device}:")


@needs_tap
@pytest.mark.parametrize(("has_single", "least", "most"), [(True, 2700, 20000), (False, 60, 1500)])
def test_the_kernel_sends_what_it_is_to(has_single: bool, least: int, most: int):
    """By frames of one segment, or of many."""
    with kernel(has_single) as link:
        for _ in range(TRIES):
            client = iperf.start(link, ["-n", str(AMOUNT)])
            text = client.communicate(timeout=60)[0]
            if client.returncode == 0 and "Mbits/sec" in text:
                break
        assert iperf.parse(text).mbit_per_s > 0
        assert least < frames_sent(TAP_NAME) < most


@needs_tap
@pytest.mark.parametrize("offload", ["none", "segments"])
def test_a_program_takes_processor_time(offload: str):
    network = TapNetwork()
    try:
        setup = Setup(build.firmware("linux", "iperf"), network, offload=offload)
        with Board(kind_of("linux"), setup) as board:
            board.wait_ready()
            before = board.processor_time_ns()
            sample = measure.once(board, network, "tcp_rx", None, ("-n", "4M"))
            took = board.processor_time_ns() - before
    finally:
        network.close()
    assert sample.board.bytes == AMOUNT
    assert 0.01 < took / AMOUNT < 100


def record(stack: str, variant: str, case: str, metric: str, value: float) -> Record:
    """One of the experiment's."""
    return Record("linux", "linux", case, metric, value, "", 5, 1.0, stack, variant)


def test_the_page_says_who_is_behind():
    found = [
        record("plumb", "none", "tcp_rx", linux.COUNTED, 5.0),
        record("plumb", "none", "tcp_rx", linux.RATE, 1000.0),
        record("plumb", "none", "tcp_rx function=pl_sum", linux.OF_FUNCTION, 0.25),
        record("smoltcp", "default", "tcp_rx", linux.COUNTED, 2.5),
        record("lwip", "tuned", "tcp_rx", linux.COUNTED, 3.5),
    ]
    whole, functions = linux.tables(Found(found))
    assert len(whole.rows) == len(CONTENDERS)
    assert whole.rows[0][1:4] == ["1000 ± 1", "-", "5.000"]
    assert functions.rows == [[f"{CONTENDERS[0].title}: receives", "pl_sum 0.250"]]
    (answer,) = linux.answers(Found(found))
    assert "smoltcp" in answer and "0.50 of the instructions" in answer and "lwIP" not in answer
    assert "No peer" in linux.answers(Found(found[:1]))[0]


def test_names_are_shown_without_what_a_compiler_adds():
    mangled = "_ZN7smoltcp6socket3tcp6Socket7process17h0123456789abcdefE"
    assert linux.plain(mangled) == "Socket::process"
    implementing = (
        "_ZN59_$LT$impl$u20$smoltcp..iface..interface..InterfaceInner$GT$"
        "16process_ethernet17h0123456789abcdefE"
    )
    assert linux.plain(implementing) == "InterfaceInner::process_ethernet"
    assert linux.plain("_ZN4peer4mainE") == "peer::main"
    assert linux.plain("send_alike.constprop.0") == "send_alike"
