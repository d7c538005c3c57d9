# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The libFuzzer programs, each for some seconds from its corpus."""

import subprocess
from pathlib import Path

import pytest

from lab import build
from lab.paths import ROOT

RUNS, LONGEST = 3000, 4096  # but for these:
OTHERS = {"bytes_chain": (30000, 1200), "reassembly": (3000, 400)}
LIMIT_S = 240
NAMES = sorted(path.stem for path in (ROOT / "fuzz").glob("*.c"))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found(name: str, tmp_path: Path) -> None:
    program = build.preset("fuzz") / f"fuzz/fuzz_{name}"
    runs, longest = OTHERS.get(name, (RUNS, LONGEST))
    found = tmp_path / "corpus"
    found.mkdir()
    done = subprocess.run(
        [
            *(program, f"-runs={runs}", "-seed=1", f"-max_len={longest}"),
            *(found, ROOT / "fuzz/corpus" / name),
        ],
        cwd=tmp_path,  # where a crash leaves its input
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert f"Done {runs} runs" in done.stdout
