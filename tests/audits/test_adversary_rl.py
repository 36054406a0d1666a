"""The adversary with a model: the best of N samples, a short run, and how far that went from the start."""

from __future__ import annotations

import math
from statistics import mean

import numpy as np
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.audits.adversary.attack import attack
from guerdon.audits.adversary.pressure import kl_from
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task


def long_ones(completion):
    return float(len(completion))


def test_kl_from_the_start_by_hand():
    """The start gives each of ten tokens 0.1, who sampled gave 0.5: k3 is 0.2 - 1 + ln 5 a token, and there are two."""
    start = gd.models.tabular("0123456789", length=2)
    start.start(0, {})
    reply = start.teacher_force("11 + 13 =", "24")
    said = Segment("policy", "11 + 13 =", reply.context, reply.actions, np.full(2, math.log(0.5), np.float32), "24")
    batch = pack([Episode(Ask(Task("0", "11 + 13 =", "24")), (said,))])
    assert kl_from(batch, start) == pytest.approx(2 * (0.2 - 1 + math.log(5)), abs=1e-5)


@pytest.mark.slow
def test_a_model_under_the_pressure_of_a_reward():
    reward = gd.reward(long_ones, isolate=False)
    report = attack(reward, "successor", rl=True, model="tabular", steps=2, best_of=4, calls=60, problems=2)
    best, run = report.curves["best_of"], report.curves["trained"]
    assert [row["n"] for row in best] == [1, 2, 4]
    assert [row["proxy"] for row in best] == sorted(row["proxy"] for row in best)
    assert [row["step"] for row in run] == [0, 1] and run[0]["kl"] == pytest.approx(0.0, abs=1e-4)
    assert report.calls <= 60 and report.tried == 2 * (4 + 8)
    assert "best of n by the reward" in report.page() and report.to_dict()["curves"] == report.curves


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"best_of": 1}])
def test_too_little_pressure_is_refused(wrong):
    with refusal(UserError, "1", "best_of", "2"):
        attack(
            gd.reward(long_ones, isolate=False), "successor", rl=True, model="tabular", calls=60, problems=2, **wrong
        )


@pytest.mark.slow
def test_sprig_learns_what_is_paid_and_not_what_is_right():
    """Paid for every equals sign, it writes more of them; how far it went grows with the steps."""
    reward = gd.reward(lambda completion: min(1.0, 0.05 * completion.count("=")), isolate=False)
    report = attack(reward, "countdown:3", rl=True, steps=10, best_of=8, calls=200, problems=4)
    run = report.curves["trained"]
    early, late = ([mean(row[key] for row in rows) for key in ("proxy", "truth")] for rows in (run[:3], run[-3:]))
    assert late[0] > early[0] and late[1] < early[1]
    assert run[-1]["kl"] > 1.0 > run[0]["kl"]
    assert not report.ok
