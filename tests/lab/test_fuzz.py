# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The libFuzzer programs, each for some seconds from its corpus; longer runs are counted."""

import subprocess
from pathlib import Path

import pytest

from lab import fuzz
from lab.paths import ROOT

LIMIT_S = 240
CORPUS_MOST = 200_000  # bytes, of all


@pytest.mark.parametrize("target", fuzz.TARGETS, ids=lambda target: target.name)
def test_nothing_is_found(target: fuzz.Target, tmp_path: Path) -> None:
    found = tmp_path / "corpus"
    found.mkdir()
    done = subprocess.run(
        fuzz.call(target, found, tmp_path, f"-runs={target.runs}", "-seed=1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert f"Done {target.runs} runs" in done.stdout


def test_every_program_is_a_target() -> None:
    programs = {
        path.stem
        for path in (ROOT / "fuzz").glob("*.c")
        if "LLVMFuzzerTestOneInput" in path.read_text()
    }
    assert programs == {target.name for target in fuzz.TARGETS}
    assert all(any(target.seeds.iterdir()) for target in fuzz.TARGETS)


def test_the_corpora_are_small() -> None:
    sizes = [path.stat().st_size for path in fuzz.CORPUS.rglob("*") if path.is_file()]
    assert sum(sizes) <= CORPUS_MOST


def test_executions_are_counted(tmp_path: Path) -> None:
    counts = fuzz.run(["iperf_header", "tcp_options"], 1000, tmp_path, slice_s=1)
    assert counts["iperf_header"].executions + counts["tcp_options"].executions >= 1000
    assert not counts["iperf_header"].found
    total = sum(count.executions for count in counts.values())
    assert fuzz.report(counts).splitlines()[-1].split() == ["all", f"{total:,}"]


def test_what_is_found_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that finds something has no more turns, and its input is named."""
    program = tmp_path / "fuzz/fuzz_json"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'for word; do case $word in -artifact_prefix=*) to=${word#*=} ;; esac; done\n'
        'echo x > "$to/crash-1"\necho stat::number_of_executed_units: 7\nexit 77\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(fuzz.build, "preset", lambda name: tmp_path)
    counts = fuzz.run(["json"], 10**9, tmp_path / "out", slice_s=1)
    assert counts["json"].executions == 7
    assert [path.name for path in counts["json"].found] == ["crash-1"]
    assert "crash-1" in fuzz.report(counts)


def test_a_target_that_there_is_not() -> None:
    with pytest.raises(fuzz.NotUnderstood, match="tcp_states"):
        fuzz.target_named("nothing")
