# SPDX-License-Identifier: Apache-2.0 OR MIT
"""When a board is said to hang, and when not."""

from collections.abc import Iterator
from itertools import chain, cycle, repeat

import pytest

from lab import watch


def is_hung(places: Iterator[str], seconds: int = 1000) -> bool:
    """Whether a board seen in these places is said to hang."""
    watched = watch.Watch(lambda: next(places))
    return any(watched.is_hung() for _ in range(seconds))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch):
    """Nothing is waited for."""
    monkeypatch.setattr(watch, "CONFIRMATION_PAUSE_S", 0)


def test_one_function_for_ever_is_a_hang():
    assert is_hung(repeat("app_poll"))


def test_not_before_its_time():
    assert not is_hung(repeat("app_poll"), watch.SAMPLES - 1)


@pytest.mark.parametrize("place", [watch.IDLE, ""])
def test_no_board_hangs_that_sleeps_or_is_nowhere_known(place: str):
    assert not is_hung(repeat(place))


def test_a_busy_board_does_not_hang_though_mostly_in_one_function():
    assert not is_hung(cycle(["copy"] * (watch.CONFIRMATIONS - 1) + ["plumb_poll"]))


def test_ten_times_by_chance_is_no_hang():
    chance = chain(["copy"] * (watch.SAMPLES + 50), cycle(["copy", "plumb_poll"]))
    assert not is_hung(chance)


def test_a_sign_of_life_begins_anew():
    watched = watch.Watch(lambda: "app_poll")
    for _ in range(20):
        assert not any(watched.is_hung() for _ in range(watch.SAMPLES - 1))
        watched.reset()
