# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How a board reaches the host: the emulator's user-mode network, or a TAP device."""

import ctypes
import os
import shlex
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .errors import LabError, MissingTool

BOARD_ADDRESS = "10.0.2.15"
HOST_ADDRESS = "10.0.2.2"
NETMASK = "255.255.255.0"
CLONE_NEWNET = 0x40000000
TAP_NAME = "plumb0"


def free_port(kind: socket.SocketKind) -> int:
    """A port of the loopback address that nobody uses now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_port_of_both() -> int:
    """A port that is free for TCP and for UDP."""
    for _ in range(100):
        port = free_port(socket.SOCK_STREAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise LabError("found no free port on 127.0.0.1")


@dataclass
class UserNetwork:
    """The emulator's own network: no root, no device; ports are forwarded one by one."""

    ports: tuple[int, ...] = ()
    forwards: dict[int, int] = field(default_factory=dict)
    is_static: bool = False

    def __post_init__(self) -> None:
        for port in self.ports:
            self.forwards[port] = free_port_of_both()

    def nic(self) -> str:
        """The emulator's -nic option."""
        rules = "".join(
            f",hostfwd={kind}:127.0.0.1:{here}-{BOARD_ADDRESS}:{there}"
            for there, here in self.forwards.items()
            for kind in ("tcp", "udp")
        )
        return f"user,id=net0{rules}"

    def endpoint(self, port: int) -> tuple[str, int]:
        """Where a client of this host finds a port of the board."""
        return "127.0.0.1", self.forwards[port]

    def close(self) -> None:
        """There is nothing to give back."""


@dataclass
class TapNetwork:
    """A TAP device in the namespace the lab is in."""

    name: str = TAP_NAME
    is_static: bool = True
    board_address: str = BOARD_ADDRESS

    def __post_init__(self) -> None:
        ip("tuntap", "add", "dev", self.name, "mode", "tap")
        quiet = Path(f"/proc/sys/net/ipv6/conf/{self.name}/disable_ipv6")
        if quiet.exists():
            quiet.write_text("1")
        ip("address", "add", f"{HOST_ADDRESS}/24", "dev", self.name)
        ip("link", "set", self.name, "up")

    def nic(self) -> str:
        """The emulator's -nic option."""
        return f"tap,id=net0,ifname={self.name},script=no,downscript=no"

    def endpoint(self, port: int) -> tuple[str, int]:
        """Where a client of this host finds a port of the board."""
        return self.board_address, port

    def close(self) -> None:
        """Removes the device."""
        subprocess.run(["ip", "link", "delete", self.name], capture_output=True)


@dataclass
class PlaceNetwork:
    """A board that this host reaches by its own network; it says its address itself."""

    board_address: str = ""
    forwards: dict[int, int] = field(default_factory=dict)  # ports that stand for the board's
    is_static: bool = False

    def learn(self, address: str) -> None:
        """Takes what the board says for its address, unless told one."""
        self.board_address = self.board_address or address

    def nic(self) -> str:
        """It is no emulator's."""
        return ""

    def endpoint(self, port: int) -> tuple[str, int]:
        """Where a client of this host finds a port of the board."""
        return self.board_address, self.forwards.get(port, port)

    def close(self) -> None:
        """There is nothing to give back."""


Network = UserNetwork | TapNetwork | PlaceNetwork


def ip(*words: str) -> None:
    """Runs ip(8)."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def enter_namespace() -> None:
    """Moves this process into a network namespace of its own, loopback up.

    It ends with the process, and with it every device made in it.
    """
    if os.geteuid() != 0:
        raise MissingTool(f"a TAP device needs root:\nsudo ./plumb {shlex.join(sys.argv[1:])}")
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(CLONE_NEWNET) != 0:
        raise LabError(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    ip("link", "set", "lo", "up")
    if not Path("/dev/net/tun").exists():
        raise LabError("there is no /dev/net/tun: the kernel lacks TAP devices")
