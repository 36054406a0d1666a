"""How often a sample is preferred to the others of its group, by hand."""

from __future__ import annotations

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.judges.answerer import Answerer, JudgeAnswer

ASKED = []
BEATS = {("a", "b"): 0.9, ("b", "c"): 0.8, ("c", "a"): 0.7}


@gd.reward(isolate=False)
def circle(first, second):
    ASKED.append((first, second))
    if "?" in (first, second):
        raise ValueError("no idea")
    return BEATS[first, second] if (first, second) in BEATS else 1 - BEATS[second, first]


def scored(*texts, group=None, **knobs):
    ASKED.clear()
    return gd.score_samples(gd.preferred(circle, **knobs), [{"completion": text} for text in texts], group=group)


def test_the_mean_over_the_others_of_the_group():
    assert scored("a", "b", "c").whole == pytest.approx([(0.9 + 0.3) / 2, (0.1 + 0.8) / 2, (0.2 + 0.7) / 2])
    assert scored("a", "b", "a").whole == pytest.approx([(0.9 + 0.5) / 2, 0.1, (0.9 + 0.5) / 2])
    assert sorted(ASKED) == [("a", "b"), ("b", "a")], "equal completions are asked about once, in both orders"
    assert scored("a", "b", "b", "c", group=[0, 0, 1, 1]).whole == pytest.approx([0.9, 0.1, 0.8, 0.2])


def test_one_that_prefers_what_stands_first_prefers_nothing():
    first = gd.reward(lambda first, second: 1.0, isolate=False)
    assert gd.score_samples(gd.preferred(first), [{"completion": "a"}, {"completion": "b"}]).whole == [0.5, 0.5]


def test_one_sample_of_the_group_that_all_others_meet():
    found = scored("a", "b", "c", "a", group=[0, 0, 0, 1], against="one")
    assert found.reasons == [Reason.NOT_APPLICABLE, Reason.VALUE, Reason.VALUE, Reason.NOT_APPLICABLE]
    assert found.whole[1:3] == pytest.approx([0.1, 0.7])
    samples = gd.rewards.Samples.of([{"completion": text} for text in "abcd"], seeds=[5, 8, 1, 7])
    from guerdon.rewards.asking.samples import opponents

    met = opponents(samples, "one")
    (reference,) = [i for i, others in enumerate(met) if not others]
    assert [others for others in met if others] == [[reference]] * 3
    turned = samples.pick([3, 2, 1, 0])
    assert [i for i, others in enumerate(opponents(turned, "one")) if not others] == [3 - reference]


def test_what_breaks_leaves_the_pair_out():
    found = scored("a", "b", "?")
    assert found.whole[:2] == pytest.approx([0.9, 0.1])
    assert found.reasons[2] is Reason.FAILED
    assert "no idea" in found.details[2]["error"]
    loud = gd.preferred(gd.reward(lambda first, second: 3.0, isolate=False))
    found = gd.score_samples(loud, [{"completion": "a"}, {"completion": "b"}])
    assert found.reasons == [Reason.FAILED] * 2
    assert "a probability, 0 to 1, not 3" in found.details[0]["error"]


def test_in_workers():
    assert gd.score_samples(gd.preferred(longer), [{"completion": "a"}, {"completion": "bb"}]).whole == [0.0, 1.0]


def longer(first, second):
    return float(len(first) > len(second))


def test_a_number_of_opponents_that_is_none():
    with refusal(UserError):
        gd.preferred(circle, against=0)


class Longer(Answerer):
    """A judge that prefers the longer answer."""

    waits = False

    async def answer(self, questions, models):
        ASKED.extend(questions)
        return [JudgeAnswer(f"Verdict: {'A' if len(_said(q, 'A')) > len(_said(q, 'B')) else 'B'}") for q in questions]


def _said(question, which):
    text = question.messages[0][1]
    return text.partition(f"<answer {which} ")[2].partition(f"</answer {which}")[0].partition(">\n")[2]


def test_a_judge_that_meets_one_of_the_group():
    ASKED.clear()
    tries = [{"prompt": "say", "completion": text} for text in ("bb", "a", "ccc", "bb")]
    found = gd.score_samples(gd.pairwise(Longer(), against="one"), tries)
    assert found.whole == [None, 0.0, 1.0, 0.5]
    assert len(ASKED) == 4, "two orders for each that differs"
