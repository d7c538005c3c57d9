# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transfers through impairments: one of each subject, and what is made of many."""

import os
from pathlib import Path

import pytest

from lab import build
from lab.experiments import impairment
from lab.experiments.base import Run
from lab.experiments.impairment import BOARD, PRESETS, Case, Transfer, Transfers, records_of
from lab.records import Record

SECONDS = 2


def result(megabits: float, **more: object) -> dict:
    """What the relay says of a transfer of a second."""
    return {"bytes": megabits * 125000, "elapsed_us": 1000000, "connected": 1, "ended": 0, **more}


def of(records: list[Record], metric: str, stack: str = "plumb") -> float:
    """The one value."""
    (found,) = (r.value for r in records if (r.metric, r.stack) == (metric, stack))
    return found


def test_the_median_is_compared_and_what_ended_is_counted(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(impairment, "tools_of", lambda folder: {})
    case = Case("loss", 0.1, 20, receives=True)
    assert case.name == "loss=0.1 delay=20 receiving"
    assert case.algorithms() == ("cubic",)
    found = [
        (Transfer(case, "plumb", "cubic", seed), result(megabits, ended=seed == 2))
        for seed, megabits in enumerate((10, 90, 1))
    ]
    found += [(Transfer(case, "linux", "cubic", seed), result(20)) for seed in range(3)]
    made = records_of(found, {name: tmp_path for name in PRESETS})
    assert of(made, "goodput") == 10 and of(made, "goodput", "linux") == 20
    assert of(made, "goodput_ratio") == 0.5
    assert of(made, "connections_lost") == 1 and of(made, "connections_lost", "linux") == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.parametrize("stack", ["plumb", "linux"])
@pytest.mark.parametrize("receives", [False, True])
def test_the_relay_loses_what_it_is_told_to_and_nothing_else(
    stack: str, receives: bool, tmp_path: Path
):
    folders = {name: build.preset(preset) for name, preset in PRESETS.items()}
    run = Run(tmp_path, is_quick=True, isas=(BOARD,))
    transfers = Transfers(folders, SECONDS, run, 2)
    whole = transfers.one(Transfer(Case("loss", 0, 5, receives), stack, "cubic", 1))
    assert whole["lost"] == [0, 0] and whole["connected"] and not whole["ended"]
    assert impairment.goodput(whole) > 80
    lossy = transfers.one(Transfer(Case("loss", 2, 5, receives), stack, "cubic", 1))
    share = sum(lossy["lost"]) / sum(lossy["frames"])
    assert 0.005 < share < 0.05
    assert 1 < impairment.goodput(lossy) < impairment.goodput(whole)
