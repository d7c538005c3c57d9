# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boards that fault, hang, or never say anything; and what an end leaves running."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers import PLUMB, command_lines, needs_tap, plumb, processes_with, until

from lab import build, drivers, iperf, tools
from lab.board import KINDS, Board, Setup
from lab.errors import BoardError, LabError
from lab.network import TapNetwork, UserNetwork
from lab.paths import ROOT


def test_a_fault_is_explained():
    done = plumb("run", "fault_abort", limit_s=120)
    assert done.returncode == 1, done.stdout
    assert "fault: data_abort at address 0x" in done.stdout
    assert ", an alignment fault\n" in done.stdout
    assert "fault_abort.c:" in done.stdout, "the program counter's source line"
    assert "r0=0x" in done.stdout
    assert "last lines of the console" in done.stdout


@pytest.mark.parametrize("board", ["zynq", pytest.param("linux", marks=needs_tap)])
def test_an_application_that_ends_with_status_0_is_a_success(board):
    done = plumb("run", "selftest", "--board", board)
    assert "selftest: passed" in done.stdout
    assert done.returncode == 0, done.stdout
    assert "ended by itself" not in done.stdout


def test_an_end_without_a_status_is_a_failure(tmp_path):
    mark = tmp_path / "frames.pcap"
    lab = start("run", "iperf", "--pcap", mark)
    try:
        assert until(lambda: "Ctrl-C" in lab.stdout.readline(), 120)
        (emulator,) = [p for p, c in processes_with(str(mark)).items() if c.startswith("qemu")]
        os.kill(emulator, signal.SIGKILL)
        assert lab.wait(20) == 1
        assert "ended by itself" in lab.stdout.read()
    finally:
        lab.kill()
        lab.stdout.close()


def test_a_board_that_says_nothing_is_given_up():
    setup = Setup(build.firmware("zynq", "fault_silent"), UserNetwork())
    with Board(KINDS["zynq"], setup) as board, pytest.raises(BoardError) as caught:
        board.wait_ready(3)
    assert "did not come up within 3 s" in str(caught.value)
    assert "it is at pc 0x" in str(caught.value)


def test_a_board_that_hangs_is_given_up_with_its_place():
    network = UserNetwork((iperf.PORT,))
    setup = Setup(build.firmware("zynq", "fault_hang"), network)
    with Board(KINDS["zynq"], setup) as board:
        board.wait_ready()
        # More than the buffers between here and the board hold.
        client = iperf.start(network, ["-n", "256M"])
        with pytest.raises(BoardError) as caught:
            board.follow(client, 3, "iperf")
        assert client.returncode is not None
    assert "hangs: no end of iperf within 3 s" in str(caught.value)
    assert "fault_hang.c" in str(caught.value), "the source line it hangs at"


def test_a_run_that_hangs_ends_with_its_place():
    done = plumb("run", "fault_hang", limit_s=60)
    assert done.returncode == 1, done.stdout
    assert "board zynq: hangs" in done.stdout
    assert "app_poll" in done.stdout and "fault_hang.c" in done.stdout
    assert "last lines of the console" in done.stdout


def test_an_emulator_that_does_not_start_says_why(tmp_path):
    setup = Setup(tmp_path / "nothing.elf", UserNetwork())
    with pytest.raises(BoardError, match="could not load kernel"):
        Board(KINDS["zynq"], setup).__enter__()


def test_a_frozen_emulator_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(drivers, "ANSWER_LIMIT_S", 1)
    network = UserNetwork((iperf.PORT,))
    mark = tmp_path / "frames.pcap"
    setup = Setup(build.firmware("zynq", "iperf"), network, pcap=mark)
    with Board(KINDS["zynq"], setup) as board:
        board.wait_ready()
        client = iperf.start(network, ["-t", "60"])
        (emulator,) = [p for p, c in processes_with(str(mark)).items() if c.startswith("qemu")]
        os.kill(emulator, signal.SIGSTOP)
        with pytest.raises(BoardError) as caught:
            board.follow(client, 2, "iperf")
    assert "hangs: no end of iperf within 2 s" in str(caught.value)
    assert "where it is is unknown: the emulator does not answer" in str(caught.value)
    assert not processes_with(str(mark))


def in_front(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """Puts another program in the place of one that is installed."""
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_an_emulator_that_never_answers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(drivers, "START_LIMIT_S", 1)
    in_front(tmp_path, monkeypatch, "qemu-system-arm", "exec sleep 60")
    setup = Setup(build.firmware("zynq", "iperf"), UserNetwork())
    begun = time.monotonic()
    with pytest.raises(BoardError, match="the emulator does not answer"):
        Board(KINDS["zynq"], setup).__enter__()
    assert time.monotonic() - begun < 20


def test_a_client_that_says_what_is_no_text_is_shown(tmp_path, monkeypatch):
    in_front(tmp_path, monkeypatch, "iperf", r"printf '\377\376 rubbish'")
    assert "rubbish" in tools.output_of(["iperf"])
    client = iperf.start(UserNetwork((iperf.PORT,)), [])
    with pytest.raises(LabError, match="reported nothing:\n.*rubbish"):
        iperf.parse(client.communicate(timeout=20)[0])


def start(*words: object) -> subprocess.Popen[str]:
    """Starts the lab, in a process group of its own as a shell does."""
    return subprocess.Popen(
        [PLUMB, *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)]
)
def test_an_interrupted_run_leaves_nothing_running(number, status, tmp_path):
    mark = tmp_path / "frames.pcap"
    lab = start("run", "iperf", "--pcap", mark)
    try:
        assert until(lambda: "Ctrl-C" in lab.stdout.readline(), 120)
        assert any("qemu-system-arm" in line for line in processes_with(str(mark)).values())
        os.killpg(lab.pid, number)
        assert lab.wait(10) == status
        assert until(lambda: not processes_with(str(mark)), 3), processes_with(str(mark))
    finally:
        lab.kill()
        lab.stdout.close()


def test_an_interrupt_ends_a_run_started_in_the_background_of_a_script():
    script = f'"{PLUMB}" run iperf & echo $!; wait $!'  # sh lets such a one ignore SIGINT
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    lab = int(shell.stdout.readline())
    try:
        assert until(lambda: "Ctrl-C" in shell.stdout.readline(), 120)
        os.kill(lab, signal.SIGINT)
        assert shell.wait(10) == 130
    finally:
        if shell.poll() is None:
            os.kill(lab, signal.SIGKILL)
            shell.wait()
        shell.stdout.close()


@needs_tap
def test_an_interrupted_bench_leaves_nothing_running(tmp_path):
    mark = tmp_path / "frames.pcap"
    lab = start("bench", "--tap", "--repeat", 50, "--out", tmp_path / "out", "--pcap", mark)
    try:
        assert until(lambda: "qemu-system-arm" in str(processes_with(str(mark))), 120)
        space = os.readlink(f"/proc/{lab.pid}/ns/net")
        assert until(lambda: any("iperf -c" in line for line in in_space(space).values()), 60)
        os.killpg(lab.pid, signal.SIGINT)
        assert lab.wait(15) == 130, lab.stdout.read()
        assert until(lambda: not in_space(space), 3), in_space(space)
    finally:
        lab.kill()
        lab.stdout.close()


def in_space(space: str) -> dict[int, str]:
    """The processes in a network namespace."""
    found = {}
    for pid, line in command_lines().items():
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == space:
                found[pid] = line
        except OSError:
            continue
    return found


@needs_tap
def test_a_program_that_ends_is_noticed(tmp_path):
    network = TapNetwork()
    mark = tmp_path / "frames.pcap"
    try:
        setup = Setup(build.firmware("linux", "iperf"), network, pcap=mark)
        with Board(KINDS["linux"], setup) as board:
            board.wait_ready(10)
            os.kill(next(iter(processes_with(str(mark)))), signal.SIGTERM)
            with pytest.raises(BoardError, match="ended by itself"):
                board.wait(lambda: False, 5, "goes on")
    finally:
        network.close()
