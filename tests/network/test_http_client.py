"""The client of judges and served rewards: what it tries again, whom it asks through a proxy, and that it needs httpx alone."""

from __future__ import annotations

import asyncio
import itertools
import re
import sys

import pytest
from hostile import hostile, of, whole
from refusals import refusal
from toy_server import DROP, toy

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.network.addresses import check_address, in_one_line, key_in
from guerdon.network.client import BadResponse, Client, LostConnection
from guerdon.network.retrying import FailedTry, patience, try_patiently
from guerdon.rewards.asking.samples import Samples

ONE = {"results": [{"value": 1.0, "reason": "value", "detail": None, "components": {}}]}
BUSY = whole(b'{"error": "full"}', "429 Too Many Requests")


def post(url: str, most: int = 1000):
    async def ask():
        async with Client(url, at_once=1) as client:
            return await client.post("/a/b", b"{}", key="", most=most, seconds=30.0)

    return asyncio.run(ask())


def in_turn(*answers: bytes):
    """A different answer each time; b"" closes the connection."""
    left = list(answers)
    return hostile({"served": lambda: [left.pop(0)]})


def scored(url: str):
    return asyncio.run(gd.remote(f"{url}/served", timeout=30.0).score(Samples.of([{"completion": "4"}])))[0]


@pytest.mark.parametrize("first", [b"", BUSY, whole(b"", "503 Service Unavailable", "Retry-After: 0")])
@pytest.mark.slow
def test_a_served_reward_is_asked_again_where_that_may_help(first):
    with in_turn(first, first, of(ONE)) as server:
        assert scored(server.url).value == 1.0
        assert len(server.requests) == 3


def test_a_served_reward_that_breaks_is_not_asked_again():
    with in_turn(whole(b'{"error": "broken"}', "500 Internal Server Error"), of(ONE)) as server:
        outcome = scored(server.url)
    assert outcome.reason is Reason.FAILED and "500 broken" in outcome.detail["error"]


def test_a_server_that_stays_away_failed_and_a_busy_one_timed_out(monkeypatch):
    monkeypatch.setattr("guerdon.bridges.remote_reward.FIRST_PAUSE", 0.001)
    with in_turn(*[b""] * 6) as server:
        away = scored(server.url)
        assert len(server.requests) == 6
    assert away.reason is Reason.FAILED and "did not answer" in away.detail["error"]
    with in_turn(BUSY, whole(b'{"error": "full"}', "503 Service Unavailable", "Retry-After: 600")) as server:
        busy = scored(server.url)
    assert busy.reason is Reason.TIMED_OUT
    assert re.search(r"503 full, tried \d times, and another try would end after 30 s", busy.detail["error"])


def test_pauses_grow_and_end_before_the_time_does():
    async def tries(trying):
        times = []

        async def attempt(seconds):
            times.append(asyncio.get_running_loop().time())
            return FailedTry("no")

        return await try_patiently(trying, attempt), times

    last, times = asyncio.run(tries(patience(wait=0.01, retries=4)))
    assert last.error == "no, tried 5 times" and len(times) == 5
    for turn, (before, after) in enumerate(itertools.pairwise(times)):
        assert after - before >= 0.5 * 0.01 * 2**turn
    last, times = asyncio.run(tries(patience(wait=100.0, total=10.0)))
    assert last.error == "no, tried once, and another try would end after 10 s" and len(times) == 1


def test_no_more_is_read_than_was_agreed():
    with hostile({"a": lambda: [whole(b"x" * 5000)]}) as server:
        assert len(post(server.url, most=10_000).content) == 5000
        with pytest.raises(BadResponse, match="larger than 1,000 bytes"):
            post(server.url)


def test_a_connection_that_was_refused_says_so():
    with pytest.raises(LostConnection, match=r"^ConnectionRefusedError: .*127\.0\.0\.1"):
        post("http://127.0.0.1:9")


def test_one_connection_serves_one_request_after_another():
    with toy(lambda messages: "yes", faults=[DROP]) as server:

        async def ask():
            async with Client(server.url, at_once=1) as client:
                answers = []
                for _ in range(3):
                    try:
                        body = b'{"messages": []}'
                        answers.append(await client.post("/chat/completions", body, key="", most=10_000, seconds=30.0))
                    except LostConnection as error:
                        answers.append(error)
                return answers

        first, *others = asyncio.run(ask())
    assert isinstance(first, LostConnection) and [each.status for each in others] == [200, 200]
    assert server.connections == 2


def test_others_are_asked_through_the_proxy_of_the_environment_and_this_machine_directly(monkeypatch):
    with hostile({"a": lambda: [of("direct")], "": lambda: [of("by proxy")]}) as server:
        monkeypatch.setenv("http_proxy", server.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert post(server.url).content == b'"direct"'
        # a proxy is sent the whole address, whose first part is empty
        assert post("http://elsewhere.test").status == 200
        assert server.requests[-1].startswith(b"POST http://elsewhere.test/a/b HTTP/1.1")
        monkeypatch.setenv("http_proxy", "nonsense://[")
        with refusal(gd.UserError):
            post("http://elsewhere.test")


def test_an_address_holds_no_secret():
    for url in ("http://me:pw@host", "http://host?key=pw"):
        with pytest.raises(gd.UserError, match="token_env=NAME") as refused:
            gd.remote(url)
        assert "pw" not in str(refused.value)
    check_address("a.url", "https://host:8000/path", "http://host", "key_env")


def test_keys_and_lines(monkeypatch):
    assert key_in("") == key_in("A_VARIABLE_THAT_IS_NOT_SET") == ""
    monkeypatch.setenv("A_KEY", "two words")
    with refusal(gd.UserError, "A_KEY"):
        key_in("A_KEY")
    assert in_one_line("a\n b") == "a b" and len(in_one_line("a" * 500)) == 203


def test_without_httpx_one_line_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "guerdon.network.client")
    monkeypatch.setitem(sys.modules, "httpx", None)
    there = gd.remote("http://127.0.0.1:9")  # says nothing until it is asked
    with pytest.raises(gd.UserError, match=r"pip install 'guerdon\[remote\]'"):
        there.explain(completion="4")
