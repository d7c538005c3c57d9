# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Datagrams to a board's echo service, one at a time: the next when the last is back.

The board's application makes a measured transfer of every thousand, so a run is a
thousand and one. One that is lost, either way, is sent again; how often is bounded.
"""

import socket
import time

from .board import Board
from .errors import LabError
from .iperf import Report
from .network import Network

PORT = 7
RUN = 1000
PAYLOAD = bytes(range(64))
ANSWER_LIMIT_S = 0.5
LOSSES = 20


def run(board: Board, network: Network) -> Report:
    """One run, as the sender saw it."""
    begun, losses = time.monotonic(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(network.endpoint(PORT))
        sender.settimeout(ANSWER_LIMIT_S)
        for _ in range(RUN + 1):
            while not once(sender):
                losses += 1
                board.pump(0)
                board.check()
                if losses > LOSSES:
                    raise LabError(f"the board's echo lost {losses} of {RUN} datagrams")
    seconds = time.monotonic() - begun
    return Report(RUN * len(PAYLOAD) * 8 / seconds / 1e6, seconds)


def once(sender: socket.socket) -> bool:
    """Sends one; whether it came back."""
    try:
        sender.send(PAYLOAD)
        return sender.recv(2048) == PAYLOAD
    except (TimeoutError, ConnectionRefusedError):
        return False
