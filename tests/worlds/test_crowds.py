"""Crowds of users who get bored: numbers by hand, users apart from each other, and the gold player against all sequences."""

from __future__ import annotations

import itertools
from math import exp

import numpy as np
import pytest

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.worlds import Catalogue, Crowd, Feed, played

TWO = Catalogue(np.array([0, 1, 0]), np.array([1.0, 0.5, 0.25]))


def crowd(users=1, **knobs):
    made = Crowd(users, TWO, 0, **{"churn": (0.0, 0.0), **knobs})
    made.taste[:] = [1.0, 0.8]
    return made


def test_liking_is_taste_times_appeal_and_falls_with_boredom():
    made = crowd(fatigue=0.5, fades=0.6)
    assert made.liking()[0] == pytest.approx([1.0, 0.4, 0.25])
    made.step(np.array([[0]]))
    assert made.liking()[0] == pytest.approx([exp(-0.5), 0.4, 0.25 * exp(-0.5)])
    made.step(np.array([[1]]))
    assert made.liking()[0] == pytest.approx([exp(-0.3), 0.4 * exp(-0.5), 0.25 * exp(-0.3)])
    assert made.liked[0] == pytest.approx(1.0 + 0.4)


def test_mood_follows_what_is_liked_and_a_low_one_ends_sessions():
    made = crowd()
    made.step(np.array([[2]]))
    assert made.mood[0] == pytest.approx(0.8 * 0.5 + 0.2 * 0.25)
    many = crowd(20_000, churn=(0.0, 0.5))
    many.mood[:] = 0.1
    many.step(np.full((20_000, 1), -1))  # nothing: a liking of 0, and a mood of 0.08
    left = many.done.reshape(-1, 2).mean(0)
    assert left[0] == 0
    assert left[1] == pytest.approx(0.5 * (1 - 0.08 / Crowd.floor), abs=0.02)  # four deviations of 10,000 users


def test_nothing_shown_bores_nobody():
    made = crowd()
    assert made.step(np.array([[-1]])).tolist() == [0.0]
    assert not any(each.any() for each in (made.bored, made.shown, made.clicked, made.liked))


def test_a_slate_counts_each_of_its_items():
    made = crowd(slates := 4000)
    clicks = made.step(np.tile([0, 1, 2], (slates, 1)))
    assert made.bored[0].tolist() == [2.0, 1.0]
    assert clicks.mean() == pytest.approx(1.0 + 0.4 + 0.25, abs=0.05)  # four deviations
    assert made.clicked.sum() == clicks.sum()


def test_who_is_done_earns_nothing_and_changes_no_more():
    made = crowd(2, length=1)
    made.step(np.array([[0], [0]]))
    assert made.done.all()
    before = made.mood.copy(), made.steps.copy(), made.liked.copy()
    assert made.step(np.array([[0], [0]])).tolist() == [0.0, 0.0]
    assert all((x == y).all() for x, y in zip(before, (made.mood, made.steps, made.liked), strict=True))


def test_new_users_begin_in_place_of_some():
    made = crowd(3)
    made.step(np.zeros((3, 1), int))
    made.begin(np.array([False, True, False]))
    assert made.steps.tolist() == [1, 0, 1]
    assert made.bored[:, 0].tolist() == [1.0, 0.0, 1.0]
    assert made.taste[1].max() == 1.0


def test_a_view_has_what_was_seen_and_nothing_of_the_truth():
    made = crowd(2)
    clicks = made.step(np.array([[0], [1]]))
    shown = made.view()
    assert shown[0].tolist() == [1.0, 0.0, clicks[0], 0.0, 1.0, 0.0, 1 / 40]
    assert shown[1].tolist() == [0.0, 1.0, 0.0, clicks[1], 0.0, 1.0, 1 / 40]
    made.taste[:] = 0.0
    assert (made.view() == shown).all()


def test_gold_shows_the_best_item_of_what_is_liked_most():
    made = crowd(fatigue=0.5)
    assert made.gold(slate=2).tolist() == [[0, 1]]
    made.bored[:] = [2.0, 0.0]
    assert made.gold().tolist() == [[1]]
    made.publish(1, 0, 0.3)  # nothing of category 1 is left
    assert made.gold().tolist() == [[0]]
    made.publish(1, 1, 0.5)


def test_gold_is_near_the_best_of_all_sequences():
    """Of 8 steps without leaving every order of two categories is tried."""
    best = []
    for shown in itertools.product((0, 1), repeat=8):
        made = crowd(length=8)
        for item in shown:
            made.step(np.array([[item]]))
        best.append(made.liked[0])
    made = crowd(length=8)
    played(made, Crowd.gold)
    assert 0.95 * max(best) < made.liked[0] <= max(best) + 1e-9


def test_gold_is_far_ahead_of_what_knows_less():
    items, draw = Catalogue.drawn(50, 10, seed=0), np.random.default_rng(0)
    gold = played(Crowd(300, items, seed=1), Crowd.gold).mean()
    guess = played(Crowd(300, items, seed=1), lambda crowd: draw.integers(50, size=(300, 1))).mean()
    assert gold > 3 * guess


def test_feeds_keep_the_contract():
    assert gd.check_env(gd.worlds.users(), episodes=4)["goals"] == 4


def test_a_feed_is_one_user_of_a_crowd():
    feed, many = Feed(), Crowd(1, Catalogue.drawn(200, 20, 0), 6)
    view, _ = feed.reset(seed=6)
    assert np.allclose(view, many.view()[0])
    for item in (3, 7, 3):
        seen, pay, over, cut, _ = feed.step(item)
        assert pay == many.step(np.array([[item]]))[0]
        assert np.allclose(seen, many.view()[0])
        assert (over, cut) == (bool(many.done[0]), False)


def test_a_catalogue_that_cannot_be_is_refused():
    with pytest.raises(UserError, match="1 to 3 categories, not 4"):
        Catalogue.drawn(3, 4, seed=0)
    with pytest.raises(UserError, match="has items"):
        Catalogue(np.zeros(0, int), np.zeros(0))
