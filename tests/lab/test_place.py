# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The bench on a board at labgrid's coordinator: its own coordinator and exporter, on the
loopback, and behind them a rack with a board that happens to be emulated."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import plumb, processes_with, until
from rack import Rack

from lab import build, place
from lab.board import KINDS, Board, Setup
from lab.errors import LabError
from lab.iperf import PORT
from lab.network import UserNetwork, free_port
from lab.place import Place

TOOLS = Path(sys.prefix) / "bin"
LIMIT_S = 30.0
NAME = "shelf-3"

EXPORTED = """
shelf:
  NetworkSerialPort: {{host: 127.0.0.1, port: {serial}, speed: 115200, protocol: raw}}
  NetworkPowerPort:
    model: simplerest
    host: 'http://127.0.0.1:{switch}/relay/{{index}}/{{value}}'
    index: '0'
"""
ENVIRONMENT = """
targets:
  main:
    resources:
      RemotePlace: {{name: !template "$LG_PLACE"}}
    drivers:
      SerialDriver: {{}}
      NetworkPowerDriver: {{}}
options:
  coordinator_address: !template "$LG_COORDINATOR"
  plumb_stage: cp {{firmware}} {boot}
  plumb_address: 127.0.0.1
  plumb_forwards: {{{port}: {forwarded}}}
"""


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[None]:
    """A server for as long as it is needed."""
    words = ["setpriv", "--pdeathsig", "KILL", *command]
    with (folder / f"{Path(command[0]).name}.log").open("w") as log:
        server = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            server.kill()
            server.wait()


def client(coordinator: str, *words: str) -> str:
    """labgrid's own client."""
    done = subprocess.run(
        [TOOLS / "labgrid-client", "-x", coordinator, *words],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    return done.stdout + done.stderr


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def bench(tmp_path: Path):
    """A coordinator, an exporter and a rack: where, which environment, the rack."""
    network = UserNetwork((PORT,))
    coordinator = f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    with Rack(tmp_path, network) as rack:
        exported = tmp_path / "exported.yaml"
        exported.write_text(EXPORTED.format(serial=rack.serial_port, switch=rack.switch_port))
        environment = tmp_path / "environment.yaml"
        forwarded = network.forwards[PORT]
        environment.write_text(
            ENVIRONMENT.format(boot=rack.firmware, port=PORT, forwarded=forwarded)
        )
        serve = [str(TOOLS / "labgrid-coordinator"), "-l", coordinator]
        export = [str(TOOLS / "labgrid-exporter"), "-c", coordinator, "-n", "rack"]
        export += ["--hostname", "127.0.0.1", str(exported)]
        with running(serve, tmp_path):
            assert until(lambda: answers(int(coordinator.rpartition(":")[2])), LIMIT_S)
            with running(export, tmp_path):
                assert until(lambda: "shelf" in client(coordinator, "resources"), LIMIT_S)
                client(coordinator, "-p", NAME, "create")
                client(coordinator, "-p", NAME, "add-match", "rack/shelf/*")
                yield coordinator, environment, rack


def test_the_bench_runs_on_a_board_at_a_place(bench, tmp_path):
    coordinator, environment, rack = bench
    out = tmp_path / "out"
    where = ["--place", NAME, "--coordinator", coordinator, "--environment", environment]
    done = plumb("bench", *where, "--quick", "--out", out, limit_s=300)
    assert done.returncode == 0, done.stdout
    assert f"place {NAME} at {coordinator}" in done.stdout
    assert "Nothing counts instructions on a board like this" in " ".join(done.stdout.split())
    found = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    metrics = {(record["case"], record["metric"]): record["value"] for record in found}
    for case in ("tcp_rx", "tcp_tx", "udp_rx", "udp_tx"):
        assert metrics[case, "throughput"] > 0
        assert len((out / f"{case}.txt").read_text().splitlines()) > 10, "its profile"
    assert not any("instructions" in metric for _, metric in metrics)
    assert all(record["tools"]["emulator"].startswith("none: place") for record in found)
    assert not rack.has_power, "the board is off again"
    assert rack.switched.count(True) == 2, "once to measure, once to sample"
    assert "acquired: None" in client(coordinator, "-p", NAME, "show")


def test_a_place_that_somebody_has_is_left_to_them(bench):
    coordinator, environment, rack = bench
    client(coordinator, "-p", NAME, "acquire")
    with place.acquired(place.Place(NAME, coordinator, environment)):
        pass
    assert "acquired: None" not in client(coordinator, "-p", NAME, "show")
    assert not rack.switched


def test_a_board_that_says_nothing_is_switched_off(bench, tmp_path, monkeypatch):
    from lab import place_bench
    from lab.bench import Options

    coordinator, environment, rack = bench
    text = environment.read_text().replace("cp {firmware}", "cp /dev/null")
    environment.write_text(text)
    monkeypatch.setattr(place_bench, "BOOT_LIMIT_S", 3.0)
    where = place.Place(NAME, coordinator, environment)
    with pytest.raises(LabError, match="did not come up within 3 s"):
        place_bench.run(Options(repeat=1, out=tmp_path / "out"), where)
    assert not rack.has_power
    assert not processes_with(str(rack.firmware))
    assert "acquired: None" in client(coordinator, "-p", NAME, "show")


def test_a_coordinator_that_is_not_there_is_named():
    nowhere = f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    done = plumb("bench", "--place", NAME, "--coordinator", nowhere, "--quick", limit_s=120)
    assert done.returncode == 1
    assert f"place {NAME} at {nowhere}" in done.stdout


def test_an_environment_without_a_board_is_named(tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.write_text("targets: {}\n")
    setup = Setup(build.firmware("zynq", "iperf"), UserNetwork(), place=Place("", "", empty))
    with pytest.raises(LabError, match="^.*/empty.yaml has no target named main$"):
        Board(KINDS["zynq"], setup).__enter__()
