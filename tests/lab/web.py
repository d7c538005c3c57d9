# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A board that serves pages, and curl."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import needs_tap, until

from lab import board as boards
from lab import build
from lab.board import Board, Setup
from lab.network import Network, TapNetwork, UserNetwork

PORT = 80
LIMIT_S = 60.0
MANY = 128  # connections, so that a hundred clients have one each
KINDS = [pytest.param("linux", marks=needs_tap), "zynq"]


def serve(name: str, capture: Path | None) -> Iterator[Board]:
    """Boots one; in the end nothing is lost. Without offload, so that checksums are its own."""
    kind = boards.KINDS[name]
    firmware = build.firmware(name, "http", (f"PLUMB_TCP_CONNECTIONS={MANY}",), "-many")
    network: Network = UserNetwork((PORT,)) if kind.is_emulated else TapNetwork()
    try:
        setup = Setup(firmware, network, pcap=capture, keep_own_clock=False, offload="none")
        with Board(kind, setup) as board:
            board.wait_ready()
            yield board
            board.check()
            if not kind.is_emulated:
                assert board.stop() == 0, board.console.last()
    finally:
        network.close()


def url(board: Board, path: str) -> str:
    """Where something is to be had."""
    address, port = board.setup.network.endpoint(PORT)
    return f"http://{address}:{port}{path}"


def run(board: Board, *words: str) -> bytes:
    """Runs a client to a good end; what it prints."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S
    )
    board.check()
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def curl(board: Board, *words: str) -> bytes:
    """Runs curl."""
    return run(board, "curl", "-sS", "--max-time", "40", *words)


def counters(board: Board) -> dict:
    """What the board counts."""
    return json.loads(curl(board, url(board, "/counters")))


def wait_for_quiet(board: Board) -> None:
    """Waits until the board holds no connection but the one that asks."""
    assert until(lambda: counters(board)["http"]["connections"] == 1, 10), counters(board)["http"]
