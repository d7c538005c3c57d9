# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The emulated board with the device's memory apart from the processor's.

The emulator has no caches, so nothing there would tell of a forgotten call for cache
maintenance. In these firmwares the device, the emulator's own, works on memory that only
such calls reconcile with the processor's (boards/zynq/shadow.c), and who touches what
when is checked: an unmodified iperf runs over it, and what is sent comes back unchanged.
Each call that is left out makes a run fail.
"""

import contextlib
import random
import socket
import struct
import threading

import pytest
from helpers import has_tap, needs_tap
from test_dma_mutants import CALLS

from lab import build, iperf, measure
from lab.board import KINDS, Board, Setup
from lab.errors import LabError
from lab.network import Network, TapNetwork, UserNetwork

SETTINGS = 0x00100800  # as boards/zynq/shadow.c has it
MAGIC = 0x53484457
NAME_BYTES = 64
ECHO = 7
PIECES = 400
PINGS = 60
LIMIT_S = 15.0

TRANSFERS = {
    "tcp_rx": ["-n", "2M"],
    "tcp_tx": ["-R", "-n", "2M"],
    "udp_rx": ["-u", "-b", "20M", "-n", "1M"],
    "udp_tx": ["-u", "-R", "-b", "20M", "-n", "1M"],
}


def settings(line: int, seed: int, mutant: str = "") -> dict[int, int]:
    """The words for the firmware to find."""
    name = mutant.encode().ljust(NAME_BYTES, b"\0")
    words = [MAGIC, line, seed]
    words += [int.from_bytes(name[i : i + 4], "little") for i in range(0, NAME_BYTES, 4)]
    return {SETTINGS + 4 * i: word for i, word in enumerate(words)}


@contextlib.contextmanager
def linked(uses_tap: bool):
    """The way to a board, for as long as it lasts."""
    network = TapNetwork() if uses_tap else UserNetwork((iperf.PORT, ECHO))
    try:
        yield network
    finally:
        network.close()


@contextlib.contextmanager
def booted(
    preset: str, app: str, line: int, seed: int, mutant: str = "", uses_tap: bool = False
):
    """A board under way, and how to get to it."""
    firmware = build.firmware(preset, app)
    words = settings(line, seed, mutant)
    with (
        linked(uses_tap) as network,
        Board(KINDS["zynq"], Setup(firmware, network, keep_own_clock=False, words=words)) as board,
    ):
        board.wait_ready()
        assert f"plumb: shadow DMA line={line} seed={seed}" in board.console.lines
        assert any("offset=every" in text for text in board.console.lines), "the probe's verdict"
        try:
            yield board, network
        except OSError:
            board.pump(0.2)
            board.check()  # says better why
            raise
        board.pump(0.2)
        board.check()
        wrong = [name for name in board.console.counters if "checksum" in name]
        assert not wrong, "bytes were not what had been sent"


def exchange(board: Board, network: Network, seed: int) -> None:
    """Has pieces of any length echoed, many under way at once; compares."""
    chance = random.Random(seed)
    pieces = [chance.randbytes(chance.choice((1, 40, 200, 1460))) for _ in range(PIECES)]
    sent = b"".join(pieces)
    with socket.create_connection(network.endpoint(ECHO), LIMIT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        writer = threading.Thread(target=write_all, args=(connection, pieces), daemon=True)
        writer.start()
        back = bytearray()
        while len(back) < len(sent):
            board.pump(0)
            board.check()
            got = connection.recv(65536)
            assert got, "closed too early"
            back += got
        writer.join(LIMIT_S)
    assert back == sent


def write_all(connection: socket.socket, pieces: list[bytes]) -> None:
    """Writes pieces; whoever reads notices if that fails."""
    with contextlib.suppress(OSError):
        for piece in pieces:
            connection.sendall(piece)


def checksum(data: bytes) -> int:
    """The Internet's, of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ping(board: Board, network: TapNetwork, seed: int) -> None:
    """Has the board answer in the buffers of the questions; compares."""
    chance = random.Random(seed)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.settimeout(1.0)
        raw.connect((network.board_address, 0))
        for number in range(PINGS):
            rest = struct.pack("!HH", 1, number) + chance.randbytes(1400)
            raw.send(struct.pack("!BBH", 8, 0, checksum(b"\x08\0\0\0" + rest)) + rest)
            answer = raw.recv(2048)[20:]
            assert answer[0] == 0
            assert answer[4:] == rest
            board.pump(0)
            board.check()


def transfer(board: Board, network: Network, case: str) -> None:
    """One iperf."""
    before = len(board.console.transfers)
    client = iperf.start(network, TRANSFERS[case])
    board.follow(client, LIMIT_S, f"iperf ({case})")
    client.communicate()
    board.wait(lambda: len(board.console.transfers) > before, LIMIT_S, "reported no transfer")
    assert board.console.transfers[before].case == case


@pytest.mark.parametrize("preset", ["zynq-shadow", "zynq-shadow-small"])
@pytest.mark.parametrize(("line", "seed"), [(16, 1), (32, 2), (64, 3), (128, 4)])
def test_traffic_needs_no_coherence(preset, line, seed):
    assert set(TRANSFERS) == set(measure.CASES)
    with booted(preset, "iperf", line, seed) as (board, network):
        for case in TRANSFERS:
            transfer(board, network, case)
    with booted(preset, "echo", line, seed) as (board, network):
        exchange(board, network, seed)


@needs_tap
@pytest.mark.parametrize("preset", ["zynq-shadow", "zynq-shadow-small"])
def test_answers_in_the_buffers_of_the_questions(preset):
    with booted(preset, "echo", 32, 1, uses_tap=True) as (board, network):
        ping(board, network, 1)


PRESETS = ("zynq-shadow", "zynq-shadow-small")


def run(preset: str, mutant: str) -> None:
    """A run with a mutant; raises if anything is wrong."""
    with booted(preset, "echo", 32, 1, mutant, uses_tap=has_tap()) as (board, network):
        if isinstance(network, TapNetwork):
            ping(board, network, 1)
        exchange(board, network, 1)
        exchange(board, network, 2)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_left_out_is_noticed(call):
    if call.operation == "sync_for_device" and not has_tap():
        pytest.skip("only pings have the board write to what it received: they need a TAP device")
    if call.operation == "map_clean":
        pytest.skip("the device finds the same bytes in clean memory; host tests see it")
    for preset in PRESETS:  # a call may be in one of them only
        try:
            run(preset, call.mutant("delete"))
        except (LabError, AssertionError, OSError):
            return
    pytest.fail(f"{call}: left out, it makes no difference")
