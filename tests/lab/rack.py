# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A board in a rack, as far as labgrid can tell: a serial port and a power switch, each
behind a TCP port of the loopback. Behind them is an emulated board.

The serial port is there whether or not the board has power. The switch is one of those
that a GET of /relay/0/1 closes and one of /relay/0/0 opens. The board boots whatever file
lies where its loader looks, and reaches the network as a board does that asks DHCP.
"""

import socket
import subprocess
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from lab.network import UserNetwork

MACHINE = ("qemu-system-arm", "-M", "xilinx-zynq-a9", "-cpu", "cortex-a9", "-m", "512M")


class Rack:
    """One board; leave the context and it is gone."""

    def __init__(self, folder: Path, network: UserNetwork) -> None:
        self.firmware = folder / "boot.elf"
        self.network = network
        self.switched: list[bool] = []
        self._board: subprocess.Popen | None = None
        self._listeners: list[socket.socket] = []
        self._serial = socket.create_server(("127.0.0.1", 0))
        self.serial_port = self._serial.getsockname()[1]
        # One thread for all requests: a board is bound to the life of the one that started it.
        self._switch = HTTPServer(("127.0.0.1", 0), self._handler())
        self.switch_port = self._switch.server_address[1]

    def __enter__(self) -> "Rack":
        for run in (self._accept, self._switch.serve_forever):
            threading.Thread(target=run, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._switch.shutdown()
        self._switch.server_close()
        self._serial.close()
        self.power(False)
        for listener in self._listeners:
            listener.close()

    @property
    def has_power(self) -> bool:
        """Whether the board is on."""
        return self._board is not None

    def power(self, is_on: bool) -> None:
        """Throws the switch."""
        board, self._board = self._board, None
        if board:
            board.kill()
            board.wait()
            board.stdout.close()
        if is_on:
            command = [*MACHINE, "-display", "none", "-monitor", "none", "-serial", "stdio"]
            command += ["-no-reboot", "-nic", self.network.nic(), "-kernel", str(self.firmware)]
            self._board = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
            threading.Thread(target=self._copy, args=(self._board,), daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._listeners.append(self._serial.accept()[0])

    def _copy(self, board: subprocess.Popen) -> None:
        with suppress(OSError, ValueError):
            while data := board.stdout.read1(4096):
                for listener in self._listeners:
                    with suppress(OSError):
                        listener.sendall(data)

    def _handler(rack) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802 - as http.server has it
                word = self.path.rpartition("/")[2]
                if word in ("0", "1") and self.path.startswith("/relay/0/"):
                    rack.switched.append(word == "1")
                    rack.power(word == "1")
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"1" if rack.has_power else b"0")

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        return Handler
