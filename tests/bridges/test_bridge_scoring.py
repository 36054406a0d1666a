"""Scores for samples given as fields: numbers, reasons, parts, groups, schedules, and waiting all at once."""

from __future__ import annotations

import asyncio
import time

import pytest
from refusals import refusal

import guerdon as gd
from guerdon import score_samples
from guerdon.bridges.gaps import no_gaps
from guerdon.core.column import Reason
from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.core.schedule import linear
from guerdon.rewards.formula.algebra import blend, normalised
from guerdon.rewards.formula.reward import clip


@gd.reward
def exact(completion, answer):
    return completion == answer


@gd.reward
def picky(completion):
    if completion == "bad":
        raise ValueError("no good")
    if completion == "late":
        raise TimeoutError
    return None if completion == "" else 1.0


UNDER_WAY = {"now": 0, "most": 0}


@gd.reward
async def slow(completion):
    UNDER_WAY["now"] += 1
    UNDER_WAY["most"] = max(UNDER_WAY.values())
    await asyncio.sleep(0.1)
    UNDER_WAY["now"] -= 1
    return float(len(completion))


def said(*texts):
    return [{"completion": text, "answer": "4"} for text in texts]


def test_numbers_and_reasons():
    found = score_samples(picky, said("4", "", "bad", "late"))
    assert found.whole == [1.0, None, None, None]
    assert found.reasons == [Reason.VALUE, Reason.NOT_APPLICABLE, Reason.FAILED, Reason.TIMED_OUT]
    assert found.broken == [False, False, True, True] and not found.parts
    line = found.broken_in_words("picky")
    assert "2 of 4" in line and "1 failed, 1 timed out" in line and "ValueError: no good" in line


def test_a_formula_and_its_parts():
    found = score_samples(blend(exact=exact, picky=picky.weight(0.5)), said("4", "5", "", "bad"))
    assert found.whole == [1.5, 0.5, 0.0, None]
    assert found.parts == {"exact": [1.0, 0.0, 0.0, 0.0], "picky": [1.0, 1.0, None, None]}
    assert found.part_reasons["picky"][2:] == [Reason.NOT_APPLICABLE, Reason.FAILED]
    assert "no good" in found.broken_in_words("blend")  # the part that broke says why
    assert found.means == {"reward": pytest.approx(2 / 3), "reward.exact": 0.25, "reward.picky": 1.0}


def test_a_part_within_a_part_does_not_take_its_name():
    inner = blend(exact=exact.weight(2.0))
    assert score_samples(blend(exact=inner, other=exact), said("4")).parts["exact"] == [2.0]
    assert score_samples(clip(inner, 0.0, 1.0), said("4")).parts == {"blend": [2.0], "exact": [1.0]}


def test_groups_may_have_any_numbers():
    formula = normalised(exact, scale=False)
    assert score_samples(formula, said("4", "5", "5"), [70, 70, 3]).whole == [0.5, -0.5, 0.0]
    assert score_samples(formula, said("4", "5")).whole == [0.5, -0.5]
    with refusal(UserError, "2", "1"):
        score_samples(formula, said("4", "5"), [0])


def test_a_schedule_knows_the_step():
    formula = blend(exact=exact.weight(linear(0.0, 1.0)))
    first, last = (score_samples(formula, said("4"), step=s, steps=11).whole[0] for s in (0, 10))
    assert first == 0.0 and last > 0.9


def test_waiting_is_done_at_once_in_a_loop_and_out_of_one():
    samples, formula = said(*"abcdefgh"), blend(slow=slow, also=gd.reward(slow.function), exact=exact)
    outside = score_samples(formula, samples)
    assert UNDER_WAY == {"now": 0, "most": 16}
    UNDER_WAY["most"] = 0

    async def inside():
        return score_samples(formula, samples)

    assert asyncio.run(inside()).whole == outside.whole == [2.0] * 8
    assert UNDER_WAY == {"now": 0, "most": 16}


def hangs(completion):
    if completion == "hang":
        time.sleep(60)
    return len(completion)


def test_an_isolated_function_is_stopped_and_the_others_count():
    found = score_samples(gd.reward(hangs, isolate=True, timeout=1.0), said("four", "hang"))
    assert found.whole == [4.0, None] and found.reasons[1] is Reason.TIMED_OUT


def test_other_names_are_found_as_in_meta():
    def near(target, completion, meta):
        return meta["target"] == target and abs(int(completion) - target) < 2

    assert score_samples(near, [{"completion": "4", "target": 5}]).whole == [1.0]
    assert score_samples(near, [{"completion": "4", "meta": {"target": 5}}]).whole == [1.0]


def test_what_no_sample_has_is_refused():
    with refusal(UserError):
        score_samples(exact, [{"completion": "4", "solution": "4"}])


def test_nothing_to_score():
    assert score_samples(blend(exact=exact, slow=slow), []).whole == []


def test_a_gap_stops_unless_its_worth_was_chosen():
    found = score_samples(picky, said("4", "bad"))
    with refusal(RunStopped, "1", "2"):
        no_gaps(found, "picky", None)
    with pytest.warns(Notice, match=r"1 of 2 samples .* each counts -1"):
        assert no_gaps(found, "picky", -1.0) == [1.0, -1.0]
