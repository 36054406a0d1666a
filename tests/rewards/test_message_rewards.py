"""Rewards of messages and worked steps: weights, the tasks they are for, and chrF against sacreBLEU."""

from __future__ import annotations

import random

import pytest
from refusals import refusal

import guerdon as gd

NOTE = gd.tasks.notes(level=2, users=3).get("train", 0)
OTHER = gd.tasks.load("chain:2").get("train", 0)


def test_a_note_is_paid_by_its_users_weights_or_by_given_ones():
    text = NOTE.answer + f" {NOTE.meta['forbidden'][0]}."
    score = gd.rewards.note_score()(NOTE, text)
    weights = NOTE.meta["weights"]
    assert score.value == pytest.approx(sum(weights[name] * value for name, value in score.parts.items()))
    assert f"uses {NOTE.meta['forbidden'][0]}" in score.why and score.parts["words"] < 1
    alone = gd.rewards.note_score({"facts": 1.0, "tone": 0.0, "length": 0.0, "words": 0.0})
    assert alone(NOTE, text).value == 1.0
    no_user = {name: value for name, value in NOTE.meta.items() if name != "weights"}
    without = gd.Task(NOTE.id, NOTE.prompt, NOTE.answer, NOTE.family, 2, no_user)
    assert gd.rewards.note_score()(without, text).value == pytest.approx(sum(score.parts.values()) / 4)


def test_a_score_is_one_exactly_where_the_check_is():
    family = gd.tasks.notes(level=3)
    for index in range(20):
        task = family.get("train", index)
        assert gd.rewards.note_score()(task, task.answer).value == pytest.approx(1.0)
        for miss in family.near_misses(task, random.Random(index)):
            assert gd.rewards.note_score()(task, miss.text).value < 1.0


@pytest.mark.parametrize("weights", [{"facts": 1.0}, {"facts": 0.5, "tone": 0.5, "length": 0.5, "words": 0.5}])
def test_weights_that_do_not_add_up_are_refused(weights):
    with refusal(gd.UserError, "note_score.weights"):
        gd.rewards.note_score(weights)


@pytest.mark.parametrize(
    "reward",
    [
        gd.rewards.note_score(),
        gd.rewards.note_proxy(),
        gd.rewards.note_quality(),
        gd.rewards.question_meaning(),
        gd.rewards.tutoring_reply(),
        gd.rewards.gaps_filled(gd.tasks.load("cloze:chain:2")),
        gd.rewards.order_kept(gd.tasks.load("shuffled:chain:2")),
    ],
)
def test_other_tasks_are_not_applicable(reward):
    assert reward(OTHER, "= 5") is None


def test_they_score_samples_in_a_formula():
    both = gd.rewards.note_score() + gd.rewards.note_quality().weight(0.5)
    scores = gd.score_samples(both, [{"task": NOTE, "completion": NOTE.answer}, {"task": NOTE, "completion": ""}])
    assert scores.whole[0] == pytest.approx(1.5) and scores.whole[1] < 1.0


def test_chrf_by_hand():
    chrf = gd.rewards.chrf(order=2, beta=1.0)
    assert chrf("abc", "abd") == pytest.approx((2 / 3 + 1 / 2) / 2)  # a, b of three; ab of two
    assert chrf("a b", "ab") == 1.0 and chrf("", "ab") == 0.0 and chrf("ab", " ") is None and chrf("x", "ab") == 0.0


def test_chrf_agrees_with_sacrebleu():
    sacrebleu = pytest.importorskip("sacrebleu")
    draw, words = random.Random(0), ["the", "cat", "sat", "on", "a", "mat", "with", "big", "dogs"]
    for _ in range(60):
        given, wanted = (" ".join(draw.choices(words, k=draw.randint(1, 8))) for _ in "xy")
        assert gd.rewards.chrf()(given, wanted) == pytest.approx(sacrebleu.sentence_chrf(given, [wanted]).score / 100)
