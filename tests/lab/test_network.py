# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Both boards against real clients: iperf, ping, a DHCP server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import needs_tap

from lab import build, iperf
from lab.board import KINDS, Board, Setup
from lab.network import HOST_ADDRESS, Network, TapNetwork, UserNetwork

LIMIT_S = 30.0
BOARDS = {
    "zynq-user": ("zynq", "zynq", False),
    "zynq-word-user": ("zynq", "zynq-word", False),
    "zynq-tap": ("zynq", "zynq", True),
    "linux-tap": ("linux", "linux", True),
    "linux-tap-checksums": ("linux", "linux", True),
    "linux-tap-none": ("linux", "linux", True),
}
OFFLOADS = {"linux-tap-checksums": "checksums", "linux-tap-none": "none"}


ALL = [pytest.param(n, marks=needs_tap if t else ()) for n, (_, _, t) in BOARDS.items()]
# User-mode networking forwards no ICMP, and hides a client that is connected back to.
OVER_TAP = [pytest.param(n, marks=needs_tap) for n, (_, _, t) in BOARDS.items() if t]


@pytest.fixture(params=ALL)
def board(request: pytest.FixtureRequest, capture: Path) -> Iterator[Board]:
    """A board with iperf, its address known."""
    kind, preset, uses_tap = BOARDS[request.param]
    network: Network = TapNetwork() if uses_tap else UserNetwork((iperf.PORT,))
    try:
        setup = Setup(
            build.firmware(preset, "iperf"),
            network,
            pcap=capture,
            keep_own_clock=False,
            offload=OFFLOADS.get(request.param, ""),
        )
        with Board(KINDS[kind], setup) as booted:
            booted.wait_ready()
            yield booted
            booted.check()
            assert not booted.console.malformed
    finally:
        network.close()


def client(board: Board, *options: str, is_ok: bool = True) -> str:
    """Runs iperf against the board; its output."""
    process = iperf.start(board.setup.network, list(options))
    board.follow(process, LIMIT_S, f"iperf {' '.join(options)}")
    text = process.communicate()[0]
    assert not is_ok or process.returncode == 0, text
    assert "failed" not in text, text
    return text


ONE_WAY = {
    "tcp": (("-n", "4M"), "tcp_rx", 4 << 20),
    "tcp-timed": (("-t", "1"), "tcp_rx", 1 << 18),
    "tcp-parallel": (("-n", "1M", "-P", "4"), "tcp_rx", 4 << 20),
    "tcp-reverse": (("-n", "4M", "-R"), "tcp_tx", 4 << 20),
    "tcp-reverse-parallel": (("-n", "1M", "-R", "-P", "4"), "tcp_tx", 4 << 20),
    "udp": (("-u", "-b", "10M", "-n", "1M"), "udp_rx", 1 << 18),
    "udp-parallel": (("-u", "-b", "5M", "-n", "512K", "-P", "4"), "udp_rx", 1 << 18),
    "udp-reverse": (("-u", "-b", "10M", "-t", "1", "-R"), "udp_tx", 1 << 18),
}


@pytest.mark.parametrize("way", ONE_WAY)
def test_iperf(board: Board, way: str):
    options, case, at_least = ONE_WAY[way]
    text = client(board, *options)
    assert iperf.parse(text).mbit_per_s > 0, text
    board.wait(
        lambda: sum(t.bytes for t in board.console.transfers if t.case == case) >= at_least,
        5,
        f"no {at_least} bytes of {case} were reported",
    )


def test_a_udp_server_report_is_whole(board: Board):
    report = iperf.parse(client(board, "-u", "-b", "2M", "-n", "256K"))
    assert report.jitter_ms is not None
    assert report.datagrams and report.datagrams >= (256 << 10) // 1470
    assert report.lost == 0


@pytest.mark.parametrize("way", ["-r", "-d"])
@pytest.mark.parametrize("board", OVER_TAP, indirect=True)
def test_iperf_both_ways(board: Board, way: str):
    text = client(board, "-n", "1M", way)
    assert text.count("Mbits/sec") >= 2, text
    cases = lambda: {transfer.case for transfer in board.console.transfers}
    board.wait(lambda: cases() >= {"tcp_rx", "tcp_tx"}, 5, "both ways were not reported")


@pytest.mark.parametrize("board", OVER_TAP, indirect=True)
def test_ping(board: Board):
    words = ["ping", "-c", "5", "-i", "0.05", "-w", "10", board.setup.network.board_address]
    for size in ("0", "56", "1472"):
        done = subprocess.Popen([*words, "-s", size], stdout=subprocess.PIPE, text=True)
        board.follow(done, 15, "ping")
        assert " 0% packet loss" in done.communicate()[0]


@needs_tap
@pytest.mark.parametrize("kind", ["linux", "zynq"])
def test_an_address_comes_from_a_dhcp_server(kind: str, capture: Path, tmp_path: Path):
    network = TapNetwork(is_static=False)
    words = ["setpriv", "--pdeathsig", "KILL", "dnsmasq", "--keep-in-foreground", "--port=0"]
    words += ["--conf-file=/dev/null", f"--interface={network.name}", "--bind-interfaces"]
    words += ["--except-interface=lo", "--no-ping", "--user=root", "--dhcp-authoritative"]
    words += ["--dhcp-range=10.0.2.50,10.0.2.60,255.255.255.0,1h"]
    words += [f"--dhcp-leasefile={tmp_path / 'leases'}", f"--pid-file={tmp_path / 'pid'}"]
    server = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        firmware = build.firmware(KINDS[kind].presets["O2"], "iperf")
        setup = Setup(firmware, network, pcap=capture, keep_own_clock=False)
        with Board(KINDS[kind], setup) as board:
            board.wait_ready()
            network.board_address = board.console.address
            assert 50 <= int(board.console.address.rpartition(".")[2]) <= 60
            assert board.console.address in (tmp_path / "leases").read_text()
            client(board, "-n", "256K")
    finally:
        server.kill()
        server.wait()
        network.close()


# What is left to the device has no checksum yet where it is captured; and a tail that is one
# frame may be probed for before the one that acknowledges it is back.
SUMS = (
    " || tcp.analysis.retransmission || ip.checksum.status == 0 || tcp.checksum.status == 0"
    " || udp.checksum.status == 0"
)


@needs_tap
@pytest.mark.parametrize(("offload", "sums"), [("none", SUMS), ("segments", "")])
def test_the_wire_carries_nothing_malformed(capture: Path, offload: str, sums: str):
    network = TapNetwork()
    try:
        setup = Setup(build.firmware("linux", "iperf"), network, pcap=capture, offload=offload)
        with Board(KINDS["linux"], setup) as board:
            board.wait_ready()
            client(board, "-n", "1M")
            client(board, "-n", "1M", "-R")
            client(board, "-u", "-n", "128K", "-b", "10M")
    finally:
        network.close()
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    checks += ["-o", "ip.check_checksum:TRUE"]
    ours = f"ip.src != {HOST_ADDRESS}"
    wrong = f"{ours} && (_ws.malformed{sums})"
    assert not frames_with(capture, wrong, *checks)
    # Both ways, segments are one frame where that was asked for.
    for way in (ours, f"ip.src == {HOST_ADDRESS}"):
        assert bool(frames_with(capture, f"{way} && tcp.len > 1460")) == (offload == "segments")


def frames_with(capture: Path, condition: str, *options: str) -> str:
    """The frames that meet a condition of tshark's."""
    done = subprocess.run(
        ["tshark", "-r", capture, *options, "-Y", condition],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
