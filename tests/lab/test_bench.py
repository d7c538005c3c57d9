# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The bench from end to end, as a user runs it."""

import json
import subprocess

import pytest
from browser import PHONE, look
from helpers import MISSED, needs_tap, plumb

from lab.measure import CASES
from lab.records import FIELDS, find, read

VARIED = [
    ("copy", "tcp_rx"),
    ("reference", "tcp_tx"),
    ("hw-checksum", "tcp_rx"),
    ("hw-checksum", "tcp_tx"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory):
    """One quick run on zynq, with a capture."""
    folder = tmp_path_factory.mktemp("bench")
    capture = ("--pcap", folder / "frames.pcap")
    done = plumb("bench", "--quick", "--out", folder, *capture, limit_s=900)
    return done, folder


def test_it_meets_its_goals(run):
    """All but those that README.md names; these, and no others, end it with status 1."""
    done, folder = run
    goals = {r.case: r.value for r in read(folder / "results.jsonl") if r.experiment == "goal"}
    unmet = {what for what, is_met in goals.items() if not is_met}
    assert goals and {what.split(" ≤")[0] for what in unmet} == MISSED, done.stdout
    assert done.returncode == (1 if MISSED else 0), done.stdout
    assert done.stdout.count("NOT met") == len(MISSED)


def test_it_prints_what_was_measured_with_what(run):
    done, _ = run
    for expected in ("qemu-system-arm 7.", "arm-none-eabi-gcc", "-mcpu=cortex-a9", "iperf 2.1"):
        assert expected in done.stdout
    for name in ("TCP receive", "TCP transmit", "UDP receive", "UDP transmit"):
        assert name in done.stdout


def test_it_records_every_measurement(run):
    _, folder = run
    records = read(folder / "results.jsonl")
    for line in (folder / "results.jsonl").read_text().splitlines():
        assert list(json.loads(line)) == list(FIELDS)
    for case in CASES:
        for metric in ("throughput", "instructions_per_byte", "instructions_per_packet"):
            assert find(records, metric, case).value > 0, (case, metric)
        assert find(records, "misaligned_accesses", case).value == 0
    # The checksum reads what arrives; what is sent is copied with the checksum on the way.
    assert find(records, "touches_per_byte", "tcp_rx").value == pytest.approx(1, abs=0.001)
    assert find(records, "touches_per_byte", "tcp_tx").value == pytest.approx(2, abs=0.001)
    assert find(records, "text_bytes", "total").value > 0
    for variant, case in VARIED:
        ours = [r for r in records if r.variant == variant]
        for metric in ("instructions", "idle_instructions", "payload_bytes"):
            assert find(ours, metric, case).value > 0, (variant, case, metric)
    assert find(records, "instructions_per_packet", "udp_echo").value > 0


def test_it_records_where_the_instructions_went(run):
    _, folder = run
    lines = [json.loads(line) for line in (folder / "profile.jsonl").read_text().splitlines()]
    plain = [line["case"] for line in lines if line["variant"] == "default"]
    assert plain == [*CASES, "udp_echo"]
    varied = [(line["variant"], line["case"]) for line in lines if line["variant"] != "default"]
    assert varied == VARIED
    for line in lines:
        assert sum(f["instructions"] for f in line["functions"]) == line["instructions"]
        whole = line["instructions"] + line["idle_instructions"]
        assert sum(call[3] for call in line["calls"]) == whole


def test_it_leaves_a_page_to_look_at(run):
    done, folder = run
    assert f"to look at: {folder / 'report.html'}" in done.stdout
    seen = look(folder / "report.html", PHONE)
    assert (seen.requests, seen.console, seen.outside, seen.small) == ([], [], [], [])
    assert len(seen.charts) >= 5 and all(marks > 0 for marks in seen.charts)
    for record in read(folder / "results.jsonl"):
        assert record.case.partition(" ")[0] in seen.text and record.board in seen.text


def test_its_capture_opens_and_holds_the_transfers(run):
    _, folder = run
    fields = ["-Y", "tcp.port == 5001 || udp.port == 5001", "-T", "fields", "-e", "ip.proto"]
    done = subprocess.run(
        ["tshark", "-r", folder / "frames.pcap", "-c", "60000", *fields],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "6" in done.stdout.split()


@needs_tap
@pytest.mark.parametrize("board", ["zynq", "linux"])
def test_over_tap_it_reports_loss_and_jitter(board, tmp_path):
    done = plumb("bench", "--quick", "--tap", "--board", board, "--out", tmp_path, limit_s=900)
    assert "records: " in done.stdout, done.stdout
    records = read(tmp_path / "results.jsonl")
    for case in ("udp_rx", "udp_tx"):
        assert find(records, "udp_loss", case) is not None
        assert find(records, "jitter", case) is not None


def test_commands_are_listed_and_wrong_ones_refused():
    done = plumb()
    for command in ("bench", "test", "run", "doctor", "build"):
        assert command in done.stdout
    wrong = plumb("run", "nonsense")
    assert wrong.returncode == 2 and "there are:" in wrong.stdout
    assert plumb("bench", "--board", "toaster").returncode == 2


def test_doctor_finds_everything_here():
    done = plumb("doctor")
    assert done.returncode == 0 and "nothing is missing" in done.stdout
