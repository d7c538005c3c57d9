# SPDX-License-Identifier: Apache-2.0 OR MIT
"""labgrid drivers: its emulator driver with limits, and one for a program of this host."""

import os
import re
import select
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attr
from labgrid.driver.common import Driver
from labgrid.driver.consoleexpectmixin import ConsoleExpectMixin
from labgrid.driver.qemudriver import QEMUDriver
from labgrid.factory import target_factory
from labgrid.protocol import ConsoleProtocol, PowerProtocol
from labgrid.util.qmp import QMPError
from pexpect import TIMEOUT

START_LIMIT_S = 15
STOP_LIMIT_S = 3
ANSWER_LIMIT_S = 10
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def end(child: subprocess.Popen | None) -> None:
    """Ends a child, gently first, and waits for it."""
    if child is None or child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class Drain:
    """Reads a socket as fast as it fills.

    The emulated UART writes byte by byte, and a few hundred such writes that nobody
    has read fill the socket: then the board waits in the middle of a line.
    """

    def __init__(self, source: socket.socket) -> None:
        source.setblocking(True)
        self._source = source
        self._data = bytearray()
        self._has_ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        data = b"-"
        while data:
            try:
                data = self._source.recv(4096)
            except OSError:
                data = b""
            with self._changed:
                self._data += data
                self._has_ended = not data
                self._changed.notify()

    def take(self, most: int, limit_s: float) -> bytes:
        """What has come, waited for; nothing at the end."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._data or self._has_ended, limit_s):
                raise TIMEOUT(f"nothing within {limit_s} s")
            taken = bytes(self._data[:most])
            del self._data[:most]
            return taken


@target_factory.reg_driver
@attr.s(eq=False)
class EmulatorDriver(QEMUDriver):
    """labgrid's driver; every wait has a limit, and the board may end by itself."""

    def get_qemu_version(self, qemu_bin):
        """Also bounds the wait for the answer, and takes any."""
        command = [qemu_bin, "-version"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, timeout=START_LIMIT_S)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError("the emulator does not answer") from late
        version = _VERSION.search(done.stdout.decode(errors="replace"))
        if done.returncode or not version:
            raise OSError(f"the emulator says no version, it ended with {done.returncode}")
        return tuple(map(int, version.groups()))

    def on_activate(self):
        """Also bounds the wait for an emulator that ends before it connects."""
        super().on_activate()
        self._socket.settimeout(START_LIMIT_S)

    def on(self):
        """Also begins to read the console."""
        with self._answering(START_LIMIT_S):
            super().on()
        self._drain = Drain(self._clientsocket)

    @contextmanager
    def _answering(self, limit_s: float) -> Iterator[None]:
        """Kills an emulator that does not answer: nothing else ends a read from its pipe."""
        began = time.monotonic()
        timer = threading.Timer(limit_s, lambda: self._child and self._child.kill())
        timer.start()
        try:
            yield
        except (QMPError, OSError, ValueError) as problem:
            if time.monotonic() - began < limit_s:
                raise
            raise TimeoutError("the emulator does not answer") from problem
        finally:
            timer.cancel()

    def monitor_command(self, command, arguments={}):
        """Also bounds the wait for the answer."""
        with self._answering(ANSWER_LIMIT_S):
            return super().monitor_command(command, arguments)

    def _read(self, size=1, timeout=10, max_size=None):
        return self._drain.take(max_size or 4096, timeout)

    def off(self):
        """Ends the emulator whether or not it still answers."""
        child, self._child, self.status = self._child, None, 0
        end(child)
        for pipe in (child.stdin, child.stdout) if child else ():
            pipe.close()

    def registers(self) -> str:
        """The processor's registers as the emulator prints them; empty if it is gone."""
        try:
            command = {"command-line": "info registers"}
            return self.monitor_command("human-monitor-command", command)
        except TimeoutError:
            raise
        except (QMPError, OSError, ValueError):
            return ""


@target_factory.reg_driver
@attr.s(eq=False)
class ProgramDriver(ConsoleExpectMixin, Driver, PowerProtocol, ConsoleProtocol):
    """A board that is a program here; its standard output and error are the console."""

    command = attr.ib(validator=attr.validators.instance_of(str))

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.txdelay = None
        self.txchunk = None
        self._child = None

    def on(self):
        """Starts the program."""
        self._child = subprocess.Popen(
            shlex.split(self.command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def off(self):
        """Ends the program, if it still runs."""
        child, self._child = self._child, None
        end(child)
        if child:
            child.stdout.close()
            self.exit_status = child.returncode

    def ask_to_end(self) -> None:
        """A program ends in order, and says by its status whether all was in order."""
        self._child.terminate()

    def processor_time_ns(self) -> int:
        """By the scheduler: user's and system's time, of its only thread."""
        return int(Path(f"/proc/{self._child.pid}/schedstat").read_text().split()[0])

    def ended_with(self) -> int | None:
        """The status of a program that ended by itself; None if a signal ended it."""
        try:
            status = self._child.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        return status if status >= 0 else None

    def cycle(self):
        """Ends it and starts it anew."""
        self.off()
        self.on()

    def on_deactivate(self):
        """Leaves nothing running."""
        self.off()

    def _read(self, size=1, timeout=10, max_size=None):
        ready, _, _ = select.select([self._child.stdout], [], [], timeout)
        if not ready:
            raise TIMEOUT(f"nothing within {timeout} s")
        return os.read(self._child.stdout.fileno(), max_size or 4096)

    def _write(self, data):
        raise OSError("this console takes no input")
