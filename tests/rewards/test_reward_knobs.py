"""What `reward` takes besides a function: tries, turns, lists of samples, and how its decorator is written."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.rewards.asking.function import ask_all, reward
from guerdon.rewards.asking.samples import Samples


def asked(leaf, *completions, **fields):
    samples = Samples.of([{"completion": text, **fields} for text in completions], seeds=range(len(completions)))
    return ask_all([(leaf, samples)])[0]


def values(outcomes):
    return [outcome.value if outcome.reason is Reason.VALUE else outcome.reason for outcome in outcomes]


# --- the decorator ------------------------------------------------------------------------------------------------


def test_the_decorator_with_and_without_knobs():
    @gd.reward
    def plain(completion):
        return len(completion)

    @gd.reward(isolate=False, retries=1)
    def knobbed(completion):
        return len(completion)

    for made in (plain, knobbed):
        assert made(completion="abc") == 3 and asked(made, "abc", "")[0].value == 3
    assert plain.isolate and not knobbed.isolate and knobbed.retries == 1 and knobbed.name == "knobbed"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: reward(3), "a reward is a function, not 3"),
        (lambda: reward(len, isolate=False, timeout=1.0), "leave out isolate=False"),
        (lambda: reward(len, concurrency=2), "concurrency is for async functions"),
        (lambda: reward(len, retries=-1), "reward.retries must be at least 0"),
        (lambda: asked(reward(timeout=1.0), "a"), "has no function"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(gd.UserError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


# --- tries --------------------------------------------------------------------------------------------------------


def flaky(folder):
    """Breaks the first two times it is asked about a completion; "late" by running out of time."""

    def score(completion):
        note = Path(folder) / completion
        before = len(note.read_text()) if note.exists() else 0
        note.write_text("x" * (before + 1))
        if before < 2 and completion == "late":
            raise TimeoutError
        if before < 2 and completion != "well":
            raise ConnectionError("not yet")
        return 1.0 + before

    return score


@pytest.mark.parametrize("isolate", [True, False])
def test_what_broke_is_asked_again(tmp_path, isolate):
    first = asked(reward(flaky(tmp_path), isolate=isolate, retries=1), "ill", "well", "late")
    assert values(first) == [Reason.FAILED, 1.0, Reason.TIMED_OUT]
    assert first[0].detail["tries"] == 2 and "not yet" in first[0].detail["error"] and first[1].detail is None
    second = asked(reward(flaky(tmp_path), isolate=isolate, retries=1), "ill")
    assert values(second) == [3.0] and second[0].detail is None  # the third call, the first of this asking


def test_a_score_says_how_many_tries_it_took(tmp_path):
    async def score(completion):
        return flaky(tmp_path)(completion)

    (found,) = asked(reward(score, retries=5), "ill")
    assert found.value == 3.0 and found.detail == {"tries": 3}


# --- turns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("concurrency", "most"), [(0, 20), (3, 3), (1, 1)])
def test_no_more_calls_at_once_than_told(concurrency, most):
    running, seen = [], []

    async def score(completion):
        running.append(completion)
        seen.append(len(running))
        while max(seen) < most:  # until as many run as may, however busy the machine; one too many would be seen
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.001)
        running.pop()
        return 1.0

    leaf = reward(score, concurrency=concurrency)
    halves = [Samples.of([{"completion": "a"}] * 10)] * 2  # two askers share the turns
    found = ask_all([(leaf, half) for half in halves])
    assert max(seen) == most and sum(o.value for half in found for o in half) == 20


def test_waiting_for_its_turn_takes_none_of_a_call_s_time():
    async def score(completion):
        await asyncio.sleep(0.05)
        return 1.0

    assert values(asked(reward(score, concurrency=1, timeout=0.3), *"abcdefghij")) == [1.0] * 10


# --- lists of samples -------------------------------------------------------------------------------------------


def lengths(completion, answer):
    assert len(completion) == len(answer)
    return [float(len(c)) + len(a) for c, a in zip(completion, answer, strict=True)]


async def lengths_later(completion, answer):
    return lengths(completion, answer)


@pytest.mark.parametrize("leaf", [
    reward(lengths, batched=True),
    reward(lengths, batched=True, isolate=False),
    reward(lengths_later, batched=True),
])  # fmt: skip
def test_one_call_for_all_samples(leaf):
    assert values(asked(leaf, "a", "bb", "ccc", answer="12")) == [3.0, 4.0, 5.0]


def test_it_sees_all_samples_and_the_kinds_of_scores_are_the_same():
    def ranks(completion):
        order = sorted(completion)
        return [
            None if not c else gd.Score(order.index(c), why="sorted") if c == "b" else order.index(c)
            for c in completion
        ]

    found = asked(reward(ranks, batched=True), "b", "a", "", "c")
    assert values(found) == [2.0, 1.0, Reason.NOT_APPLICABLE, 3.0]
    assert found[0].detail == {"why": "sorted"}
    assert values(asked(reward(lambda completion: np.arange(len(completion)), batched=True), "x", "y")) == [0.0, 1.0]


@pytest.mark.parametrize("isolate", [True, False])
def test_where_it_breaks_the_healthy_keep_their_scores(isolate):
    def picky(completion):
        if "bad" in completion:
            raise ValueError("bad")
        return [float(len(c)) for c in completion]

    found = asked(reward(picky, batched=True, isolate=isolate), "a", "bad", "ccc")
    assert values(found) == [1.0, Reason.FAILED, 3.0] and "bad" in found[1].detail["error"]


def test_where_it_crashes_the_healthy_keep_their_scores():
    def crash(completion):
        if "bad" in completion:
            os._exit(3)
        return [float(len(c)) for c in completion]

    found = asked(reward(crash, batched=True), "a", "bad", "ccc")
    assert values(found) == [1.0, Reason.FAILED, 3.0] and "code 3" in found[1].detail["error"]


@pytest.mark.parametrize(
    ("returned", "said"),
    [([1.0], "returned 1 scores for 3 samples"), (1.0, "returned 1.0 for 3 samples"), (None, "returned None for 3")],
)
def test_a_wrong_length_makes_all_fail_and_says_so(returned, said):
    found = asked(reward(lambda completion: returned, batched=True), "a", "b", "c")
    assert values(found) == [Reason.FAILED] * 3 and all(said in outcome.detail["error"] for outcome in found)


def test_a_name_that_no_sample_has_is_refused():
    with refusal(gd.UserError):

        def scores(completions):
            return [1.0] * len(completions)

        asked(reward(scores, batched=True), "a")


# --- what cannot travel -----------------------------------------------------------------------------------------


def test_what_can_not_be_sent_says_how_to_mend_it():
    lock = threading.Lock()

    def locked(completion):
        with lock:
            return 1.0

    with pytest.raises(
        gd.UserError, match=r"locked can not be sent to a worker .*reward\(locked, isolate=False\)"
    ) as refused:
        asked(reward(locked), "a")
    assert "\n" not in str(refused.value)
    assert values(asked(reward(locked, isolate=False), "a")) == [1.0]


def test_what_holds_too_much_is_refused():
    weights = bytes(100 << 20)

    def heavy(completion):
        return float(len(weights))

    with pytest.raises(gd.UserError, match=r"it holds 100 MiB of data.*isolate=False"):
        asked(reward(heavy), "a")
