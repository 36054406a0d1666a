"""Rewards from the other tries at a task: the majority, and the share of the group that is beaten."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from strategies import episode, segment

import guerdon as gd
from guerdon import score_samples
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, Scores, Where
from guerdon.rewards.text.agreement import majority, win_rate


def voted(reward, *texts, group=None):
    return score_samples(reward, [{} if t is None else {"completion": t} for t in texts], group)


def test_the_most_frequent_answer_of_each_group():
    said = ("Answer: 4", "4.0", "so 5", "5", "it is 10/2", "7")
    assert voted(majority(), *said, group=[0, 0, 0, 1, 1, 1]).whole == [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]


def test_a_tie_pays_what_breaking_it_at_random_would():
    assert voted(majority(), "4", "4", "5", "5", "6").whole == [0.5, 0.5, 0.5, 0.5, 0.0]
    assert voted(majority(), "1", "2", "3", "4").whole == [0.25] * 4


def test_a_completion_without_an_answer_casts_no_vote_and_earns_nothing():
    found = voted(majority(), "4", "4", "who knows", "")
    assert found.whole == [1.0, 1.0, 0.0, 0.0]
    assert found.details[0] == {"why": "2 of 2 votes for 4"} and found.details[2] == {"why": "no answer"}


def test_where_nobody_votes_it_does_not_apply():
    found = voted(majority(), "who knows", "nobody", "4", None, group=[0, 0, 1, 1])
    assert found.reasons == [Reason.NOT_APPLICABLE, Reason.NOT_APPLICABLE, Reason.VALUE, Reason.NOT_APPLICABLE]


def test_marks_and_no_fallback():
    strict = majority(marks=("<answer>",), fallback=False)
    said = ("<answer>4</answer>", "thus 5", "<answer> 4.0 </answer>", "5", "5")
    assert voted(strict, *said).whole == [1.0, 0.0, 1.0, 0.0, 0.0]


def test_texts_are_compared_without_case_or_space():
    said = ("Answer: New  York", "answer: new york", "Answer: Rome")
    assert voted(majority(answer="text"), *said).whole == [1.0, 1.0, 0.0]


def test_the_share_of_the_votes():
    assert voted(majority(share=True), "4", "4", "4", "5", "who knows").whole == [0.75, 0.75, 0.75, 0.25, 0.0]


def test_marks_must_be_text():
    with pytest.raises(UserError, match=r"majority\.marks holds texts"):
        majority(marks=("",))


def sectioned(reward, *tries):
    """What tries at one problem are paid, each a section of the group and what was said."""
    return score_samples(reward, [{"completion": text, "meta": {"at": at}} for at, text in tries]).whole


def test_votes_of_other_sections():
    tries = [*[("a", text) for text in "445"], *[("b", text) for text in "774"]]
    assert sectioned(majority(by="at", voters="others"), *tries) == [0.0] * 5 + [1.0]
    assert sectioned(majority(by="at", voters="others", share=True), *tries) == pytest.approx(
        [1 / 3, 1 / 3, 0, 0, 0, 2 / 3]
    )
    assert sectioned(majority(by="at"), *tries) == [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]


def test_without_another_section_there_is_no_vote():
    found = score_samples(majority(by="at", voters="others"), [{"completion": "4", "meta": {"at": "a"}}] * 3)
    assert found.reasons == [Reason.NOT_APPLICABLE] * 3
    assert found.details[0] == {"why": "none of the others has an answer"}


def test_votes_weighed_by_how_far_a_section_agrees_with_itself():
    """4 has 5 votes to 3's 4, of sections that agree with themselves by 3/4 and 1/2: 3 * 3/4 + 2 * 1/2 = 3.25 against 4."""
    crowd = {"a": "3333", "b": "4445", "c": ["4", "4", "5", "6"]}
    tries = [(at, text) for at, said in crowd.items() for text in said]
    assert sectioned(majority(by="at"), *tries) == [float(text == "4") for _, text in tries]
    assert sectioned(majority(by="at", weighted=True), *tries) == [float(text == "3") for _, text in tries]
    mute = [("a", "4"), ("a", "who knows"), ("b", "5")]
    assert sectioned(majority(by="at", weighted=True), *mute) == [
        0.0,
        0.0,
        1.0,
    ]  # half of `a` has no answer: 1/2 against 1


def test_a_vote_of_one_is_refused_in_a_run():
    def asked(reward, *numbers):
        batch = pack([episode(segment([0]), name=str(n), number=n, attempt=a) for a, n in enumerate(numbers)])
        return ask_all([(reward, Samples.of_batch(batch, ExamplePlay(), "policy"))])[0]

    with refusal(UserError, "--set", "8"):
        asked(majority(), 0, 1, 2)
    assert len(asked(majority(), 0, 0, 1)) == 3  # some groups have several
    assert voted(majority(), "4").whole == [1.0]  # outside of a run


def test_sections_need_a_name():
    with refusal(UserError):
        majority(voters="others")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_the_majority_shares_one_point_a_vote(votes):
    """However votes fall, the reward of one voter of each winning answer sums to 1, and shares sum to 1 over answers."""
    found = voted(majority(), *map(str, votes)).whole
    assert sum(dict(zip(votes, found, strict=True)).values()) == pytest.approx(1.0)
    shares = voted(majority(share=True), *map(str, votes)).whole
    assert sum(dict(zip(votes, shares, strict=True)).values()) == pytest.approx(1.0)


# --- win rate -----------------------------------------------------------------------------------------------------------


@gd.reward
def says(completion):
    return {"none": None, "bad": math.nan}[completion] if completion in ("none", "bad") else float(completion)


def test_the_share_of_the_group_that_is_beaten():
    found = voted(win_rate(says), "3", "1", "1", "2", "9", "8", group=[0, 0, 0, 0, 1, 1])
    assert found.whole == pytest.approx([1.0, 0.5 / 3, 0.5 / 3, 2 / 3, 1.0, 0.0])


def test_samples_without_a_value_keep_their_reason_and_are_no_opponents():
    found = voted(win_rate(says), "3", "none", "bad", "1", "5", "none", group=[0, 0, 0, 0, 1, 1])
    assert found.reasons == [
        Reason.VALUE, Reason.NOT_APPLICABLE, Reason.FAILED, Reason.VALUE, Reason.NOT_APPLICABLE, Reason.NOT_APPLICABLE,
    ]  # fmt: skip
    assert (found.whole[0], found.whole[3]) == (1.0, 0.0)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), min_size=1, max_size=15))
def test_win_rates_of_a_group_average_one_half_and_keep_its_order(rows):
    value, group = [float(v) for v, _ in rows], torch.tensor([g for _, g in rows])
    inner = Scores.of([Outcome(Reason.VALUE, v) for v in value])
    found = win_rate(says).combine({"says": inner}, Where(group))
    for g in {*group.tolist()}:
        own = torch.nonzero(group == g).flatten().tolist()
        if len(own) == 1:
            assert int(found.reason[own[0]]) == Reason.NOT_APPLICABLE
            continue
        assert float(found.value[own].mean()) == pytest.approx(0.5)
        for i in own:
            for j in own:
                assert (value[i] < value[j]) == (float(found.value[i]) < float(found.value[j]))
