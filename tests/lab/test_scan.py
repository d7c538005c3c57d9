# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A port scanner against a board: what is open is seen, and what comes next cannot be guessed."""

import re
import subprocess
import xml.etree.ElementTree as tree
from pathlib import Path

from helpers import needs_tap
import test_applications

from lab import build
from lab.board import KINDS, Board, Setup
from lab.network import TapNetwork

LIMIT_S = 150
LEAST_DIFFICULTY = 240  # of predicting a sequence number: eight times the bits it takes
TCP_OPEN, UDP_OPEN = {7, 9, 19}, {7}
TCP_PORTS, UDP_PORTS = "1-1024", "1-12,53,123,161"


def scan(board: Board, report: Path) -> str:
    """Runs nmap; its report, and what it prints."""
    ports = f"T:{TCP_PORTS},U:{UDP_PORTS}"
    words = ["nmap", "-n", "-Pn", "-sS", "-sU", "-O", "-d", "-T4", "-p", ports, "-oX", str(report)]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *words, board.setup.network.board_address],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output, _ = process.communicate(timeout=LIMIT_S)
    board.check()
    assert process.returncode == 0, output
    return output


def ports_of(host: tree.Element, protocol: str, state: str) -> set[int]:
    """The ports that were found so."""
    found = host.findall(f".//port[@protocol='{protocol}']")
    return {int(p.get("portid")) for p in found if p.find("state").get("state") == state}


@needs_tap
def test_a_scan_sees_what_is_there_and_no_pattern(capture: Path, tmp_path: Path):
    network = TapNetwork()
    try:
        setup = Setup(build.firmware("linux", "echo"), network, pcap=capture, offload="none")
        with Board(KINDS["linux"], setup) as board:
            board.wait_ready()
            output = scan(board, tmp_path / "report.xml")
            host = tree.parse(tmp_path / "report.xml").getroot().find("host")
            assert ports_of(host, "tcp", "open") == TCP_OPEN
            assert ports_of(host, "tcp", "filtered") == set(), "a closed port is reset"
            answered = ports_of(host, "udp", "open") | ports_of(host, "udp", "open|filtered")
            assert answered == UDP_OPEN
            assert int(host.find("tcpsequence").get("index")) >= LEAST_DIFFICULTY
            print_of = re.sub(r"\nOS:|\s", "", output)
            sequence = re.search(r"SEQ\(SP=([0-9A-F]+)%GCD=([0-9A-F]+)%ISR=", print_of)
            assert sequence and int(sequence[1], 16) >= LEAST_DIFFICULTY and sequence[2] == "1"
            test_applications.test_every_byte_comes_back_over_tcp(board)
            assert board.stop() == 0, board.console.last()
    finally:
        network.close()
