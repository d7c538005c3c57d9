# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Many short connections, one after the other: each opens, sends a little, closes."""

import socket
from collections.abc import Callable

from .board import Board
from .iperf import PORT
from .network import Network

PAYLOAD = bytes(64)  # as from a client of old that asks for nothing
LIMIT_S = 10.0


def one(endpoint: tuple[str, int]) -> bool:
    """One connection; True if the board took it and closed it in good order."""
    try:
        with socket.create_connection(endpoint, LIMIT_S) as connection:
            connection.sendall(PAYLOAD)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(1) == b""
    except OSError:
        return False


def run(
    board: Board, network: Network, count: int, on_progress: Callable[[], None] = lambda: None
) -> int:
    """Makes `count` connections; returns how many the board reports as whole."""
    endpoint = network.endpoint(PORT)
    before = len(board.console.transfers)
    good = 0
    for index in range(count):
        if not one(endpoint):
            break
        good += 1
        on_progress()
        if index % 20 == 19:
            board.pump(0)
            board.check()
    board.wait(
        lambda: len(board.console.transfers) - before >= good, LIMIT_S, "reported too few transfers"
    )
    seen = board.console.transfers[before:]
    return sum(1 for transfer in seen if transfer.bytes == len(PAYLOAD))
