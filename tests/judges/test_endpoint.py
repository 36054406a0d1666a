"""The client of OpenAI-compatible servers, against a real one on loopback: tried again, bounded, paid for, and silent about
its key."""

from __future__ import annotations

import asyncio
import email.utils
import math
import time

import pytest
from refusals import refusal
from toy_server import DROP, EMPTY, GARBAGE, HANG, toy

import guerdon as gd
from guerdon.core.part import describe, fingerprint
from guerdon.judges.answerer import JudgeQuestion
from guerdon.network.retrying import retry_after

FAST = gd.patience(wait=0.001)


def made(server, **knobs):
    return gd.endpoint(server.url, "toy", **{"trying": FAST, "cache": False, **knobs})


def ask(by, *texts, **more):
    return asyncio.run(by.answer([JudgeQuestion((("user", text),), **more) for text in texts], {}))


def test_an_answer_has_its_text_tokens_and_cost():
    with toy(lambda messages: messages[-1]["content"].upper()) as server:
        (answer,) = ask(made(server, prices=(3.0, 15.0)), "hi")
    assert (answer.text, answer.tokens_in, answer.tokens_out, answer.error) == ("HI", 100, 10, "")
    assert answer.cost == pytest.approx((100 * 3 + 10 * 15) / 1e6)
    assert server.requests[0] == {
        "model": "toy", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.0, "max_tokens": 512,
    }  # fmt: skip


def test_answers_come_in_the_order_of_questions_and_no_more_than_so_many_are_under_way():
    with toy(lambda messages: messages[-1]["content"], delay=0.005) as server:
        answers = ask(made(server, trying=gd.patience(at_once=3)), *map(str, range(30)))
    assert [a.text for a in answers] == [str(n) for n in range(30)]
    assert 1 <= server.most_at_once <= 3


def test_a_question_asked_twice_at_once_is_sent_once():
    with toy(lambda messages: "yes") as server:
        answers = ask(made(server), "same", "other", "same")
    assert [a.cached for a in answers] == [False, False, True]
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", [429, 500, 503, DROP, GARBAGE, EMPTY])
def test_what_may_pass_is_tried_again(fault):
    with toy(lambda messages: "at last", faults=[fault, fault]) as server:
        (answer,) = ask(made(server), "hi")
    assert answer.text == "at last" and not answer.error
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault, said", [(500, "status 500"), (DROP, "Error"), (GARBAGE, "no chat completion")])
def test_what_does_not_pass_is_an_error_and_no_answer(fault, said):
    with toy(lambda messages: "never", faults=[fault] * 3) as server:
        (answer,) = ask(made(server, trying=gd.patience(wait=0.001, retries=2)), "hi")
    assert said in answer.error and "tried 3 times" in answer.error
    assert not answer.text and not answer.late


def test_a_slow_server_is_late():
    with toy(lambda messages: "never", faults=[HANG]) as server:
        (answer,) = ask(made(server, trying=gd.patience(timeout=0.1, retries=0)), "hi")
    assert answer.late and "no answer in 0.1 s" in answer.error


def test_a_refusal_is_not_tried_again():
    with toy(lambda messages: "never", faults=[400]) as server:
        (answer,) = ask(made(server), "hi")
    assert "status 400" in answer.error and len(server.requests) == 1


def test_the_server_says_how_long_to_wait():
    with toy(lambda messages: "yes", faults=[(429, {"Retry-After": "1"}, "{}")]) as server:
        began = time.monotonic()
        ask(made(server), "hi")
    assert time.monotonic() - began >= 1.0
    assert retry_after("7") == 7.0
    assert retry_after("") == retry_after("soon") == 0.0
    assert retry_after("99999") == 600.0
    assert 50 < retry_after(email.utils.formatdate(time.time() + 60, usegmt=True)) <= 60


def test_the_log_probs_of_words_add_up_over_their_spellings():
    told = [{"Yes": math.log(0.5), " yes": math.log(0.2), "No": math.log(0.1), "Maybe": math.log(0.2)}]
    with toy(lambda messages: ("Yes", told)) as server:
        (answer,) = ask(made(server), "hi", choices=("yes", "no"))
    assert math.exp(answer.choices["yes"]) == pytest.approx(0.7)
    assert math.exp(answer.choices["no"]) == pytest.approx(0.1)
    assert server.requests[0]["max_tokens"] == 1 and server.requests[0]["top_logprobs"] == 20


def test_one_that_thinks_is_read_at_its_last_word():
    told = [{"no": 0.0}, {" way": 0.0}, {" yes": math.log(0.9), " no": math.log(0.1)}, {".": 0.0}]
    with toy(lambda messages: ("no way yes.", told)) as server:
        (answer,) = ask(made(server), "hi", choices=("yes", "no"), thinks=True)
    assert math.exp(answer.choices["yes"]) == pytest.approx(0.9)


def test_a_server_without_log_probs_says_so():
    with toy(lambda messages: "yes") as server:
        (answer,) = ask(made(server), "hi", choices=("yes", "no"))
    assert "gives no log-probs" in answer.error


def test_a_wrong_key_or_address_stops_everything_in_one_line():
    for status, said in ((401, "refused the key"), (404, "knows no such model")):
        with toy(lambda messages: "never", faults=[status]) as server:
            with pytest.raises(gd.UserError, match=said) as caught:
                ask(made(server), "hi")
        assert "\n" not in str(caught.value)


# --- money --------------------------------------------------------------------------------------------------------


def test_the_run_stops_before_the_limit_is_passed_and_no_paid_answer_is_lost(tmp_path):
    """A question of 10 bytes costs at most (10 + 64) + 512 tokens and in fact 110: of 0.001 at 1 a million, 4 fit."""
    with toy(lambda messages: "yes", delay=0.01) as server:
        by = made(server, prices=(1.0, 1.0), max_cost=0.001, cache=str(tmp_path / "c.sqlite"))
        with refusal(gd.RunStopped) as caught:
            ask(by, *(f"question {n}" for n in range(20)))
        assert "\n" not in str(caught.value)
        paid = len(server.requests)
        assert by.spent == pytest.approx(paid * 110e-6)
        assert by.spent <= 0.001 < by.spent + 586e-6
        by.max_cost = 1.0
        answers = ask(by, *(f"question {n}" for n in range(20)))
    assert sum(a.cached for a in answers) == paid
    assert len(server.requests) == 20 and by.spent == pytest.approx(20 * 110e-6)


def test_what_a_server_does_not_count_is_taken_for_the_most():
    with toy(lambda messages: "yes") as server:
        by = made(server, prices=(1.0, 1.0))
        answer = by._read(JudgeQuestion((("user", "12345"),)), '{"choices": [{"message": {"content": "yes"}}]}')
    assert (answer.tokens_in, answer.tokens_out) == (5 + 64, 512)


def test_how_it_is_paid_and_tried_is_no_part_of_what_it_is():
    one = gd.endpoint("http://127.0.0.1:1/v1", "toy")
    other = gd.endpoint("http://127.0.0.1:1/v1", "toy", "KEY", max_cost=3.0, prices=(1.0, 2.0), trying=gd.patience(2))
    assert fingerprint(one) == fingerprint(other) != fingerprint(gd.endpoint("http://127.0.0.1:1/v1", "other"))


# --- the key ------------------------------------------------------------------------------------------------------

KEY = "sk-very-secret-0123456789"


def test_the_key_goes_to_the_server_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_KEY", KEY)
    echo = (400, {}, f'{{"error": "bad key {KEY}"}}')
    with toy(lambda messages: f"your key is {KEY}", faults=[echo]) as server:
        by = made(server, key_env="TOY_KEY", cache=str(tmp_path / "c.sqlite"))
        answers = ask(by, "one", "two")
        with pytest.raises(gd.UserError) as refused:
            server.faults.append((401, {}, f"{KEY} is wrong"))
            ask(by, "three")
    assert server.keys == [f"Bearer {KEY}"] * 3
    seen = [repr(answers), repr(by), str(describe(by)), str(vars(by)), str(refused.value)]
    assert "***" in seen[0] and not [text for text in seen if KEY in text]
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_a_key_that_is_not_there_or_cannot_be_one(monkeypatch):
    with toy(lambda messages: "yes") as server:
        by = made(server, key_env="TOY_KEY")
        with refusal(gd.UserError, "TOY_KEY"):
            ask(by, "hi")
        monkeypatch.setenv("TOY_KEY", "two words")
        with refusal(gd.UserError, "TOY_KEY") as caught:
            ask(by, "hi")
    assert "two words" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000/v1", "ftp://x/v1", "https://me:pw@host/v1", "https://host/v1?key=secret"]
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(url):
    with pytest.raises(gd.UserError, match=r"endpoint\.url") as caught:
        gd.endpoint(url, "toy")
    assert "pw" not in str(caught.value) and "secret" not in str(caught.value)
