# SPDX-License-Identifier: Apache-2.0 OR MIT
"""smoltcp as a process of this host over TAP: bench/peers/smoltcp, built by cargo.

What it depends on is pinned by Cargo.lock, fetched once into build/peers, and built from there
without the network.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from . import lock, tools
from .errors import LabError, MissingTool
from .paths import BUILD, ROOT

FOLDER = ROOT / "bench/peers/smoltcp"
HOME = BUILD / "peers/cargo"
TARGET = BUILD / "smoltcp"
VERSION = "0.14.0"
FETCH_LIMIT_S = 180
BUILD_LIMIT_S = 600


def fetch() -> None:
    """Fetches what the lock file names, unless it is here."""
    with lock.held(BUILD / "peers/.cargo.lock", "fetching smoltcp"):
        if not _run(["fetch", "--offline"], FETCH_LIMIT_S):
            return
        trouble = _run(["fetch"], FETCH_LIMIT_S)
    if trouble:
        raise MissingTool(
            "could not fetch smoltcp (is there a network?); try:\n"
            f"CARGO_HOME={HOME} cargo fetch --locked --manifest-path {FOLDER}/Cargo.toml\n"
            f"it said: {trouble}"
        )


@cache
def process() -> Path:
    """Builds the program: iperf, or the exchange of tests/interop."""
    fetch()
    with lock.held(BUILD / "smoltcp.lock", "building smoltcp"):
        trouble = _run(["build", "--release", "--offline"], BUILD_LIMIT_S)
    if trouble:
        raise LabError(f"building smoltcp failed:\n{trouble}")
    return TARGET / "release/peer"


def compiler() -> str:
    """What compiles it."""
    return "rustc " + tools.first_version(tools.output_of(["rustc", "--version"]))


def _run(words: list[str], limit_s: float) -> str:
    """Runs cargo; what went wrong, or an empty string."""
    cargo = shutil.which("cargo")
    if not cargo:
        raise MissingTool("smoltcp needs cargo; install it with:\napt-get install cargo-web")
    try:
        done = subprocess.run(
            [cargo, *words, "--locked", "--manifest-path", str(FOLDER / "Cargo.toml")],
            env={**os.environ, "CARGO_HOME": str(HOME), "CARGO_TARGET_DIR": str(TARGET)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    return done.stdout.strip() if done.returncode else ""
