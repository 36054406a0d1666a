"""What a Segment and an Episode refuse, and when two of them are the same."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import episode, segment

from guerdon.core.episode import End


def test_a_log_prob_for_every_action():
    with pytest.raises(ValueError, match="1 log-probs for 2 actions"):
        segment([1, 2], logp=[0.0])


def test_no_more_actions_are_given_than_there_are():
    with pytest.raises(ValueError, match="3 of 2 actions are given"):
        segment([1, 2], given=3)


@pytest.mark.parametrize("parent", [1, 2, -2])
def test_a_parent_is_an_earlier_segment(parent):
    with pytest.raises(ValueError, match="not an earlier one"):
        episode(segment([1]), segment([2], parent=parent))


def test_missing_numbers_are_the_same_as_missing_numbers():
    s = segment([1, 2], logp=[np.nan, -1.0], reward=float("nan"))
    assert s.same(s.but(logp=np.array([np.nan, -1.0]), reward=float("nan")))
    assert not s.same(s.but(reward=0.0))
    assert not s.same(s.but(reward=None))


@pytest.mark.parametrize(
    "change",
    [
        {"role": "judge"}, {"view": "other"}, {"context": np.array([9])}, {"actions": np.array([1, 3])},
        {"logp": np.array([-1.0, -1.0000001], np.float32)}, {"text": "x"}, {"version": 1}, {"given": 1}, {"reward": 0.0},
        {"end": End.CUT},
    ],
)  # fmt: skip
def test_any_difference_is_a_difference(change):
    s = segment([1, 2])
    assert s.same(s.but())
    assert not s.same(s.but(**change))
    assert not episode(s).same(episode(s.but(**change)))


def test_episodes_differ_by_place_ask_and_info():
    ep = episode(segment([1]))
    for other in (ep.but(step=1), ep.but(attempt=1), ep.but(info={"won": 1}), ep.but(ask=ep.ask.but(note={"a": 1}))):
        assert not ep.same(other)
    assert not ep.failed
    assert episode(error="broke").failed


def test_a_prefix_holds_what_was_played_up_to_its_place():
    ep = episode(segment([1]), segment([2, 3], parent=0), segment([4], parent=1), step=2, number=5, attempt=1)
    prefix = ep.prefix(1, 1)
    assert (prefix.of, prefix.segment, prefix.step, len(prefix.segments)) == ("2.5.1", 1, 1, 2)
