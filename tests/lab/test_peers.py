# SPDX-License-Identifier: Apache-2.0 OR MIT
"""lwIP on the board of Plumb's, and the table that holds both."""

import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import plumb

from lab import build, comparison, echo, footprint, lwip, measure, variants
from lab.board import Board, Setup, kind_of
from lab.elf import Program
from lab.errors import LabError
from lab.network import UserNetwork
from lab.profile import Profile
from lab.records import Record

ZYNQ = kind_of("zynq")
BEST = lwip.CONFIGURATIONS[-1]
AMOUNT = 16 * 1024 * 1024
# Register reads and writes, the alarm, the clock; and a look at the ring.
IDLE_CALLS = {
    "plumb_gem_acknowledge",
    "plumb_gem_pending",
    "gem_netif_acknowledge",
    "gem_netif_pending",
    "interrupt_clear",
    "board_now_us",
    "clock_alarm",
    "clock_alarm_stop",
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory):
    """One of each errand on lwIP at its best."""
    boot = next(boot for boot in variants.PEERS["lwip"] if boot.name == BEST.name)
    firmware = boot.firmware()
    profile = Profile(firmware, tmp_path_factory.mktemp("lwip"), boot.about)
    network = UserNetwork(boot.ports)
    with Board(ZYNQ, Setup(firmware, network, plugin=profile.option())) as board:
        board.wait_ready()
        found = measure.series(board, network, 1, profile, print, boot.errands)
    return {(sample.variant, sample.case): sample for sample in found}


def per_byte(sample: measure.Sample) -> float:
    """Instructions."""
    return sample.counted.instructions / sample.board.bytes


def test_lwip_moves_what_iperf_asks_for(samples):
    """And on the strict processor never misaligns."""
    for (variant, case), sample in samples.items():
        assert sample.board.bytes == (64000 if case == measure.ECHO else AMOUNT), (variant, case)
        assert sample.counted.misaligned_accesses == 0, (variant, case)
    # A segment each, an acknowledgement for each two.
    receive = samples["best", "tcp_rx"].board
    assert AMOUNT / 1460 < receive.packets < AMOUNT / 1460 * 1.01
    assert receive.packets / 2 <= receive.acks < receive.packets / 2 * 1.05


def test_lwip_is_shown_in_its_best_light(samples):
    """Nobody who set it up with care has seen it do with much less, nor with more."""
    assert 1.0 < per_byte(samples["best", "tcp_rx"]) < 1.25
    assert 1.4 < per_byte(samples["best", "tcp_tx"]) < 1.85
    assert 1.4 < per_byte(samples["best-reference", "tcp_tx"]) < 1.85
    copied = per_byte(samples["best-copy", "tcp_rx"]) - per_byte(samples["best", "tcp_rx"])
    assert 0.05 < copied < 0.3


def calls_of(program: Path, name: str) -> set[str]:
    """The functions that a function calls or jumps to."""
    done = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", program],
        capture_output=True,
        text=True,
        timeout=60,
    )
    words = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("  ")]
    branches = [w[2] for w in words if len(w) > 2 and w[1].startswith("b") and "<" in w[2]]
    assert branches, done.stdout + done.stderr
    targets = {b.partition("<")[2].rstrip(">").partition("+")[0] for b in branches}
    return targets - {name}


def test_idling_is_a_look_at_the_device_and_no_more():
    """What is not counted must not do work for either stack."""
    for program in (build.firmware("zynq", "iperf"), lwip.firmware(BEST)):
        assert calls_of(program, "board_idle") <= IDLE_CALLS, program


SUBJECTS = {
    s.variant: s
    for s in (*footprint.of_plumb(), *footprint.of_lwip())
    if s.variant in ("size", "stock-size", "stock-size-no-asserts", "best-size")
}


@pytest.mark.parametrize("variant", ["size", "best-size"])
def test_what_is_sized_runs(variant):
    """In Thumb state, over both protocols; it has no console to say that it is ready."""
    network = UserNetwork((echo.PORT,))
    endpoint = network.endpoint(echo.PORT)
    deadline = time.monotonic() + 20
    with (
        Board(ZYNQ, Setup(SUBJECTS[variant].firmware(), network)),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        sender.settimeout(0.3)
        sender.connect(endpoint)
        while not echo.once(sender):
            assert time.monotonic() < deadline, "no datagram came back"
        with socket.create_connection(endpoint, 10) as connection:
            connection.sendall(echo.PAYLOAD)
            assert connection.recv(100) == echo.PAYLOAD


def test_a_stack_s_size_is_its_own_code_and_constants():
    sizes = {}
    for variant, subject in SUBJECTS.items():
        program = subject.firmware()
        code, constants = footprint.code(program), footprint.constants(program)
        foreign = ("drivers", "boards", "apps", "bench")
        assert not any(folder.startswith(foreign) for folder in code), code
        text = Program(program).section(".text")[1]
        assert 0.6 * text < sum(code.values()) + constants < text, variant
        sizes[variant] = (sum(code.values()), constants)
    assert {"src/tcp", "src/bytes"} <= set(footprint.code(SUBJECTS["size"].firmware()))
    lwips = footprint.code(SUBJECTS["best-size"].firmware())
    assert {"lwip/src/core", "lwip/src/core/ipv4", "src/bytes"} <= set(lwips)
    # What an assertion says is a constant.
    told = sizes["stock-size"][1] - sizes["stock-size-no-asserts"][1]
    assert told > 4000 and sizes["stock-size-no-asserts"][1] < 1000


def test_a_connection_is_as_large_as_its_structure():
    found = footprint.structure(SUBJECTS["stock-size"].firmware(), "tcp_pcb")
    assert found == 156
    with pytest.raises(LabError, match="no struct tcp_nothing"):
        footprint.structure(SUBJECTS["stock-size"].firmware(), "tcp_nothing")


def record(stack: str, variant: str, case: str, value: float, metric: str) -> Record:
    """One of a table's."""
    return Record("throughput", "zynq", case, metric, value, "", stack=stack, variant=variant)


def test_the_table_puts_the_same_manner_side_by_side():
    records = [
        record("plumb", "default", "tcp_rx", 0.5, comparison.PER_BYTE),
        record("plumb", "reference", "tcp_tx", 0.7, comparison.PER_BYTE),
        record("plumb", "default", "udp_echo", 601.0, comparison.PER_PACKET),
        record("lwip", "tuned", "tcp_rx", 2.25, comparison.PER_BYTE),
        record("lwip", "best-reference", "tcp_tx", 1.75, comparison.PER_BYTE),
        record("lwip", "best", "udp_echo", 1300.0, comparison.PER_PACKET),
    ]
    titles, rows = comparison.table(records, "zynq", "O2")
    assert titles[1:] == ["tuned", "best", "Plumb", "goal"]
    assert [row[:4] for row in rows] == [
        ["TCP receive, read in place", "2.250", "-", "0.500"],
        ["TCP transmit by reference", "-", "1.750", "0.700"],
        ["UDP echo, 64 bytes: instr.", "-", "1300", "601"],
    ]
    assert [row[4] for row in rows] == ["0.6", "0.8", "650"]
    alone, rows = comparison.table([replace(r, stack="plumb") for r in records[:3]], "zynq", "O2")
    assert alone[1:] == ["Plumb", "goal"] and len(rows) == 3
    assert comparison.table(records, "linux", "O2")[1][0][-1] == "-"


def test_registers_moved_together_can_be_counted_one_by_one():
    records = [
        record("plumb", "copy", "tcp_rx", 1.5, comparison.BY_REGISTER),
        record("lwip", "best-copy", "tcp_rx", 2.5, comparison.BY_REGISTER),
        record("lwip", "best", "tcp_tx", 1.0, comparison.PER_BYTE),
    ]
    titles, rows = comparison.by_register(records)
    assert titles[1:] == ["best", "Plumb"]
    assert rows == [["TCP receive, copied", "2.500", "1.500"]]


def test_touches_stand_beside_others():
    records = [
        record("plumb", "default", "tcp_rx", 1.0, comparison.TOUCHES),
        record("lwip", "best", "tcp_rx", 3.0, comparison.TOUCHES),
        record("lwip", "best", "tcp_tx", 1.0, comparison.PER_BYTE),
    ]
    titles, rows = comparison.touches(records)
    assert titles == ["touches/byte", "best", "Plumb"]
    assert rows == [["TCP receive, read in place", "3.000", "1.000"]]


def test_what_cannot_be_compared_is_refused():
    assert "there is no peer 'bsd', but: lwip" in plumb("bench", "--peer", "bsd").stdout
    refused = plumb("bench", "--peer", "lwip", "--opt", "Os")
    assert refused.returncode == 2 and "on zynq at O2 only" in refused.stdout
    assert plumb("bench", "--experiment", "copy", "--peer", "lwip").returncode == 2
