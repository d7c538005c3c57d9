# SPDX-License-Identifier: Apache-2.0 OR MIT
"""apps/iperf3 as a client of the unmodified iperf3, and of servers that are none."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import needs_tap

from lab import build
from lab.board import KINDS, Board, Setup
from lab.console import pairs
from lab.network import HOST_ADDRESS, TapNetwork

LIMIT_S = 30.0
BUSY, ERROR, PARAMETERS, STREAMS = 255, 254, 9, 10

AS_CLIENT = {
    "tcp": "-n 512K",
    "tcp-parallel": "-n 512K -P 4",
    "tcp-reverse": "-R -n 512K",
    "tcp-both": "--bidir -t 1 -b 4M",
    "udp": "-u -b 4M -k 100",
    "udp-reverse": "-u -R -b 4M -k 100",
    "udp-both": "-u --bidir -t 1 -b 2M -P 2",
}


@pytest.fixture(scope="module")
def server() -> Iterator[TapNetwork]:
    """The host's iperf3 as a server."""
    network = TapNetwork()
    words = ["setpriv", "--pdeathsig", "KILL", "iperf3", "-s", "-B", HOST_ADDRESS]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        yield network
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        network.close()


def run_client(kind: str, network: TapNetwork, arguments: str, capture: Path) -> Board:
    """Runs a board to its own end."""
    firmware = build.firmware(kind, "iperf3")
    setup = Setup(firmware, network, pcap=capture, keep_own_clock=False, arguments=arguments)
    with Board(KINDS[kind], setup) as board:
        deadline = time.monotonic() + LIMIT_S
        while not board.has_ended and time.monotonic() < deadline:
            board.pump(0.1)
        assert board.has_ended, board.console.last()
    return board


@needs_tap
@pytest.mark.parametrize("kind", ["linux", "zynq"])
@pytest.mark.parametrize("way", AS_CLIENT)
def test_the_board_is_a_client(server: TapNetwork, capture: Path, kind: str, way: str):
    board = run_client(kind, server, f"-c {HOST_ADDRESS} {AS_CLIENT[way]}", capture)
    peer = [pairs(line) for line in board.console.lines if line.startswith("iperf3: peer")]
    moved = {t.case[-2:]: t for t in board.console.transfers}
    ways = {"tx", "rx"} if "both" in way else {"rx"} if "reverse" in way else {"tx"}
    assert peer and moved.keys() == ways, board.console.last()
    seen = sum(int(p["bytes"]) for p in peer)
    assert all(t.bytes >= 100_000 and t.datagrams_lost == 0 for t in moved.values())
    total = sum(t.bytes for t in moved.values())
    assert 0.8 * total <= seen <= 1.25 * total + 300_000  # each end stops at its own time


@needs_tap
def test_a_client_says_why_it_gives_up(server: TapNetwork, capture: Path):
    cases = {
        f"-c {HOST_ADDRESS} -p 5299": "the peer has closed",
        "-c 10.0.2.2 -P 8 --bidir -R": "not understood",
        "-x": "not understood: -x",
    }
    for arguments, said in cases.items():
        board = run_client("linux", server, arguments, capture)
        assert said in "\n".join(board.console.lines)


@needs_tap
def test_a_server_that_is_busy_or_mad_ends_a_client(server: TapNetwork, capture: Path):
    answers = {
        bytes([BUSY]): "the server is busy",
        bytes([ERROR, 0, 0, 0, 6, 0, 0, 0, 0]): "more streams",
        bytes([77]): "no place here",
        bytes([PARAMETERS, STREAMS, STREAMS]): "no place here",
        b"": "the peer is silent",
    }
    for answer, said in answers.items():
        with socket.create_server((HOST_ADDRESS, 0)) as listener:
            port = listener.getsockname()[1]
            held = []
            thread = threading.Thread(target=answer_once, args=(listener, answer, held))
            thread.start()
            arguments = f"-c {HOST_ADDRESS} -p {port} -t 1"
            board = run_client("linux", server, arguments, capture)
            assert said in "\n".join(board.console.lines), answer
            thread.join(5)
            for connection in held:
                connection.close()


def answer_once(listener: socket.socket, answer: bytes, held: list[socket.socket]) -> None:
    """Takes one connection, says this, and holds it."""
    listener.settimeout(10)
    connection, _ = listener.accept()
    held.append(connection)
    connection.sendall(answer)
