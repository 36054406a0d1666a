"""Whatever a server on the network sends, a score is right, or it is failed or timed out, with one line that says why.

A served reward (`gd.remote`) and a judge behind an endpoint have a time for the whole exchange and a bound for what is read,
and what they answer is held to what it should be. A server that gives wrong numbers, or bills more than it counts, is believed.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math

import pytest
from hostile import drip, flood, hostile, of, whole

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.judges.answerer import JudgeQuestion
from guerdon.rewards.asking.samples import Samples

pytest.importorskip("httpx")
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "silence": lambda: drip(b"", b""),
    "a dripping first line": lambda: drip(b"HTTP/1.1 200 ", b"O"),
    "dripping headers": lambda: drip(HEAD + b"X: ", b"y"),
    "a dripping body": lambda: drip(HEAD + b"Content-Length: 1000\r\n\r\n[", b" "),
    "a dripping body without a length": lambda: drip(HEAD + b"\r\n[", b" "),
    "dripping chunks": lambda: drip(CHUNKED, b"1\r\n \r\n"),
    "a dripping size of a chunk": lambda: drip(CHUNKED, b"0"),
    "one 100 after another": lambda: drip(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "busy for ever": lambda: [whole(b"{}", "503 Service Unavailable", "Retry-After: " + "9" * 400)],
    "busy with no pause": lambda: [whole(b"{}", "429 Too Many Requests", "Retry-After: 0")],
}
MUCH = b" " * 1_000_000
TOO_MUCH = {
    "600 MB": lambda: flood(HEAD + b"Content-Length: 600000000\r\n\r\n", MUCH),
    "600 MB without a length": lambda: flood(HEAD + b"\r\n", MUCH),
    "600 MB in chunks": lambda: flood(CHUNKED, b"%x\r\n%b\r\n" % (len(MUCH), MUCH)),
    "600 MB of a first line": lambda: flood(b"HTTP/1.1 200 ", MUCH),
    "600 MB of headers": lambda: flood(HEAD, b"X: y\r\n" * 100_000),
    "600 MB of a header": lambda: flood(HEAD + b"X: ", MUCH),
    "600 MB of 100s": lambda: flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000),
    "a packed gigabyte": lambda: [whole(gzip.compress(bytes(1 << 24)), "200 OK", "Content-Encoding: gzip")],
}
BROKEN = {
    "nothing": list,
    "garbage": lambda: [b"\x00\xff\x1b[2J\r\n\r\n"],
    "another protocol": lambda: [b"220 mail.example ESMTP\r\n\r\n"],
    "status 999": lambda: [b"HTTP/1.1 999 What\r\n\r\n"],
    "half a body": lambda: [HEAD + b'Content-Length: 1000\r\n\r\n{"results": ['],
    "half a chunk": lambda: [CHUNKED + b"ff\r\n{"],
    "a chunk without a size": lambda: [CHUNKED + b"zz\r\n"],
    "two lengths": lambda: [HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "],
    "a length below 0": lambda: [HEAD + b"Content-Length: -5\r\n\r\n{}"],
    "a length that is none": lambda: [HEAD + b"Content-Length: \xb2\r\n\r\n{}"],
    "no content": lambda: [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "a page": lambda: [whole(b"<html>\x1b[2J404 not here</html>")],
    "an error": lambda: [of({"error": {"message": "overloaded"}})],
    "no UTF-8": lambda: [whole(b'{"results": "\xff\xfe", "choices": "\xff"}')],
    "UTF-16": lambda: [whole('{"results": []}'.encode("utf-16"))],
    "JSON 100,000 deep": lambda: [whole(b"[" * 100_000)],
    "a list": lambda: [of([1])],
    "null": lambda: [of(None)],
    "numbers for results": lambda: [of({"results": 3, "choices": 3})],
    "busy in words": lambda: [whole(b"{}", "500 Oh", "Retry-After: \xb2")],
}


def about(*completions: str) -> Samples:
    return Samples.of([{"completion": each} for each in completions])


async def scored(server, name: str, *completions: str, timeout: float = 60.0):
    return await gd.remote(f"{server.url}/{name.replace(' ', '-')}", timeout=timeout).score(about(*completions or "1"))


async def soon_scored(server, name: str):
    return await scored(server, name, timeout=1.5)


async def judged(server, name: str, timeout: float = 60.0, **knobs):
    trying = gd.patience(timeout=timeout, retries=1, wait=0.001, total=2.5 * timeout)
    by = gd.endpoint(f"{server.url}/{name.replace(' ', '-')}", "toy", cache=False, trying=trying, **knobs)
    return (await by.answer([JudgeQuestion((("user", "hi"),))], {}))[0]


async def soon_judged(server, name: str):
    return await judged(server, name, timeout=0.6)


def served(cases):
    return hostile({name.replace(" ", "-"): blocks for name, blocks in cases.items()})


async def all_of(each, server, cases, **knobs):
    """All of them at the same time: most of it is waiting."""
    return dict(zip(cases, await asyncio.gather(*(each(server, name, **knobs) for name in cases)), strict=True))


def one_line(text: str) -> bool:
    return bool(text) and "\n" not in text and len(text) < 500


# --- rewards that are served elsewhere --------------------------------------------------------------------------------


def test_a_served_reward_that_never_ends_answering(tried):
    """Silence, dripped first lines, headers, bodies and chunks, 100 after 100, Retry-After of 10^400 and of 0."""
    with served(ENDLESS) as server:
        for name, (outcome,) in asyncio.run(all_of(soon_scored, server, ENDLESS)).items():
            too_many = outcome.reason is Reason.FAILED and name == "one 100 after another"  # if they come soon enough
            assert outcome.reason is Reason.TIMED_OUT or too_many, (name, outcome)
            assert one_line(outcome.detail["error"]), outcome
            tried()
        assert len([r for r in server.requests if r.startswith(b"POST /busy-with-no-pause/")]) < 10


@pytest.mark.slow
def test_a_served_reward_that_sends_too_much(tried):
    """600 MB of body, of chunks, of headers, of one header and of 100s; a body that unpacks to far more than it is."""
    with served(TOO_MUCH) as server:
        for name in TOO_MUCH:
            (outcome,) = asyncio.run(scored(server, name))
            assert outcome.reason is Reason.FAILED and one_line(outcome.detail["error"]), (name, outcome)
            assert server.sent[name.replace(" ", "-")] < 50_000_000
            tried()


def test_a_served_reward_that_answers_with_something_else(tried, monkeypatch):
    """Garbage, a page, an error with status 200, half an answer, two lengths, no UTF-8, deep JSON, a list, null."""
    monkeypatch.setattr("guerdon.bridges.remote_reward.FIRST_PAUSE", 0.001)
    with served(BROKEN) as server:
        for name, (outcome,) in asyncio.run(all_of(scored, server, BROKEN, timeout=60.0)).items():
            assert outcome.reason is Reason.FAILED and one_line(outcome.detail["error"]), (name, outcome)
            went_away = name in ("nothing", "half a body", "half a chunk")
            assert ("did not answer" in outcome.detail["error"]) == went_away, (name, outcome)
            tried()


def result(**changed):
    return {"value": 1.0, "reason": "value", "detail": None, "components": {}} | changed


RESULTS = [
    None,
    7,
    {},
    result(value=None),
    result(value=math.nan),
    result(value=math.inf),
    result(value=1e39),
    result(value=10**400),
    result(value="1.0"),
    result(value=[1.0]),
    result(value=True),
    result(reason="VALUE!"),
    result(reason=None),
    result(reason="failed"),
    result(components=None),
    result(components={"a": None}),
    result(components={"a": {}}),
    result(components={"a": {"value": math.nan}}),
    result(components={"a": {"value": "1"}}),
    {"value": 1.0, "reason": "value", "detail": None},
]


def test_a_result_that_is_none_fails_alone(tried):
    """NaN, infinity, 1e39, 10^400, null, text, a list, an unknown reason, null components: between two good ones."""
    answers = {str(n): (lambda bad=bad: [raw([result(), bad, result(value=2)])]) for n, bad in enumerate(RESULTS)}
    with hostile(answers) as server:
        for n, bad in enumerate(RESULTS):
            found = gd.score_samples(gd.remote(f"{server.url}/{n}"), [{"completion": each} for each in "123"])
            finite = "NaN" not in json.dumps(bad) and "Infinity" not in json.dumps(bad)
            assert found.reasons[1] is Reason.FAILED and one_line(found.details[1]["error"]), (bad, found)
            assert found.whole[::2] == ([1.0, 2.0] if finite else [None, None]), bad  # NaN is not JSON: nothing is read
            tried()


def raw(results) -> bytes:
    return of({"results": results})


def test_results_that_are_too_few_or_too_many(tried):
    """0, 1, 3 and 1,000 results for two samples."""
    answers = {str(n): (lambda n=n: [raw([result()] * n)]) for n in (0, 1, 3, 1000)}
    with hostile(answers) as server:
        for n in answers:
            found = asyncio.run(scored(server, n, "1", "2"))
            assert [o.reason for o in found] == [Reason.FAILED] * 2 and f"{n} results" in found[0].detail["error"]
            tried()


def test_a_detail_of_any_shape_does_no_harm(tried):
    """Details that are text, numbers, lists, nested 500 deep, an error that is not text."""
    deep: object = 1
    for _ in range(500):
        deep = [deep]
    details = ["text", 7, [1], {"deep": deep, "why": "so"}, {"error": ["a"]}, {"parts": {"a": None}}, {"why": deep}]
    answers = {str(n): (lambda d=d: [raw([result(detail=d)])]) for n, d in enumerate(details)}
    with hostile(answers) as server:
        for n in answers:
            assert "remote: 1" in gd.remote(f"{server.url}/{n}").explain(completion="1")
            tried()


def test_no_token_goes_to_another_host(monkeypatch):
    """A redirect to another server, from a served reward and from an endpoint."""
    monkeypatch.setenv("GUERDON_TOKEN", "secret-token")
    with hostile({"there": lambda: [raw([result()])]}) as other:
        moved = whole(b"secret-token", "307 Temporary Redirect", f"Location: {other.url}/there/score")
        with hostile({"moved": lambda: [moved]}) as server:
            with pytest.raises(gd.UserError, match="no token is taken elsewhere") as caught:
                asyncio.run(scored(server, "moved"))
            assert "secret-token" not in str(caught.value) and one_line(str(caught.value))
            answer = asyncio.run(judged(server, "moved", key_env="GUERDON_TOKEN"))
            assert "status 307" in answer.error and "secret" not in answer.error
        assert not other.requests


@pytest.mark.parametrize(
    "url", ["http://a:99999", "http://[::1", "http://a b", "http://" + "a" * 80, "http://a:0", "gopher://a"]
)
def test_an_address_that_is_none_is_refused_at_once(url):
    """Ports and names that are none, brackets that do not close, spaces."""
    with pytest.raises(gd.UserError, match="url"):
        gd.remote(url)
    if "a" * 80 not in url and " " not in url:
        with pytest.raises(gd.UserError, match="url"):
            gd.endpoint(url, "toy")


# --- judges behind an endpoint ----------------------------------------------------------------------------------------


def test_an_endpoint_that_never_ends_answering(tried):
    """The same silence and drips, from a judge: two tries within a stated total."""
    with served(ENDLESS) as server:
        for name, answer in asyncio.run(all_of(soon_judged, server, ENDLESS)).items():
            assert one_line(answer.error) and not answer.text, (name, answer)
            assert answer.late or name.startswith("busy"), (name, answer)
            tried()


def test_an_endpoint_that_sends_too_much(tried):
    """The same 600 MB from a judge."""
    with served(TOO_MUCH) as server:
        for name in TOO_MUCH:
            trying = gd.patience(timeout=1.0 if name == "600 MB of 100s" else 60.0, retries=0)
            by = gd.endpoint(f"{server.url}/{name.replace(' ', '-')}", "toy", cache=False, trying=trying)
            (answer,) = asyncio.run(by.answer([JudgeQuestion((("user", "hi"),))], {}))
            assert one_line(answer.error) and not answer.text, (name, answer)
            assert server.sent[name.replace(" ", "-")] < 50_000_000
            tried()


def test_an_endpoint_that_answers_with_something_else(tried):
    """The same garbage, pages, halves and deep JSON from a judge."""
    with served(BROKEN) as server:
        for name, answer in asyncio.run(all_of(judged, server, BROKEN, timeout=60.0)).items():
            assert one_line(answer.error) and not answer.text and not answer.late, (name, answer)
            tried()


def completion(**changed):
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    return {"choices": [{"message": {"content": "yes"}}], "usage": usage} | changed


USAGES = [
    None,
    {},
    [],
    "many",
    {"prompt_tokens": -(10**9), "completion_tokens": -1},
    {"prompt_tokens": 1, "completion_tokens": 10**300},
    {"prompt_tokens": math.nan, "completion_tokens": math.inf},
    {"prompt_tokens": None, "completion_tokens": "7"},
    {"prompt_tokens": True, "completion_tokens": 0.5},
]


def test_usage_that_can_not_be_never_lowers_what_was_spent(tried):
    """Token counts that are negative, 10^300, NaN, null, text, or not there, against `max_cost`: it holds."""
    answers = {str(n): (lambda usage=usage: [of(completion(usage=usage))]) for n, usage in enumerate(USAGES)}
    asked = [JudgeQuestion((("user", f"question {n}"),)) for n in range(4)]
    with hostile(answers) as server:
        for name in answers:
            by = gd.endpoint(f"{server.url}/{name}", "toy", prices=(1.0, 1.0), max_cost=0.001, cache=False,
                             trying=gd.patience(at_once=2, retries=0))  # fmt: skip
            spent = []

            async def ask(by=by, spent=spent) -> None:
                for each in asked:
                    await by.answer([each], {})
                    spent.append(by.spent)

            if "NaN" in json.dumps(USAGES[int(name)]):  # no JSON: no answer was read
                asyncio.run(ask())
            else:
                with pytest.raises(gd.RunStopped):
                    asyncio.run(ask())
            assert spent == sorted(spent) and 0 <= by.spent <= 0.001
            tried()


def test_an_unreadable_answer_that_was_counted_is_paid_for():
    """An answer without choices that says what it cost, tried three times."""
    bad = completion(choices=[], usage={"prompt_tokens": 100, "completion_tokens": 10})
    last = of(bad).replace(
        b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1
    )  # else a try may be lost to a closed connection
    with hostile({"a": lambda: [last]}) as server:
        by = gd.endpoint(f"{server.url}/a", "toy", prices=(1.0, 1.0), cache=False,
                         trying=gd.patience(retries=2, wait=0.001))  # fmt: skip
        (answer,) = asyncio.run(by.answer([JudgeQuestion((("user", "hi"),))], {}))
    assert "no chat completion" in answer.error and by.spent == pytest.approx(3 * 110e-6)


LOGPROBS = [None, [], {"content": None}, {"content": [None]}, {"content": 3}]
LOGPROBS += [
    {"content": [{"token": token, "logprob": p, "top_logprobs": [{"token": token, "logprob": p}]}]}
    for token, p in [
        ("yes", None),
        ("yes", "0"),
        ("yes", 1000.0),
        ("yes", math.nan),
        ("yes", True),
        (7, -1.0),
        (None, -1.0),
    ]
]
CONTENTS = [7, ["yes"], {"a": 1}, True, "", None, "\x1b[2J", "Verdict: 1e400", "\ud800"]


def test_a_judge_whose_answers_are_no_verdicts(tried):
    """Log-probs above 0, NaN, null, text; contents that are numbers, lists, empty, half a character."""
    for cases, judge in (
        ([completion(choices=[{"message": {"content": "yes"}, "logprobs": p}]) for p in LOGPROBS], gd.yes),
        ([completion(choices=[{"message": {"content": text}}]) for text in CONTENTS], gd.judge),
    ):
        answers = {str(n): (lambda case=case: [of(case)]) for n, case in enumerate(cases)}
        with hostile(answers) as server:
            for n in answers:
                trying = gd.patience(timeout=60.0, retries=1, wait=0.001)
                by = gd.endpoint(f"{server.url}/{n}", "toy", cache=False, trying=trying)
                found = gd.score_samples(judge(by), [{"prompt": "a", "completion": "b"}])
                assert found.reasons == [Reason.FAILED] and found.details[0]["error"], (cases[int(n)], found)
                tried()
