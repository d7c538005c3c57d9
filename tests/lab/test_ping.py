# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Echo requests of every size, up to the longest datagram there is, in fragments both ways."""

import random
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from helpers import needs_tap
from test_wire import checksum

from lab import build
from lab.board import KINDS, Board, Setup
from lab.network import BOARD_ADDRESS, TapNetwork

pytestmark = needs_tap
LONGEST = 65507  # bytes behind both headers
PIECE = 1480  # bytes of a datagram in a full fragment
IDENTIFIER = 0x504C
TRIES, PATIENCE_S = 5, 0.5
EDGES = {n * PIECE - 8 + d for n in range(1, 45) for d in range(-9, 10)}
SIZES = {
    "linux": sorted({*range(3100), *(e for e in EDGES if e <= LONGEST), *range(3100, LONGEST, 997), 65500, LONGEST}),
    "zynq": sorted({*range(0, 1500, 37), *(n * PIECE - 8 + d for n in range(1, 45) for d in (-1, 0, 1)), 65500, LONGEST}),
}  # fmt: skip
BY_PING = (0, 1, 56, 1471, 1472, 1473, 2952, 2953, 9000, 32768, 65500, LONGEST)


@pytest.fixture(scope="module", params=SIZES)
def board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Board]:
    """One for all tests of this file; all that it sent is right."""
    capture = tmp_path_factory.mktemp("ping") / "all.pcap"
    network = TapNetwork()
    try:
        firmware = build.firmware(request.param, "echo")
        setup = Setup(firmware, network, pcap=capture, keep_own_clock=False, offload="none")
        with Board(KINDS[request.param], setup) as booted:
            booted.wait_ready()
            yield booted
            booted.check()
            if not booted.kind.is_emulated:
                assert booted.stop() == 0, booted.console.last()
        assert not wire.wrong_frames(capture)
        cut = f"ip.src == {BOARD_ADDRESS} && (ip.flags.mf == 1 || ip.frag_offset > 0)"
        assert len(wire.frames(capture, cut)) > 2000, "replies go in fragments"
    finally:
        network.close()


def message(kind: int, sequence: int, payload: bytes) -> bytes:
    """An echo request, or its reply (RFC 792)."""
    head = struct.pack(">BBHHH", kind, 0, 0, IDENTIFIER, sequence)
    total = checksum(head + payload)
    return head[:2] + struct.pack(">H", total) + head[4:] + payload


def reply_to(raw: socket.socket, sequence: int, payload: bytes) -> bytes | None:
    """The reply; the board answers a limited number in a second, so one may have to ask again."""
    for _ in range(TRIES):
        raw.sendto(message(8, sequence, payload), (BOARD_ADDRESS, 0))
        deadline = time.monotonic() + PATIENCE_S
        while (left := deadline - time.monotonic()) > 0:
            raw.settimeout(left)
            try:
                datagram = raw.recv(65535)
            except TimeoutError:
                break
            found = datagram[(datagram[0] & 15) * 4 :]
            if found[0] == 0 and struct.unpack(">HH", found[4:8]) == (IDENTIFIER, sequence):
                return found
    return None


def test_every_size_comes_back(board: Board):
    noise = random.Random(1).randbytes(LONGEST + 256)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        for count, size in enumerate(SIZES[board.kind.name]):
            payload = noise[count % 256 :][:size]
            found = reply_to(raw, count & 0xFFFF, payload)
            assert found == message(0, count & 0xFFFF, payload), size
            if count % 256 == 0:
                board.check()


def test_the_hosts_ping_agrees(board: Board):
    for size in BY_PING:
        words = ["ping", "-c", "2", "-i", "0.05", "-w", "10", "-s", str(size), BOARD_ADDRESS]
        done = subprocess.run(words, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0 and " 0% packet loss" in done.stdout, done.stdout
        assert "wrong data" not in done.stdout
