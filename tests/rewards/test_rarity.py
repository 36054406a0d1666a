"""Items weighed by how rarely a group has them: by hand, and what becomes of the weights at the ends of their knobs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.rewards import by_rarity

E = math.exp


@gd.reward(isolate=False)
def ticked(completion):
    """A mark for each item: 1, 0, or ? where nobody knows."""
    items = {str(n): math.nan if mark == "?" else float(mark) for n, mark in enumerate(completion)}
    return gd.Score(sum(mark == "1" for mark in completion) / len(completion), parts=items)


def weighed(*marks, group=None, **knobs):
    return gd.score_samples(by_rarity(ticked, **{"delta": 0.0, **knobs}), [{"completion": m} for m in marks], group)


def test_weights_by_hand():
    """Three tests that all four tries pass, one that half of them do, one that a single one does; far apart for this sigma."""
    scores = weighed("11111", "11110", "11100", "11100", alpha=2.0, sigma=0.01).whole
    easy, half, rare = 3 * E(-2.0) / 3, E(-1.0), E(-0.5)
    assert scores == pytest.approx([easy + half + rare, easy + half, easy, easy])


def test_items_that_are_nearly_as_easy_count_as_alike_by_hand():
    """Rates 1 and 1/2: each is half a sigma from the other."""
    alike = 1 + E(-0.125)
    scores = weighed("11", "10", alpha=0.0, sigma=1.0).whole
    assert scores == pytest.approx([2 / alike, 1 / alike])


def test_one_kernel_for_all_without_a_taste_for_rare_ones_is_the_share():
    scores = weighed("1110", "1100", "0000", alpha=0.0, sigma=1e6).whole
    assert scores == pytest.approx([0.75, 0.5, 0.0])


@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=2, max_size=6),
    st.floats(0.0, 5.0),
    st.floats(0.01, 2.0),
)
def test_passing_more_never_pays_less(rows, alpha, sigma):
    marks = ["".join(str(int(has)) for has in row) for row in rows]
    scores = weighed(*marks, alpha=alpha, sigma=sigma).whole
    for mine, score in zip(marks, scores, strict=True):
        for theirs, other in zip(marks, scores, strict=True):
            if all(a >= b for a, b in zip(mine, theirs, strict=True)):
                assert score >= other - 1e-12


def test_many_easy_items_weigh_as_much_as_one():
    few, many = weighed("10", "11", sigma=0.01).whole, weighed("1" * 9 + "0", "1" * 10, sigma=0.01).whole
    assert few == pytest.approx(many)


def test_what_is_not_known_has_failed_and_is_in_no_rate():
    scores = weighed("1?", "10", "11", alpha=1.0, sigma=0.01)
    assert scores.reasons == [Reason.FAILED, Reason.VALUE, Reason.VALUE]
    assert scores.whole[1:] == pytest.approx([E(-1.0), E(-1.0) + E(-0.5)])
    assert "an item of ticked has no value" in str(scores.details[0])


def test_a_reward_without_items_is_refused():
    with pytest.raises(UserError, match="exact has none"):
        gd.score_samples(by_rarity(gd.exact()), [{"completion": "4", "answer": "4"}])
