# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Received frames brought to a word, left where they lie, or trapping: that each firmware is
right, and what the experiment makes of them."""

import random
import re
import socket
import threading

import pytest

from lab import build, goals, run
from lab.board import KINDS, Board, Setup
from lab.errors import BoardError
from lab.experiments import rx_align, rx_align_page
from lab.experiments import rx_align_strategies as strategies
from lab.experiments.base import Run, case_of
from lab.network import UserNetwork
from lab.records import Record

KIND = KINDS["zynq"]
ECHO = 7
BYTES = 1 << 17


def ended(preset: str, app: str) -> tuple[Board, list[str]]:
    """A firmware that ends by itself, and what it said."""
    with Board(KIND, Setup(build.firmware(preset, app), UserNetwork())) as board:
        board.wait(lambda: board.has_ended, 60, "goes on")
        assert board.exit_status() == 0, board.console.last()
        return board, board.console.lines


def test_each_form_of_access_is_emulated_and_counted():
    board, lines = ended("zynq-trap", "selftest")
    said = re.compile(r"selftest: emulation ok accesses=(\d+)")
    (told,) = (found for line in lines if (found := said.match(line)))
    assert int(told[1]) > 100
    assert board.console.counters["zynq.emulated_accesses"] == int(told[1])


def test_what_is_not_emulated_is_a_fault_as_ever():
    with Board(KIND, Setup(build.firmware("zynq-trap", "fault_abort"), UserNetwork())) as board:
        with pytest.raises(BoardError) as caught:
            board.wait(lambda: board.has_ended, 30, "goes on")
    told = str(caught.value)
    assert "fault: data_abort at address 0x" in told and ", an alignment fault\n" in told
    assert "fault_abort.c:" in told, "the exclusive load's own place, not the handler's"


@pytest.mark.parametrize("preset", ["zynq-word-bytes", "zynq-word-halfwords"])
def test_the_compared_copies_are_right(preset: str):
    _, lines = ended(preset, "selftest")
    assert "selftest: bytes ok" in lines


@pytest.mark.parametrize("preset", ["zynq-shift", "zynq-pull", "zynq-trap"])
def test_every_byte_comes_back(preset: str):
    sent, received = random.Random(2).randbytes(BYTES), bytearray()
    network = UserNetwork(run.PORTS["echo"])
    setup = Setup(build.firmware(preset, "echo"), network, keep_own_clock=False)
    with Board(KIND, setup) as board:
        board.wait_ready()
        with socket.create_connection(network.endpoint(ECHO), 20) as connection:
            writer = threading.Thread(target=send, args=(connection, sent))
            writer.start()
            while data := connection.recv(65536):
                received += data
            writer.join(20)
        board.check()
    assert bytes(received) == sent


def send(connection: socket.socket, data: bytes) -> None:
    """All of it, and that it was all."""
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


# ---- the experiment ----


def some(*names: str) -> tuple[strategies.Strategy, ...]:
    """Some of the strategies, copied only."""
    return tuple(
        strategies.Strategy(one.name, {strategies.COPIED: one.presets[strategies.COPIED]})
        for one in strategies.STRATEGIES
        if one.name in names
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """A quick run of three strategies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rx_align, "STRATEGIES", some("default", "halfword-bytes", "trap"))
        out = tmp_path_factory.mktemp("rx-align")
        return rx_align.RxAlign().measure(Run(out, is_quick=True))


def value(records: list[Record], strategy: str, metric: str, rate: str, **more: str) -> float:
    """The one record of these."""
    case = case_of(rate=rate, receive=strategies.COPIED, **more)
    wanted = (strategy, case, metric)
    (found,) = (r.value for r in records if (r.variant, r.case, r.metric) == wanted)
    return found


def test_what_trapped_was_emulated_and_nothing_else_misaligns(measured: list[Record]):
    for rate in (strategies.FULL, strategies.FIXED):
        for strategy in ("default", "halfword-bytes"):
            assert value(measured, strategy, "misaligned_accesses", rate) == 0
            assert value(measured, strategy, "emulated_per_packet", rate) == 0
        assert value(measured, "trap", "emulated_per_packet", rate) > 5
        assert value(measured, "trap", "misaligned_accesses", rate) > 10000


def test_a_copy_by_bytes_costs_what_rtems_found_and_more(measured: list[Record]):
    per_byte = {
        name: value(measured, name, "instructions_per_byte", strategies.FULL)
        for name in ("default", "halfword-bytes", "trap")
    }
    assert per_byte["halfword-bytes"] > per_byte["default"] + 3
    assert per_byte["default"] < per_byte["trap"] < per_byte["halfword-bytes"]
    column = "instructions_per_byte"
    assert value(measured, "default", strategies.LEAD, strategies.FULL, column=column) < 1


def test_the_rate_is_the_slowest_one_s(measured: list[Record]):
    slowest = value(measured, "halfword-bytes", "cpu_load", strategies.FIXED)
    assert strategies.LOAD - 3 < slowest < strategies.LOAD + 5
    assert value(measured, "default", "cpu_load", strategies.FIXED) < slowest / 2


def test_a_profile_is_all_of_the_time(measured: list[Record]):
    for strategy in ("default", "halfword-bytes", "trap"):
        shares = [r.value for r in measured if (r.variant, r.metric) == (strategy, "share")]
        assert sum(shares) == pytest.approx(100, abs=0.01)
    assert value(measured, "halfword-bytes", "share", strategies.FIXED, function="pl_copy") > 30


def test_it_is_told_in_tables_and_figures(measured: list[Record]):
    titles = {table.title: table for table in rx_align_page.tables(measured)}
    (profile,) = (t for title, t in titles.items() if title.startswith("halfword-bytes, copied"))
    assert profile.columns == ["function", "samples", "ratio %"]
    assert [row[0] for row in profile.rows][:2] == ["(idle)", "pl_copy"]
    assert len(rx_align_page.figures(measured)) == 3
    assert any("loads a packet trap" in answer for answer in rx_align_page.answers(measured))


def test_goals_ask_for_every_firmware():
    builds = rx_align.builds_of(strategies.STRATEGIES)
    misaligned = 2 * sum(build.strategy != "trap" for build in builds)
    columns = 2 * sum(len(metrics) for metrics in strategies.COLUMNS.values())
    own = [g for g in goals.load() if g["experiment"] == rx_align.RxAlign.name]
    wanted = {g["metric"]: g["of"] for g in own}
    assert wanted == {
        strategies.LEAD: columns,
        "misaligned_accesses": misaligned,
        "emulated_per_packet": 2 * (len(builds) - misaligned // 2),
        "cpu_load": len(builds),
    }


def test_a_default_that_falls_behind_fails_its_goal():
    (goal,) = (
        g
        for g in goals.load()
        if g["experiment"] == rx_align.RxAlign.name and g["metric"] == strategies.LEAD
    )
    cases = [f"rate=full receive=copied column={n}" for n in range(goal["of"])]
    records = [Record("rx-align", "zynq", case, strategies.LEAD, 0.9, "") for case in cases]
    assert goals.verdict(goal, records).is_met
    behind = Record("rx-align", "zynq", cases[0], strategies.LEAD, 1.011, "")
    assert not goals.verdict(goal, [*records, behind]).is_met
