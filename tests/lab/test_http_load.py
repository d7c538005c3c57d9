# SPDX-License-Identifier: Apache-2.0 OR MIT
"""apps/http under wrk: many requests at once, none of which goes wrong."""

import re
from collections.abc import Iterator

import pytest
import web

from lab.board import Board


@pytest.fixture(scope="module", params=web.KINDS)
def board(request: pytest.FixtureRequest) -> Iterator[Board]:
    """One for all tests of this file."""
    yield from web.serve(request.param, None)


@pytest.mark.parametrize("path", ["/", "/counters", "/bytes/20000"])
@pytest.mark.parametrize("count", [1, 10, 100])
def test_no_request_goes_wrong(board: Board, path: str, count: int):
    words = ["wrk", "-t1", f"-c{count}", "-d1s", "--timeout", "20s", web.url(board, path)]
    told = web.run(board, *words).decode()
    done = int(re.search(r"(\d+) requests in", told)[1])
    assert done >= count and "errors" not in told and "Non-2xx" not in told, told


def test_after_the_crowd_nothing_is_held(board: Board):
    web.wait_for_quiet(board)
    told = web.counters(board)
    assert told["http"]["refused"] == 0 and told["http"]["expired"] == 0, told["http"]
