# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plumb and others' stacks over one cable: both ends send at once, and what each received is
what the other sent, with frames lost and without.

A program of each stack does the exchange that tests/interop/exchange.h describes; Plumb's is
built with the address and undefined-behaviour sanitizers.
"""

import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from helpers import needs_tap
from relay import Cable, Switch

from lab import build, lwip, smoltcp
from lab.paths import BUILD, ROOT

LIMIT_S = 90.0
READY_S = 10.0
PORT = 7000
SEED = 2026
SANITIZED = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
READY = re.compile("plumb: ready")
TOLD = re.compile(
    r"exchange: sent=(\d+) sent_hash=([0-9a-f]{16}) received=(\d+) received_hash=([0-9a-f]{16})\s"
)


@cache
def plumb() -> Path:
    """Plumb's program."""
    folder = BUILD / "interop"
    options = ["-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_C_FLAGS={SANITIZED}"]
    return build.project(ROOT / "tests/interop", folder, "plumb_exchange", options)


STACKS: dict[str, Callable[[], Path]] = {
    "plumb": plumb,
    "lwip": lambda: lwip.process("tuned", "exchange"),
    "smoltcp": smoltcp.process,
    "lwip-stock": lambda: lwip.process("stock", "exchange"),
}
PEERS = [name for name in STACKS if name != "plumb"]


@dataclass
class End:
    """One end of the cable: a program that runs."""

    stack: str
    process: subprocess.Popen
    text: str = ""

    def wait_for(self, pattern: re.Pattern[str], limit_s: float) -> re.Match[str]:
        """Follows its console until it says something."""
        deadline = time.monotonic() + limit_s
        while not (found := pattern.search(self.text)):
            left = deadline - time.monotonic()
            assert left > 0, f"{self.stack}: no {pattern.pattern!r} in {limit_s} s:\n{self.text}"
            if select.select([self.process.stdout], [], [], left)[0]:
                data = os.read(self.process.stdout.fileno(), 65536)
                self.text += data.decode(errors="replace")
                assert data, f"{self.stack} ended ({self.process.wait(5)}):\n{self.text}"
        return found


@contextmanager
def running(
    stack: str, device: str, address: str, errand: str, offload: str = "none"
) -> Iterator[End]:
    """A stack's program at one end; Plumb's has to end with every packet in its pool."""
    words = ["setpriv", "--pdeathsig", "KILL", STACKS[stack](), "--tap", device]
    words += ["--address", address, "--netmask", "255.255.255.0", "--gateway", "0.0.0.0"]
    words += ["--offload", offload] if stack == "plumb" else []
    process = subprocess.Popen(
        words,
        env={**os.environ, "EXCHANGE": errand},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        end = End(stack, process)
        end.wait_for(READY, READY_S)
        yield end
        process.terminate()
        status = process.wait(5)
        assert stack != "plumb" or status == 0, process.stdout.read().decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def lossy_length(peer: str) -> int:
    """Bytes of a run that loses frames: with a window of four segments lwIP has no duplicate
    acknowledgements to go by, and waits 1.5 s for each that it lost."""
    return 96 << 10 if peer == "lwip-stock" else 1 << 20


def exchange(names: tuple[str, str], length: int, offload: str = "none") -> None:
    """One exchange between a server and a client, over what joins their devices."""
    listen = f"listen {PORT} {length} {SEED}"
    connect = f"connect 10.0.3.1 {PORT} {length} {SEED + 1}"
    with running(names[0], "interop0", "10.0.3.1", listen, offload) as server:
        with running(names[1], "interop1", "10.0.3.2", connect, offload) as caller:
            one = caller.wait_for(TOLD, LIMIT_S).groups()
            other = server.wait_for(TOLD, LIMIT_S).groups()
    assert one[0] == other[0] == str(length)
    assert one[:2] == other[2:], f"{names[1]} to {names[0]}"
    assert other[:2] == one[2:], f"{names[0]} to {names[1]}"
    assert one[1] != other[1]


def ends(peer: str, client: str) -> tuple[str, str]:
    """The server and the client."""
    return (peer, "plumb") if client == "plumb" else ("plumb", peer)


@needs_tap
@pytest.mark.parametrize("loss_percent", [0, 1])
@pytest.mark.parametrize("client", ["plumb", "peer"])
@pytest.mark.parametrize("peer", PEERS)
def test_what_one_sends_the_other_receives(peer: str, client: str, loss_percent: int):
    length = lossy_length(peer) if loss_percent else 4 << 20
    with Cable(("interop0", "interop1"), loss_percent, SEED) as cable:
        exchange(ends(peer, client), length)
    assert bool(cable.lost) == bool(loss_percent), f"{cable.lost} of {cable.carried} lost"


@needs_tap
@pytest.mark.parametrize("client", ["plumb", "peer"])
@pytest.mark.parametrize("peer", [*PEERS, "plumb"])
def test_what_is_left_to_the_device_reaches_a_peer_whole(peer: str, client: str):
    """Segments as one, and checksums: a switch does them for a peer that takes neither."""
    with Switch(("interop0", "interop1")):
        exchange(ends(peer, client), 4 << 20, "segments")
