# SPDX-License-Identifier: Apache-2.0 OR MIT
"""apps/iperf3 as the server of the unmodified iperf3, and of clients that are none."""

import json
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from helpers import needs_tap

from lab import build
from lab.board import KINDS, Board, Setup
from lab.console import Transfer
from lab.network import Network, TapNetwork, UserNetwork

PORT = 5201
LIMIT_S = 30.0
PHASE_LIMIT_S = 5.0  # of a control connection that says nothing
PARAMETERS, STREAMS, START, RUNNING, END, RESULTS, DISPLAY, DONE = 9, 10, 1, 2, 4, 13, 14, 16
BUSY, ERROR = 255, 254
NO_PARAMETERS, NO_RESULTS, NO_MESSAGE, TOO_MANY = 114, 117, 110, 6
COOKIE = b"abcdefghijklmnopqrstuvwxyz0123456789\0"
KIB, MIB = 1 << 10, 1 << 20


def boot(kind: str, uses_tap: bool, capture: Path) -> Iterator[Board]:
    """A board that is a server; in the end nothing is lost, and nothing that it sent is wrong."""
    network: Network = TapNetwork() if uses_tap else UserNetwork((PORT,))
    try:
        firmware = build.firmware(kind, "iperf3")
        setup = Setup(firmware, network, pcap=capture, keep_own_clock=False, offload="none")
        with Board(KINDS[kind], setup) as board:
            board.wait_ready()
            yield board
            board.check()
            assert not board.console.malformed
            if not board.kind.is_emulated:
                assert board.stop() == 0, board.console.last()
        assert not wire.wrong_frames(capture)
    finally:
        network.close()


BOARDS = {"linux-tap": ("linux", True), "zynq-user": ("zynq", False), "zynq-tap": ("zynq", True)}


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=needs_tap if tap else ()) for n, (_, tap) in BOARDS.items()],
)
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """One for all tests of this file."""
    yield from boot(*BOARDS[request.param], tmp_path_factory.mktemp("iperf3") / "all.pcap")


def start(network: Network, *options: str) -> subprocess.Popen:
    """Starts a client."""
    address, port = network.endpoint(PORT)
    words = ["setpriv", "--pdeathsig", "KILL", "iperf3", "--json", "-c", address, "-p", str(port)]
    return subprocess.Popen(
        [*words, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def client(board: Board, *options: str) -> dict:
    """Runs one; what it has seen."""
    process = start(board.setup.network, *options)
    before = len(board.console.transfers)
    board.follow(process, LIMIT_S, f"iperf3 {' '.join(options)}")
    report = json.loads(process.communicate()[0])
    assert process.returncode == 0 and "error" not in report, report.get("error")
    board.wait(lambda: len(board.console.transfers) > before, 5, "no transfer was reported")
    return report["end"]


def transfer(board: Board, case: str) -> Transfer:
    """The last one of a case that the board has told."""
    return next(t for t in reversed(board.console.transfers) if t.case == case)


TCP = {
    "bytes": (("-n", "2M"), 2 * MIB, 1),
    "blocks": (("-k", "8"), 8 * 128 * KIB, 1),
    "parallel": (("-n", "2M", "-P", "4"), 2 * MIB, 4),
    "odd-blocks": (("-n", "300K", "-l", "1001"), 300 * KIB, 1),
}


@pytest.mark.parametrize("way", TCP)
def test_tcp_to_the_board_loses_no_byte(board: Board, way: str):
    options, at_least, streams = TCP[way]
    end = client(board, *options)
    assert end["sum_sent"]["bytes"] >= at_least
    assert end["sum_received"]["bytes"] == end["sum_sent"]["bytes"]
    assert transfer(board, "tcp_rx").bytes == end["sum_received"]["bytes"]
    assert len(end["streams"]) == streams
    assert all(s["receiver"]["bytes"] == s["sender"]["bytes"] > 0 for s in end["streams"])


# To iperf3 a block that it receives is what one read gives, so it may be a byte.
@pytest.mark.parametrize(
    "at_least,options",
    [(2 * MIB, ("-n", "2M")), (8, ("-k", "8")), (2 * MIB, ("-n", "2M", "-P", "4"))],
)
def test_tcp_from_the_board(board: Board, at_least: int, options: tuple[str, ...]):
    end = client(board, "-R", *options)
    assert end["sum_received"]["bytes"] >= at_least
    assert transfer(board, "tcp_tx").bytes == end["sum_sent"]["bytes"]
    for stream in end["streams"]:
        assert 0 < stream["receiver"]["bytes"] <= stream["sender"]["bytes"]
        assert stream["sender"]["retransmits"] >= 0


@pytest.mark.parametrize("options", [("-t", "1"), ("-t", "1", "-P", "2")])
def test_tcp_both_ways(board: Board, options: tuple[str, ...]):
    end = client(board, "--bidir", "-b", "8M", *options)
    assert end["sum_sent"]["bytes"] == end["sum_received"]["bytes"] > 512 * KIB
    assert transfer(board, "tcp_rx").bytes == end["sum_received"]["bytes"]
    assert transfer(board, "tcp_tx").bytes == end["sum_sent_bidir_reverse"]["bytes"]
    assert end["sum_received_bidir_reverse"]["bytes"] > 512 * KIB


def test_what_is_left_out_does_not_count(board: Board):
    end = client(board, "-t", "1", "-O", "1", "-b", "8M")
    assert 800_000 < end["sum_received"]["bytes"] < 1_600_000
    assert end["sum_received"]["seconds"] < 1.5


UDP = {
    "bytes": ("-b", "8M", "-n", "256K"),
    "blocks": ("-b", "8M", "-k", "100"),
    "timed": ("-b", "4M", "-t", "1"),
    "parallel": ("-b", "2M", "-n", "256K", "-P", "4"),
    "wide": ("-b", "8M", "-n", "128K", "--udp-counters-64bit"),
    "in-fragments": ("-b", "8M", "-n", "256K", "-l", "5000"),
}
LENGTH = ("-l", "1400")  # of a datagram; over the loopback iperf3 makes them very long


@pytest.mark.parametrize("way", UDP)
def test_udp_to_the_board(board: Board, way: str):
    end = client(board, "-u", *LENGTH, *UDP[way])
    seen, told = end["sum"], transfer(board, "udp_rx")
    assert seen["packets"] >= 26 and seen["lost_packets"] == told.datagrams_lost == 0
    assert told.packets == seen["packets"] and told.bytes == end["sum_sent"]["bytes"]
    assert 0 <= seen["jitter_ms"] < 100


@pytest.mark.parametrize("way", UDP)
def test_udp_from_the_board(board: Board, way: str):
    end = client(board, "-u", "-R", *LENGTH, *UDP[way])
    seen, told = end["sum"], transfer(board, "udp_tx")
    assert seen["packets"] >= 26 and told.bytes == end["sum_sent"]["bytes"]
    assert end["sum_received"]["packets"] - seen["lost_packets"] <= told.packets
    assert seen["lost_packets"] <= seen["packets"] // 20


def test_udp_both_ways(board: Board):
    end = client(board, "-u", "--bidir", *LENGTH, "-b", "4M", "-t", "1")
    assert transfer(board, "udp_rx").packets == end["sum_sent"]["packets"] > 300
    assert transfer(board, "udp_tx").packets >= end["sum_received_bidir_reverse"]["packets"] > 300


# ---- clients that are none ----

# A second network shows nothing more of these.
hostile = pytest.mark.parametrize(
    "board",
    [pytest.param("linux-tap", marks=needs_tap), "zynq-user"],
    indirect=True,
    scope="module",
)


def connect(board: Board) -> socket.socket:
    """A connection to the control port."""
    return socket.create_connection(board.setup.network.endpoint(PORT), 10)


def read(control: socket.socket, count: int) -> bytes:
    """So many bytes, or what there is before the end."""
    control.settimeout(10)
    found = b""
    while len(found) < count:
        try:
            data = control.recv(count - len(found))
        except ConnectionResetError:
            break
        if not data:
            break
        found += data
    return found


def text(of: object) -> bytes:
    """JSON as it goes over the wire; bytes as they are."""
    body = of if isinstance(of, bytes) else json.dumps(of).encode()
    return struct.pack(">I", len(body)) + body


def refused_with(control: socket.socket) -> int:
    """The code of the server's refusal, behind which it closes."""
    state, code, _ = struct.unpack(">BII", read(control, 9))
    assert state == ERROR
    assert read(control, 1) == b""
    return code


def greeted(board: Board) -> socket.socket:
    """A connection whose cookie was taken."""
    for _ in range(20):
        control = connect(board)
        control.sendall(COOKIE)
        state = read(control, 1)
        if state == bytes([PARAMETERS]):
            return control
        control.close()  # the one before it is only just going
        time.sleep(0.1)
    raise AssertionError(f"the server says {state!r}")


def still_serves(board: Board) -> None:
    """The next test goes as if nothing had been."""
    client(board, "-n", "64K")


BAD = {
    "garbage": b"\xff" * 64,
    "nothing": b"",
    "cut": b'{"tcp":true,"time":1',
    "deep": b"[" * 8000,
    "deep object": b'{"a":' * 1500,
    "not an object": b"[1,2]",
    "wrong type": {"tcp": True, "time": "for ever"},
    "negative": {"tcp": True, "time": -1},
    "nulls": b"\0" * 100,
    "without end": b'{"tcp":"' + b"a" * 8000,
}


@hostile
def test_parameters_that_are_none_are_refused_in_words(board: Board):
    for name, body in BAD.items():
        with greeted(board) as control:
            control.sendall(text(body))
            assert refused_with(control) == NO_PARAMETERS, name
    still_serves(board)


@hostile
def test_a_megabyte_of_json_is_refused_unread(board: Board):
    with greeted(board) as control:
        control.sendall(struct.pack(">I", MIB))
        assert refused_with(control) == NO_PARAMETERS
    with greeted(board) as control:
        control.sendall(struct.pack(">I", 0xFFFFFFFF))
        assert refused_with(control) == NO_PARAMETERS
    with greeted(board) as control:
        try:
            control.sendall(struct.pack(">I", MIB) + b'{"a":"' + b"x" * MIB)
        except (ConnectionResetError, BrokenPipeError):
            pass
    still_serves(board)


@hostile
def test_more_streams_than_there_are_are_refused(board: Board):
    with greeted(board) as control:
        control.sendall(text({"tcp": True, "time": 1, "parallel": 1000000}))
        assert refused_with(control) == TOO_MANY
    still_serves(board)


@hostile
def test_a_word_out_of_place_is_refused(board: Board):
    for state in (START, END, RESULTS, DONE, 0, 77, 255):
        with greeted(board) as control:
            control.sendall(text({"tcp": True, "time": 1, "parallel": 1}))
            assert read(control, 1) == bytes([STREAMS])
            control.sendall(bytes([state]))
            assert refused_with(control) == NO_MESSAGE, state
    still_serves(board)


def run_to_the_end(board: Board) -> tuple[socket.socket, socket.socket]:
    """A test without a byte, up to where the client's results are waited for."""
    control = greeted(board)
    control.sendall(text({"tcp": True, "time": 1, "parallel": 1}))
    assert read(control, 1) == bytes([STREAMS])
    stream = connect(board)
    stream.sendall(COOKIE)
    assert read(control, 2) == bytes([START, RUNNING])
    stream.sendall(b"x" * 1000)
    control.sendall(bytes([END]))
    assert read(control, 1) == bytes([RESULTS])
    return control, stream


@hostile
def test_results_that_are_none_are_refused(board: Board):
    for body in (b"", b"{}", b'{"streams":{}}', b'{"streams":[[]]}', b"[" * 8000):
        control, stream = run_to_the_end(board)
        with control, stream:
            control.sendall(text(body))
            assert refused_with(control) == NO_RESULTS, body
    still_serves(board)


@hostile
def test_a_client_by_hand_gets_results(board: Board):
    control, stream = run_to_the_end(board)
    with control, stream:
        own = {"streams": [{"id": 1, "bytes": 1000, "retransmits": -1, "jitter": 0, "errors": 0}]}
        control.sendall(text(own))
        (length,) = struct.unpack(">I", read(control, 4))
        results = json.loads(read(control, length))
        assert results["streams"][0]["id"] == 1 and results["streams"][0]["bytes"] == 1000
        assert read(control, 1) == bytes([DISPLAY])
        control.sendall(bytes([DONE]))
        assert read(control, 1) == b""
    still_serves(board)


@hostile
def test_clients_that_break_off_are_forgotten(board: Board):
    for stage in range(4):
        with connect(board) as early:
            early.sendall(COOKIE[:20])  # gone before its cookie is whole
        control = greeted(board)
        if stage:
            control.sendall(text({"tcp": True, "time": 1, "parallel": 2})[: -1 if stage == 1 else None])
        if stage > 1:
            assert read(control, 1) == bytes([STREAMS])
        if stage > 2:
            with connect(board) as stream:
                stream.sendall(COOKIE)
        control.close()
    still_serves(board)


@hostile
def test_a_cookie_of_somebody_else_opens_no_stream(board: Board):
    with greeted(board) as control:
        control.sendall(text({"tcp": True, "time": 1, "parallel": 1}))
        assert read(control, 1) == bytes([STREAMS])
        with connect(board) as stranger:
            stranger.sendall(COOKIE.replace(b"a", b"b"))
            assert read(stranger, 2) == bytes([BUSY])
        with connect(board) as stream:
            stream.sendall(COOKIE)
            assert read(control, 2) == bytes([START, RUNNING])
    still_serves(board)


@hostile
def test_one_test_at_a_time(board: Board):
    with greeted(board):
        others = [start(board.setup.network, "-n", "64K") for _ in range(3)]
        for other in others:
            board.follow(other, LIMIT_S, "iperf3")
            assert "busy" in json.loads(other.communicate()[0])["error"]
    still_serves(board)


@hostile
def test_silence_has_an_end(board: Board):
    """Each of the phases in which a server waits for its client, at most its time."""
    began = time.monotonic()
    with connect(board) as silent:
        assert read(silent, 1) == bytes([ERROR])
    assert PHASE_LIMIT_S - 0.5 < time.monotonic() - began < PHASE_LIMIT_S + 4
    still_serves(board)


@hostile
def test_crowds_are_turned_away(board: Board):
    crowd = []
    for _ in range(12):
        try:
            crowd.append(connect(board))
            crowd[-1].sendall(b"GET / HTTP/1.0\r\n\r\n" * 4)
        except ConnectionError:
            continue  # who finds no place is reset
    assert len(crowd) >= 8
    for one in crowd:
        one.close()
    still_serves(board)
