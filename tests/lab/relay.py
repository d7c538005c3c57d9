# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What joins two TAP devices of this namespace: a cable that loses frames by a seed, a switch."""

import random
import select
import socket
import threading
from types import TracebackType

from lab.network import ip

ANY_PROTOCOL = 0x0003  # ETH_P_ALL
LONGEST = 1600
PAUSE_S = 0.2
BUFFER = 1 << 22


class Switch:
    """The kernel's bridge between two TAP devices: what one end leaves to its device, such as
    checksums, is done where the other end does not take it as it is."""

    NAME = "interop"

    def __init__(self, ends: tuple[str, str]) -> None:
        self.ends = ends
        self.lost = self.carried = 0

    def __enter__(self) -> "Switch":
        ip("link", "add", self.NAME, "type", "bridge")
        ip("link", "set", self.NAME, "addrgenmode", "none")
        ip("link", "set", self.NAME, "up")
        for name in self.ends:
            ip("tuntap", "add", "dev", name, "mode", "tap")
            ip("link", "set", name, "addrgenmode", "none")
            ip("link", "set", name, "master", self.NAME, "up")
        return self

    def __exit__(
        self, kind: type | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in (*self.ends, self.NAME):
            ip("link", "delete", name)


class Cable:
    """Every frame that one end's stack sends is the other's to receive, but for those lost."""

    def __init__(self, ends: tuple[str, str], loss_percent: float, seed: int) -> None:
        self.ends = ends
        self.carried = self.lost = 0
        self._loss = loss_percent / 100
        self._random = random.Random(seed)
        self._sockets: list[socket.socket] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Cable":
        for name in self.ends:
            ip("tuntap", "add", "dev", name, "mode", "tap")
            ip("link", "set", name, "addrgenmode", "none")
            ip("link", "set", name, "up", "promisc", "on", "arp", "off")
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ANY_PROTOCOL))
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            end.bind((name, 0))
            end.setblocking(False)
            self._sockets.append(end)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        for end, name in zip(self._sockets, self.ends, strict=True):
            end.close()
            ip("link", "delete", name)

    def _run(self) -> None:
        other = dict(zip(self._sockets, reversed(self._sockets), strict=True))
        while not self._is_over.is_set():
            for end in select.select(self._sockets, [], [], PAUSE_S)[0]:
                self._carry(end, other[end])

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        """All that has come from one end."""
        while True:
            try:
                frame, about = one.recvfrom(LONGEST)
            except OSError:  # nothing more, or no stack has the device any more
                return
            if about[2] == socket.PACKET_OUTGOING:
                continue
            if self._random.random() < self._loss:
                self.lost += 1
                continue
            try:
                other.send(frame)
                self.carried += 1
            except OSError:  # a full queue loses frames, as a switch's does
                self.lost += 1
