# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sockets in threads under the thread sanitizer, which no program has beside the others."""

import os
import subprocess

from lab.paths import BUILD, ROOT

PROGRAM = "test_socket_threads"


def test_nobody_races():
    folder = BUILD / "host-tsan"
    subprocess.run(
        ["cmake", "--preset", "host-tsan", "-B", folder],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(
        ["cmake", "--build", folder, "--target", PROGRAM], check=True, stdout=subprocess.DEVNULL
    )
    done = subprocess.run(
        [folder / "tests/host" / PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
    )
    assert done.returncode == 0, done.stdout
