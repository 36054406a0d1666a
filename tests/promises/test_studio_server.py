"""`guerdon view` answers every client with its token, whatever else is sent to it

It stands behind the limits of connections that `guerdon serve` has: headers, bodies and connections have an end, in bytes and
in seconds, and who has asked with the token stays before who has not. Loopback alone; a flood that takes the whole processor
is not promised against.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("fastapi")
from fastapi.exceptions import StarletteHTTPException as HTTPException

from guerdon.network.request_limits import LimitedBody

TOKEN = "a-token-for-tests"
HALF = b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
Tried = Callable[..., None]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A studio over an empty folder."""
    words = ("view", str(tmp_path_factory.mktemp("runs")), "--port", "0", "--json")
    studio = subprocess.Popen(
        [sys.executable, "-m", "guerdon.cli.main", *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "GUERDON_TOKEN": TOKEN},
    )
    try:
        assert studio.stdout is not None
        said = studio.stdout.readline().decode()
        found = re.search(r"127\.0\.0\.1:(\d+)", said)
        assert found, said
        yield int(found[1])
    finally:
        studio.send_signal(signal.SIGTERM)
        studio.wait(30)


def asked(port: int, seconds: float = 10.0) -> int:
    """The status of a proper request."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    with contextlib.closing(line):
        line.request("GET", "/api/about", headers={"Authorization": f"Bearer {TOKEN}"})
        return line.getresponse().status


def test_half_sent_headers_silence_nobody(port: int, tried: Tried) -> None:
    """600 connections that have sent half of their headers, more than there are places; a proper request after every 60."""
    with contextlib.ExitStack() as lines:
        for number in range(600):
            with contextlib.suppress(ConnectionError):  # turned away while it says hello
                line = lines.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
                line.sendall(HALF)
            if number % 60 == 59:
                assert asked(port) == 200
            tried()
    assert asked(port) == 200


def test_who_has_shown_the_token_stays(port: int) -> None:
    """A connection that has asked with the token, and is asked again when 300 strangers have come and gone."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(line), contextlib.ExitStack() as strangers:
        for _ in range(2):
            line.request("GET", "/api/about", headers={"Authorization": f"Bearer {TOKEN}"})
            answer = line.getresponse()
            assert answer.status == 200 and answer.read()
            for _ in range(300):
                with contextlib.suppress(ConnectionError):
                    stranger = strangers.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
                    stranger.sendall(HALF)


def test_headers_without_end(port: int) -> None:
    """A header of 300 KB, and 300 headers."""
    for rest in (b"x" * 300_000, b"a\r\n" + b"b: c\r\n" * 300):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
            with contextlib.suppress(ConnectionError):
                line.sendall(HALF + rest)
            said = b""
            with contextlib.suppress(ConnectionError):
                said = line.recv(1000)
            assert b" 431 " in said or not said
    assert asked(port) == 200


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("token", [TOKEN, "wrong"])
@pytest.mark.parametrize("path", ["/api/bench/open", "/api/no-such-place"])
def test_bodies_without_end(port: int, path: str, token: str, chunked: bool) -> None:
    """300 MB, announced and in chunks, with the token and without: refused before much of it is read."""
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {300 << 20}"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\n{length}\r\n\r\n"
    )
    piece = b" " * (1 << 20)
    piece = b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(head.encode())
        with contextlib.suppress(ConnectionError, TimeoutError):
            while sent < 300:
                line.sendall(piece)
                sent += 1
    assert sent < 64, "MiB were taken"
    assert asked(port) == 200


def test_a_body_that_is_refused_says_why(port: int) -> None:
    """5 MB with their length: 413 and one line."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(line):
        line.putrequest("POST", "/api/bench/open")
        for name, value in (("Authorization", f"Bearer {TOKEN}"), ("Content-Type", "application/json")):
            line.putheader(name, value)
        line.putheader("Content-Length", str(5 << 20))
        line.endheaders()
        answer = line.getresponse()
        assert answer.status == 413 and "larger than 4,194,304 bytes" in json.loads(answer.read())["error"]


def test_a_body_that_drips() -> None:
    """A byte now and then: it has so many seconds together, and not for each."""

    async def drips() -> dict[str, object]:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read() -> int:
        body = LimitedBody(drips, 1 << 20, "", seconds=0.3)  # type: ignore[arg-type]
        for count in range(1000):
            try:
                await body()
            except HTTPException as error:
                assert error.status_code == 408
                return count
        return 1000

    began = time.monotonic()
    assert asyncio.run(read()) < 10 and time.monotonic() - began < 10


def test_names_that_only_begin_like_this_machines(port: int, tried: Tried) -> None:
    """`Host: [::1].evil` and others, from a page that has its own name point here."""
    for name in (
        "[::1].evil",
        "[::1].evil:80",
        "[::1]evil",
        "127.0.0.1.evil",
        "localhost:80.evil",
        "localhost.:80",
        "[::1",
    ):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.closing(line):
            line.putrequest("GET", "/api/about", skip_host=True)
            line.putheader("Host", name)
            line.putheader("Authorization", f"Bearer {TOKEN}")
            line.endheaders()
            assert line.getresponse().status == 403, name
        tried()
