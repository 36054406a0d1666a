"""`guerdon serve` answers every valid request, whatever else is sent to it.

Headers, bodies, connections, answers that nobody takes and lines of its log all have an end, in bytes and in seconds; who has
asked with the token stays before who has not. A flood that takes the whole processor or the network's width is not promised
against: between machines a proxy stands in front.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serving import TOKEN, serving, until

pytest.importorskip("fastapi")
ROOT = Path(__file__).parents[2]

HEAD = f"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
BODY = '{"samples": [{"completion": "7"}]}'
ASKED = f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n{BODY}".encode()


PLACES = 80
HELD = """
import asyncio
from pathlib import Path


async def held(completion):
    Path(completion).touch()
    while not Path("gate").exists():
        await asyncio.sleep(0.005)
    return float(completion)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with little patience."""
    words = ("--connections", "24", "--headers", "1", "--timeout", "3", "--max-body", "0.02")
    with serving(tmp_path_factory.mktemp("served"), "plain", *words) as served:
        yield served


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("held")


@pytest.fixture(scope="module")
def patient(place):
    """A server that waits for everybody, with 80 places, though no more than 64 files might be open when it was started."""
    words = ("--connections", str(PLACES), "--headers", "600", "--at-once", str(PLACES))
    with serving(place, "held", *words, rewards=HELD, files=64) as served:
        (place / "gate").touch()
        yield served


@contextlib.contextmanager
def connected(served, *sent: bytes):
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as line:
        for each in sent:
            line.sendall(each)
        yield line


def heard(line: socket.socket) -> bytes:
    """All that comes until the other side closes; a reset ends it too."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while more := line.recv(65536):
            found += more
    return found


def answered(line: socket.socket) -> bytes:
    """One answer with scores."""
    found = b""
    while not found.endswith(b"}]}"):
        more = line.recv(65536)
        assert more, found
        found += more
    return found


def well(served) -> None:
    """It answers, to somebody new and rightly."""
    assert served.score("7").json["results"][0]["value"] == 7.0
    assert served.ask("/health", token=None).status == 200


# --- the crowd --------------------------------------------------------------------------------------------------------


def crowd(tmp_path, clients: int, seconds: int, slow: int, files: int) -> dict[str, float]:
    out = tmp_path / "numbers.json"
    words = ["--clients", clients, "--seconds", seconds, "--slow-headers", slow, "--files", files, "--out", out]
    command = [sys.executable, "-m", "bench.serve", "--reward", "plain", *map(str, words)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    print(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return json.loads(out.read_text())


@pytest.mark.slow
def test_clients_beside_slow_headers(tmp_path, tried):
    """30 clients and newcomers for a second beside 300 half-sent headers, with files for 128 connections."""
    seen = crowd(tmp_path, clients=30, seconds=1, slow=300, files=256)
    assert seen["wrong"] == seen["lost"] == seen["refused"] == seen["shut_out"] == 0
    assert seen["answered"] >= 30 and seen["shown_out"] >= 300 - 128
    tried(int(seen["answered"]))


@pytest.mark.slow
def test_two_hundred_clients_beside_a_thousand_slow_headers(tmp_path, tried):
    """200 clients and newcomers for 60 s beside 1,000 dripping headers, with files for 768 connections."""
    seen = crowd(tmp_path, clients=200, seconds=60, slow=1000, files=1024)
    assert seen["wrong"] == seen["lost"] == seen["refused"] == seen["shut_out"] == 0
    assert seen["answered"] >= 200 and seen["shown_out"] >= 1000
    tried(int(seen["answered"]))


def test_the_limit_on_open_files_is_raised(patient, tried):
    """A limit of 64 open files at the start, and as many connections that say nothing as there are places but one."""
    with contextlib.ExitStack() as stack:
        for _ in range(PLACES - 1):
            stack.enter_context(connected(patient))
            tried()
        well(patient)
        assert patient.metric('guerdon_turned_away_total{status="503"}') == 0


# --- who stays --------------------------------------------------------------------------------------------------------


def test_who_asked_with_the_token_stays_before_who_did_not(patient, tried):
    """A full house of strangers, some of which asked for `/health`, around one connection that had shown the token."""
    with contextlib.ExitStack() as stack:
        known = stack.enter_context(connected(patient, ASKED))
        assert b'"value": 7.0' in answered(known)
        for n in range(2 * PLACES):
            asked = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" if n % 2 else b"GET /health HT"
            stack.enter_context(connected(patient, asked))
            tried()
        until(lambda: patient.metric('guerdon_turned_away_total{status="503"}') >= PLACES)
        known.sendall(ASKED)
        assert b'"value": 7.0' in answered(known)


def test_a_request_under_way_is_never_given_up(patient, place):
    """Every place taken by a request that is being scored, and somebody new."""
    (place / "gate").unlink()
    numbers = range(10, 10 + PLACES)
    with contextlib.ExitStack() as stack:
        lines = [
            stack.enter_context(connected(patient, ASKED.replace(b'"7"', b'"%d"' % n).replace(b": 34", b": 35")))
            for n in numbers
        ]
        until(lambda: all((place / str(n)).exists() for n in numbers))
        with connected(patient) as newcomer:
            told = heard(newcomer)
        assert told.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in told
        (place / "gate").touch()
        assert all(b'"value": %d.0' % n in answered(line) for n, line in zip(numbers, lines, strict=True))


# --- what never ends --------------------------------------------------------------------------------------------------

ENDLESS = {
    "nothing": (b"", b"408"),
    "half a first line": (b"POST /sco", b"408"),
    "half of the headers": (HEAD.encode(), b"408"),
    "half a body": (ASKED[:-5], b"408"),
    "half a chunk": (f"{HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\n{{".encode(), b"408"),
    "half a body without the token": (ASKED[:-5].replace(TOKEN.encode(), b"wrong"), b"401"),
}


@pytest.mark.slow
def test_whatever_never_ends_is_ended(server, tried):
    """Silence, half a line, half of the headers, half a body, half a chunk: all at once."""
    with contextlib.ExitStack() as stack:
        lines = {name: stack.enter_context(connected(server, sent)) for name, (sent, _) in ENDLESS.items()}
        for name, line in lines.items():
            told = heard(line)
            assert told.startswith(b"HTTP/1.1 " + ENDLESS[name][1]), (name, told)
            tried()
    well(server)


@pytest.mark.slow
def test_drips_do_not_buy_time(server):
    """A byte every 50 ms for as long as the server listens: of first headers, of later ones, of a body that nobody reads."""
    endless = b"GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n"
    for begun in (b"GET / HTTP/1.1\r\nX: ", ASKED + b"GET / HTTP/1.1\r\nX: ", endless):
        with connected(server, begun) as line, pytest.raises(ConnectionError):
            for _ in range(4000):
                line.sendall(b"x")
                time.sleep(0.05)
    well(server)


@pytest.mark.slow
def test_answers_that_nobody_takes_are_thrown_away(server):
    """One request after another, and never a byte of the answers read."""
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n" % (b"x" * 8000)
    with connected(server) as line, pytest.raises(ConnectionError):
        line.settimeout(300)
        for _ in range(10_000):
            line.sendall(asked)
    well(server)


# --- what is no request -----------------------------------------------------------------------------------------------

CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n".encode()
NO_REQUESTS = {
    "garbage": (b"\x00\xff\x1b[2J garbage\r\n\r\n", {400}),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50, {400}),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    "HTTP/9": (b"GET / HTTP/9.9\r\n\r\n", {400}),
    "a first line of 1 MB": (b"GET /" + b"a" * (1 << 20), {431}),
    "a header of 1 MB": (b"GET / HTTP/1.1\r\nX: " + b"a" * (1 << 20), {431}),
    "a first line of 100 kB, at once": (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", {431}),
    "101 headers": (b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n", {431}),
    "100,000 headers": (b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", {431}),
    "headers after the body": (CHUNKED + b"\r\n1\r\n{\r\n0\r\n" + b"X: y\r\n" * 100_000, {400, 431}),
    "a length below 0": (HEAD.encode() + b"Content-Length: -1\r\n\r\n", {400}),
    "a length that is none": (HEAD.encode() + b"Content-Length: \xb2\r\n\r\n", {400}),
    "a length of 10^30": (HEAD.encode() + b"Content-Length: 1" + b"0" * 30 + b"\r\n\r\n", {400}),
    "a length of 10^15": (
        HEAD.encode() + b"Expect: 100-continue\r\nContent-Length: 1" + b"0" * 15 + b"\r\n\r\n",
        {413},
    ),
    "two lengths": (HEAD.encode() + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", {400}),
    "a length and chunks": (CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n", {400}),
    "chunks of no size": (CHUNKED + b"\r\nzz\r\n", {400}),
    "a chunk of 10^30": (CHUNKED + b"\r\n" + b"f" * 30 + b"\r\n", {400}),
    "CONNECT": (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "OPTIONS *": (b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", {400, 401}),
    "a path that is no ASCII": (b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "no path": (b"GET http://a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", {400, 401}),
    "a NUL in a header": (b"GET / HTTP/1.1\r\nX: \x00\r\n\r\n", {400}),
    "a websocket": (
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        {401},
    ),
    "5,000 requests at once": (b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" * 5000, {200, 400}),
    "JSON 100,000 deep": (HEAD.encode() + b"Connection: close\r\nContent-Length: 20000\r\n\r\n" + b"[" * 20_000, {400}),
}


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_is_no_request_is_refused(server, name):
    """Garbage, TLS, HTTP/2, huge lines and headers, lengths that are none or contradict, endless chunks, deep JSON."""
    sent, statuses = NO_REQUESTS[name]
    with connected(server) as line:
        with contextlib.suppress(ConnectionError):
            line.sendall(sent)
        told = heard(line)
    assert {int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", told)} <= statuses, told[:300]
    well(server)


def test_resets_in_the_middle(server, tried):
    """Connections that are reset after no byte, half a request and a whole one."""
    for n in range(90):
        with connected(server, (b"", ASKED[:40], ASKED)[n % 3]) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        tried()
    well(server)


# --- what it writes down ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_log_does_not_grow_with_what_is_sent(server, tried):
    """300 bad requests with escape sequences for a terminal in them."""
    for n in range(300):
        bad = b"\x1b]0;owned\x07\x1b[2J" if n % 2 else b"GET /%1b%5b2J HTTP/1.1\r\n\x1b[2J: a\r\n\r\n"
        with connected(server, bad) as line:
            heard(line)
        tried()
    well(server)
    server.process.send_signal(signal.SIGTERM)
    log = server.process.stderr.read()
    assert server.process.wait(timeout=600) == 0
    assert "more entries are omitted" in log
    assert len(log.splitlines()) < 100 and len(log) < 10_000
    assert all(c.isprintable() or c == "\n" for c in log)
