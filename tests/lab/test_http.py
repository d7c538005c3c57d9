# SPDX-License-Identifier: Apache-2.0 OR MIT
"""apps/http against curl, and clients that are none."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import web
import wire
from web import counters, curl, url, wait_for_quiet

from lab.board import Board

HEAD_LIMIT_S, IDLE_LIMIT_S = 5.0, 15.0
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
HOST = "Host: board\r\n"


@pytest.fixture(scope="module", params=web.KINDS)
def board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Board]:
    """One for all tests of this file; in the end all that it has sent is right."""
    capture = tmp_path_factory.mktemp("http") / "all.pcap"
    yield from web.serve(request.param, capture)
    assert not wire.wrong_frames(capture)


def pattern(length: int) -> bytes:
    """What /bytes/N is made of."""
    return (ALPHABET * (length // 64 + 1))[:length]


# ---- curl ----


def test_the_page_is_the_file(board: Board):
    page = Path(__file__).parents[2] / "apps/http/files/index.html"
    assert curl(board, url(board, "/")) == page.read_bytes()


@pytest.mark.parametrize("version", ["--http1.0", "--http1.1", "--http2"])
def test_versions(board: Board, version: str):
    found = curl(board, version, "-D", "-", url(board, "/bytes/5"))
    head, _, body = found.partition(b"\r\n\r\n")
    kept = b"close" if version == "--http1.0" else b"keep-alive"
    assert head.startswith(b"HTTP/1.1 200 OK\r\n") and body == b"ABCDE"
    assert b"Connection: " + kept in head and b"Content-Length: 5" in head


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1460, 4096, 100_000, 3_000_000])
def test_bytes_are_right(board: Board, length: int):
    assert curl(board, url(board, f"/bytes/{length}")) == pattern(length)


def test_head_has_the_length_and_no_body(board: Board):
    for path in ("/", "/bytes/1000000", "/counters", "/none"):
        head = curl(board, "-I", url(board, path)).decode()
        assert head.endswith("\r\n\r\n") and re.search(r"Content-Length: [1-9]\d*\r\n", head), head
    twice = curl(board, "-I", url(board, "/bytes/7"), url(board, "/bytes/8"))
    assert twice.count(b"200 OK") == 2


def test_a_range_is_ignored(board: Board):
    told = curl(board, "-r", "2-3", "-w", "%{http_code}", url(board, "/bytes/6"))
    assert told == b"ABCDEF200"


def test_connections_are_kept(board: Board):
    urls = [url(board, path) for path in ("/bytes/10", "/none", "/counters", "/bytes/20", "/")]
    told = curl(board, "-w", "\n=%{num_connects}", *urls)
    assert re.findall(rb"\n=(\d)", told) == [b"1", b"0", b"0", b"0", b"0"]


def test_statuses(board: Board):
    cases = {
        "/none": 404, "/bytes/": 404, "/bytes/x": 404, "/bytes/-1": 404, "/bytes/1x": 404,
        "/bytes/9999999999999999999999": 404, "/?query": 200, "//": 404,
    }  # fmt: skip
    for path, status in cases.items():
        told = curl(board, "-o", "/dev/null", "-w", "%{http_code}", url(board, path))
        assert int(told) == status, path
    posted = ["-d", "x" * 5000, "-w", "%{http_code} %{num_connects} "]
    out = ["-o", "/dev/null", "-o", "/dev/null"]
    assert curl(board, *out, *posted, url(board, "/"), url(board, "/")) == b"405 1 405 0 "


def test_counters_are_the_stacks(board: Board):
    before = counters(board)
    curl(board, url(board, "/none"))
    after = counters(board)
    assert after["http"]["requests"] - before["http"]["requests"] == 2
    assert after["http"]["refused"] - before["http"]["refused"] == 1
    assert after["stack"]["tcp_opened"] - before["stack"]["tcp_opened"] == 2
    assert after["interface"]["counters"]["rx_frames"] > before["interface"]["counters"]["rx_frames"]
    assert after["uptime_us"] > before["uptime_us"]


# ---- requests by hand ----


def connect(board: Board) -> socket.socket:
    """A connection of one's own."""
    return socket.create_connection(board.setup.network.endpoint(web.PORT), 20)


def answers(board: Board, request: bytes) -> bytes:
    """All that comes until the board closes."""
    with connect(board) as connection:
        connection.sendall(request)
        return until_closed(connection)


def until_closed(connection: socket.socket) -> bytes:
    """All there is up to the end, or a reset."""
    found = b""
    while True:
        try:
            data = connection.recv(65536)
        except ConnectionResetError:
            return found
        if not data:
            return found
        found += data


def get(path: str, *fields: str) -> bytes:
    """A request."""
    return f"GET {path} HTTP/1.1\r\n{HOST}{''.join(f + chr(13) + chr(10) for f in fields)}\r\n".encode()


CLOSE = "Connection: close"
REFUSED = {
    400: (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", b"GET /\r\n\r\n"),
    413: (get("/", "Content-Length: 99999999"),),
    414: (b"GET /" + b"a" * 5000, get("/" + "a" * 1500)),
    431: (get("/", "X: " + "a" * 5000), get("/", *["X: y"] * 1000)),
    501: (get("/", "Transfer-Encoding: chunked"), b"BREW / HTTP/1.0\r\n\r\n"),
    505: (b"GET / HTTP/2.0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("status", REFUSED)
def test_what_is_malformed_is_refused_and_closed(board: Board, status: int):
    for request in REFUSED[status]:
        found = answers(board, request)
        assert found.startswith(f"HTTP/1.1 {status} ".encode()), (request[:60], found)
        assert b"Connection: close" in found and found.count(b"HTTP/1.1") == 1


def test_requests_in_a_row_are_answered_in_order(board: Board):
    lengths = [1, 70_000, 0, 5, 20_000, 64]
    found = answers(
        board,
        b"".join(get(f"/bytes/{n}") for n in lengths)
        + b"POST / HTTP/1.1\r\n" + HOST.encode() + b"Content-Length: 9\r\n\r\nGET / x\r\n"
        + get("/bytes/3", CLOSE) + get("/bytes/9"),
    )  # fmt: skip
    for length in lengths:
        head, _, found = found.partition(b"\r\n\r\n")
        assert b"200 OK" in head and f"Content-Length: {length}\r\n".encode() in head + b"\r\n"
        assert found[:length] == pattern(length)
        found = found[length:]
    head, _, found = found.partition(b"\r\n\r\n")
    assert b"405 " in head and b"Allow: GET, HEAD" in head
    assert found.startswith(b"Method Not Allowed")
    assert found.endswith(b"\r\n\r\nABC") and found.count(b"HTTP/1.1") == 1


def test_a_request_byte_by_byte(board: Board):
    with connect(board) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in get("/bytes/4", CLOSE):
            connection.send(bytes([byte]))
        assert until_closed(connection).endswith(b"\r\n\r\nABCD")


def test_an_answer_reaches_who_has_said_all(board: Board):
    with connect(board) as connection:
        connection.sendall(get("/bytes/300000"))
        connection.shutdown(socket.SHUT_WR)
        assert until_closed(connection).endswith(pattern(300000)[-1000:])


def test_who_goes_amid_an_answer_is_forgotten(board: Board):
    for _ in range(5):
        with connect(board) as connection:
            connection.sendall(get("/bytes/100000000"))
            connection.recv(1000)
    wait_for_quiet(board)


def test_the_slow_are_not_waited_for(board: Board):
    """A head that never ends, one that drips, silence, and an answer that nobody takes."""
    began = time.monotonic()
    with connect(board) as stuck, connect(board) as drip, connect(board) as silent:
        with connect(board) as deaf:
            stuck.sendall(b"GET / HTTP/1.1\r\nHost:")
            drip.sendall(b"G")
            deaf.sendall(get("/bytes/1000000000"))
            drip.settimeout(0.25)
            found = b""
            while not found and time.monotonic() - began < 2 * HEAD_LIMIT_S:
                drip.send(b"E")
                try:
                    found = drip.recv(1000)
                except TimeoutError:
                    pass
            assert HEAD_LIMIT_S - 0.5 < time.monotonic() - began < HEAD_LIMIT_S + 2.5
            assert found.startswith(b"HTTP/1.1 408 ")
            assert until_closed(stuck).startswith(b"HTTP/1.1 408 ")
            assert until_closed(silent) == b""
            assert IDLE_LIMIT_S - 0.5 < time.monotonic() - began < IDLE_LIMIT_S + 3
            wait_for_quiet(board)
    assert counters(board)["http"]["expired"] >= 4


def test_a_full_table_makes_room(board: Board):
    idle = [connect(board) for _ in range(web.MANY + 20)]
    assert curl(board, url(board, "/bytes/5")) == b"ABCDE"
    for connection in idle:
        connection.close()
    wait_for_quiet(board)
