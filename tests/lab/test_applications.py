# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The other applications: bytes that come back right, the self-test, the examples."""

import os
import random
import socket
import subprocess
import threading

import pytest
from helpers import needs_tap

from lab import build, run
from lab.board import KINDS, Board, Setup
from lab.network import Network, TapNetwork, UserNetwork

ECHO, CHARGEN, PERIOD = 7, 19, 95
EXAMPLES = ("tcp_server", "tcp_reference", "tcp_copy", "udp", "sockets")
BYTES = 1 << 20


@pytest.fixture(params=["zynq", "zynq-word", pytest.param("linux", marks=needs_tap)])
def board(request: pytest.FixtureRequest, capture):
    """A board with the echo services."""
    preset = request.param
    kind = KINDS[preset.partition("-")[0]]
    network: Network = UserNetwork(run.PORTS["echo"]) if kind.is_emulated else TapNetwork()
    try:
        setup = Setup(build.firmware(preset, "echo"), network, pcap=capture, keep_own_clock=False)
        with Board(kind, setup) as booted:
            booted.wait_ready()
            yield booted
            booted.check()
    finally:
        network.close()


def read_all(connection: socket.socket, length: int, into: bytearray) -> None:
    """Reads so many bytes, or until the end."""
    while len(into) < length:
        data = connection.recv(65536)
        if not data:
            return
        into += data


def test_every_byte_comes_back_over_tcp(board: Board):
    sent = random.Random(1).randbytes(BYTES)
    received = bytearray()
    endpoint = board.setup.network.endpoint(ECHO)
    with socket.create_connection(endpoint, 20) as connection:
        reader = threading.Thread(target=read_all, args=(connection, BYTES, received))
        reader.start()
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        reader.join(40)
        assert bytes(received) == sent
        assert connection.recv(1) == b"", "the board closes when it has echoed all"


def test_every_byte_of_a_known_pattern_arrives(board: Board):
    received = bytearray()
    with socket.create_connection(board.setup.network.endpoint(CHARGEN), 20) as connection:
        read_all(connection, BYTES, received)
    pattern = bytes(32 + n % PERIOD for n in range(PERIOD)) * (len(received) // PERIOD + 1)
    assert len(received) >= BYTES
    assert received == pattern[: len(received)]


def test_datagrams_of_every_size_come_back(board: Board):
    endpoint = board.setup.network.endpoint(ECHO)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2)
        for size in [*range(0, 70), 511, 512, 1023, 1471, 1472]:
            payload = random.Random(size).randbytes(size)
            assert exchange(client, endpoint, payload) == payload, size


def test_sockets_wait_on_bare_metal(capture):
    """The server is one thread of control, which blocks in each call."""
    network = UserNetwork(run.PORTS["sockets"])
    setup = Setup(
        build.firmware("zynq", "sockets"), network, pcap=capture, keep_own_clock=False
    )
    try:
        with Board(KINDS["zynq"], setup) as board:
            board.wait_ready()
            test_every_byte_comes_back_over_tcp(board)
            endpoint = network.endpoint(ECHO)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.settimeout(2)
                for size in (0, 1, 1472, 3000):
                    payload = random.Random(size).randbytes(size)
                    assert exchange(client, endpoint, payload) == payload, size
            board.check()
    finally:
        network.close()


def told(said: str) -> list[str]:
    """The commands that a user is told to type, a line for each."""
    return [line.strip() for line in said.splitlines() if line.startswith("  ")]


def test_what_a_user_is_told_to_type_works(board: Board, capsys: pytest.CaptureFixture[str]):
    network = board.setup.network
    run.explain("echo", network, os.getpid())
    answers = []
    for command in told(capsys.readouterr().out):
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20
        )
        assert done.returncode == 0, (command, done.stdout)
        answers.append(done.stdout)
    if isinstance(network, TapNetwork):
        assert b" 0% packet loss" in answers.pop(0)
    assert answers[:3] == [b"hello\n", b"hello\n", b""]
    assert answers[3].startswith(b" !\"#$%&'()*+,-./0123456789")


def exchange(client: socket.socket, endpoint: tuple[str, int], payload: bytes) -> bytes | None:
    """One datagram there and back; the first may be lost while addresses are resolved."""
    for _ in range(3):
        client.sendto(payload, endpoint)
        try:
            return client.recv(4096)
        except TimeoutError:
            continue
    return None


def test_sudo_is_for_who_came_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(TapNetwork, "__post_init__", lambda network: None)
    monkeypatch.delenv("SUDO_USER", raising=False)
    run.explain("iperf", TapNetwork(), 1)
    assert all(command.startswith("nsenter -t 1 -n ") for command in told(capsys.readouterr().out))
    monkeypatch.setenv("SUDO_USER", "somebody")
    run.explain("iperf", TapNetwork(), 1)
    commands = told(capsys.readouterr().out)
    assert all(command.startswith("sudo nsenter -t 1 -n ") for command in commands)


def test_iperf_both_ways_is_explained_where_it_takes_more(capsys: pytest.CaptureFixture[str]):
    run.explain("iperf", UserNetwork(run.PORTS["iperf"]), 1)
    assert "-r and -d need -L ANOTHER_PORT" in capsys.readouterr().out


@pytest.mark.parametrize("preset", ["zynq", "zynq-word"])
def test_the_self_test_passes_on_the_trapping_board(preset: str):
    setup = Setup(build.firmware(preset, "selftest"), UserNetwork(), keep_own_clock=False)
    with Board(KINDS["zynq"], setup) as board:
        while not board.has_ended:
            before = len(board.console.lines)
            assert board.pump(60) or board.has_ended, "silent for a minute"
            board.check_faults()
            assert len(board.console.lines) < before + 10000
        said = "\n".join(board.console.lines)
        assert "selftest: passed" in said and "FAILED" not in said, said
        assert board.console.exit_status == 0


@pytest.mark.parametrize("preset", ["host-gcc", "host-clang"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_and_says_what_it_did(example: str, preset: str):
    program = build.preset(preset) / f"examples/example_{example}"
    assert os.access(program, os.X_OK)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
