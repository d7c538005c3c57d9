# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The proofs in tests/proof hold, and each of them fails by the mutants that are named there."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from lab import cbmc
from lab.paths import ROOT

FOLDER = ROOT / "tests/proof"
PROOFS = tomllib.loads((FOLDER / "proofs.toml").read_text())
MUTANTS = [
    pytest.param(name, *mutant, id=f"{name}-{number}")
    for name, proof in PROOFS.items()
    for number, mutant in enumerate(proof["mutants"])
]
LIMIT_S = 1500  # each takes some seconds of a core that is its own
TURNS = 6
# Tables as small as they show anything; the bytes are the model's.
SMALL = {
    "ARP_ENTRIES": 2,
    "UDP_SOCKETS": 2,
    "TCP_CONNECTIONS": 2,
    "TCP_LISTENERS": 2,
    "TCP_HASH_BUCKETS": 2,
    "TCP_HANDSHAKES": 4,
}


def configuration() -> str:
    """The default one, with small tables and the byte routines in C."""
    text = (ROOT / "cmake/default/plumb_config.h").read_text()
    text, count = re.subn(r"#define CONFIG_PLUMB_BYTES_ASSEMBLY 1\n", "", text)
    assert count == 1
    for name, value in SMALL.items():
        text, count = re.subn(rf"(CONFIG_PLUMB_{name}) \d+", rf"\1 {value}", text)
        assert count == 1, name
    return text


def prove(name: str, tmp_path: Path, *more: str) -> subprocess.CompletedProcess:
    """What CBMC says; a source in tmp_path goes before the tree's."""
    proof = PROOFS[name]
    (tmp_path / "config").mkdir()
    (tmp_path / "config/plumb_config.h").write_text(configuration())
    own = [tmp_path / "src", tmp_path, tmp_path / "config"]
    folders = [*own, "apps/iperf", "src", "include", ".", "boards", FOLDER]
    sources = [f"tests/proof/{name}.c", "tests/proof/model.c", "src/packet/packet.c"]
    turns = ",".join(f"{loop}:{count}" for loop, count in proof.get("unwind", {}).items())
    command = [
        *cbmc.command(),
        *(word for folder in folders for word in ("-I", str(folder))),
        *(f"-D{define}" for define in proof.get("define", ())),
        *(*sources, *proof.get("sources", ())),
        *("--unwind", str(TURNS), *(("--unwindset", turns) if turns else ())),
        *("--no-malloc-may-fail", "--drop-unused-functions", "--slice-formula", *more),
    ]
    return subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "LC_ALL": "C"},
    )


def test_each_harness_is_run() -> None:
    harnesses = {path.stem for path in FOLDER.glob("*.c")} - {"model"}
    assert harnesses == set(PROOFS)


@pytest.mark.parametrize("name", PROOFS)
def test_it_holds(name: str, tmp_path: Path) -> None:
    done = prove(name, tmp_path)
    wrong = [line for line in done.stdout.splitlines() if "FAILURE" in line]
    assert (done.returncode, wrong) == (0, []), done.stdout[-4000:]
    assert "VERIFICATION SUCCESSFUL" in done.stdout


@pytest.mark.parametrize(("name", "file", "right", "wrong"), MUTANTS)
def test_a_mutant_fails(name: str, file: str, right: str, wrong: str, tmp_path: Path) -> None:
    text = (ROOT / file).read_text()
    assert text.count(right) == 1, "the mutant does not fit the source any more"
    mutant = tmp_path / file
    mutant.parent.mkdir(parents=True)
    mutant.write_text(text.replace(right, wrong))
    done = prove(name, tmp_path, "--stop-on-fail")
    assert done.returncode == 10, done.stdout[-4000:]
    assert "Violated property" in done.stdout
