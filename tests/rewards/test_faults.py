"""A thousand samples, and scorers that break in every way: each healthy score exact, each cause named and counted."""

from __future__ import annotations

import ctypes
import math
import os
import re
import time
from collections import Counter

import pytest
from command_line import command_line

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.optim import adam
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score
from guerdon.runs.event_types import ScoresMissing

SAMPLES = 1000
SECONDS = 0.5  # of its own time, for one call: what a busy machine costs it is not charged
FAILED, TIMED_OUT = Reason.FAILED, Reason.TIMED_OUT
KINDS = {  # how a sample breaks, by its number's last digits: what becomes of it, and what the summary calls it
    "raises": (FAILED, "ZeroDivisionError: none such"),
    "nan": (FAILED, "ValueError: a reward returned nan"),
    "infinite": (FAILED, "ValueError: a reward returned inf"),
    "text": (FAILED, "TypeError: a reward returned 'good', not a number"),
    "hole": (FAILED, "TypeError: a reward returned [1.0, None], not a number a step"),
    "crashes": (FAILED, "the worker was killed by signal 11 (SIGSEGV)"),
    "leaves": (FAILED, "the worker exited with code 7"),
    "sleeps": (TIMED_OUT, f"there was no answer after {SECONDS:g} s"),
    "ponders": (TIMED_OUT, f"there was no answer after {SECONDS:g} s"),
    "hoards": (FAILED, "used more than 2.0 GiB of memory"),
}
NAMES = (*KINDS,)  # what a worker needs of it: all of it would have it import torch, for `Reason`
RARE = ("sleeps", "ponders", "hoards")  # the slow ones


@gd.part
class numbered:
    """Problems that carry their number as the answer."""

    name = "numbered"

    def size(self, split):
        return SAMPLES

    def get(self, split, index):
        return gd.Task(str(index), f"{index}?", str(index))

    def check(self, task, completion):
        return 0.0


def fault_of(number):
    kind = NAMES[number % 100] if number % 100 < len(NAMES) else None
    return kind if kind not in RARE or number < 200 else None


def faulty(answer):
    number = int(answer)
    match fault_of(number):
        case "raises":
            raise ZeroDivisionError("none such")
        case "nan":
            return math.nan
        case "infinite":
            return math.inf
        case "text":
            return "good"
        case "hole":
            return [1.0, None]
        case "crashes":
            ctypes.string_at(0)
        case "leaves":
            os._exit(7)
        case "sleeps":
            time.sleep(60)
        case "ponders":
            re.match("(a+)+b", "a" * 60)
        case "hoards":
            held = []
            while True:
                held.append(bytes(256 << 20))  # zeros that nobody has touched cost no time
    return 1.0 + number / 1000


def steady(completion):
    return 0.25


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    stages = [score(gd.blend(faulty=gd.reward(faulty, timeout=SECONDS), steady=steady)), centre()]
    learn = gd.Learn("policy", clipped(), opt=adam(lr=0.1))
    draw, sampling = uniform(numbered(), tries=1), gd.Sampling(max_tokens=2)
    recipe = gd.Recipe(
        {"policy": tabular()}, draw, single_turn(), [*stages, learn], sampling=sampling, prompts=SAMPLES, steps=1
    )
    return gd.train(recipe, seed=3, out=tmp_path_factory.mktemp("faults") / "run", options=gd.Options(eval_tasks=0))


def test_every_healthy_score_is_exact_and_no_other_is_a_number(run):
    batch = run.batch(0)
    numbers = [int(batch.episodes[e].task.answer) for e in batch.episode[batch.leaf].tolist()]
    assert sorted(numbers) == list(range(SAMPLES)) and run.status == "complete"
    for name, more in (("reward", 0.25), ("reward.faulty", 0.0)):
        column = batch.cols[name]
        for k, number in enumerate(numbers):
            kind = fault_of(number)
            assert int(column.reason[k]) == (KINDS[kind][0] if kind else Reason.VALUE), (number, kind)
            want = math.nan if kind else 1.0 + number / 1000 + more
            assert float(column.value[k]) == pytest.approx(want, rel=1e-6, nan_ok=True)
    assert batch["reward.steady"].tolist() == [0.25] * len(numbers)
    assert not bool((batch["reward"] == 0).any())


def test_the_summary_names_each_cause_with_counts(run, tmp_path, monkeypatch, capsys):
    want = Counter(f"faulty: {KINDS[kind][1]}" for n in range(SAMPLES) if (kind := fault_of(n)))
    (missing,) = run.events(ScoresMissing)
    assert missing.causes == want and missing.failed + missing.timed_out == want.total() and missing.of == 1000
    assert missing.timed_out == 4
    assert run.failures == {"reward": dict(want.most_common())}
    shown = command_line(tmp_path, monkeypatch, capsys)("show", str(run.path)).out
    for cause, count in want.items():
        assert re.search(rf"\b{count} in 'reward': {re.escape(cause)}", " ".join(shown.split())), cause
