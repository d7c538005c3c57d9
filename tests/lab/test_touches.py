# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Touches of payload, of a program in which all are known."""

from pathlib import Path

import pytest
from helpers import bare_program, run_bare

from lab import variables
from lab.payload import Buffers, touched
from lab.profile import Firmware, Interval, Profile

HEAP = Buffers("heap", 0, copied_by=("copy",))
POOL = Buffers("pool", None, {"tcp": 4, "udp": 3})
RULES = {"receive": ("*:use_pool",)}


def compiled(folder: Path, *flags: str) -> Path:
    """The program."""
    return bare_program(folder, "touched.c", "-O1", *flags)


@pytest.fixture(scope="module")
def interval(tmp_path_factory: pytest.TempPathFactory) -> Interval:
    """Its one interval."""
    folder = tmp_path_factory.mktemp("touched")
    program = compiled(folder)
    profile = Profile(program, folder, Firmware(RULES, lambda program: (HEAP, POOL)))
    run_bare(program, profile.option())
    return profile.next(limit_s=1)


def of(interval: Interval, name: str, case: str) -> tuple[int, int]:
    """Loads and stores of one variable's payload."""
    counted = [buffers for buffers in interval.buffers if buffers["name"] == name]
    return touched(counted, interval.places, case)


def test_of_a_heap_what_a_copy_stored_is_payload(interval: Interval) -> None:
    assert of(interval, "heap", "tcp_rx") == (16 + 12, 16)


def test_of_a_buffer_what_is_behind_the_headers_is(interval: Interval) -> None:
    assert of(interval, "pool", "tcp_rx") == (3, 1)
    assert of(interval, "pool", "udp_rx") == (4, 2)


def test_all_of_it_is_a_transfer_s_touches(interval: Interval) -> None:
    assert interval.touches("tcp_tx") == 28 + 16 + 3 + 1


def test_memory_is_found_by_name(tmp_path: Path) -> None:
    names = ["heap", "pool", "use_pool:own", "own", "nothing"]
    for flags in ((), ("-flto",)):
        found = variables.find(compiled(tmp_path, *flags), names)
        sizes = {name: (memory.size, memory.row) for name, memory in found.items()}
        assert sizes == {"heap": (64, 1), "pool": (64, 16), "use_pool:own": (4, 2)}
