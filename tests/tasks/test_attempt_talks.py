"""Conversations about attempts that were written by hand: which there are, of whom, and how many of each kind."""

from __future__ import annotations

import random
from collections import Counter

from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.judging.attempt_talks import TALKS, balanced_attempts, talks_about, telling_pairs
from guerdon.tasks.roles import said

CHAIN = load("chain:2")
TASK = Task("hand", "chain 7 +5 *3 -4", "32", "chain", 2, {"start": 7, "ops": ["+5", "*3", "-4"]})
OTHER = Task("other", "chain 2 +5 *3 -4", "17", "chain", 2, {"start": 2, "ops": ["+5", "*3", "-4"]})
GOLD = "7+5=12\n12*3=36\n36-4=32\n= 32"
EARLY = "7+5=13\n13*3=39\n39-4=35\n= 35"
LATE = "7+5=12\n12*3=36\n36-4=33\n= 33"
LATER = "7+5=12\n12*3=36\n36-4=32\n= 31"
WRONG = "2+5=6\n6*3=18\n18-4=14\n= 14"
TRIED = [(TASK, [GOLD, EARLY, GOLD, LATE, LATER]), (OTHER, [WRONG, WRONG])]


def test_every_role_talks_about_them():
    made = talks_about(TRIED, seed=0)
    assert tuple(made) == TALKS and made == talks_about(TRIED, seed=0)
    assert Counter(shown.split("\n")[0] for talks in made.values() for ((shown, _),) in talks) == {
        **dict.fromkeys(("verify", "score", "critique", "reasons", "rubric"), 4),
        "prefer": 4,  # a right and a wrong one, two wrong ones, each in both orders
        "revise": 4,  # three of the first problem, one of the other, which came twice
    }
    assert Counter(reply.split("\n")[-1] for ((_, reply),) in made["verify"]) == {"= yes": 2, "= no": 2}
    assert Counter(reply.split("\n")[-1] for ((_, reply),) in made["prefer"]) == {"= a": 2, "= b": 2}
    assert set(talks_about(TRIED, 0, ["critique"])) == {"critique"}


def test_right_and_wrong_are_equally_many():
    """One right and four wrong: the right one comes twice, with two of the wrong ones."""
    for seed in range(5):
        drawn = [text for _, text in balanced_attempts(TRIED, random.Random(seed))]
        assert drawn.count(GOLD) == 2 and len(drawn) == 4 and len(set(drawn)) == 3
    assert list(balanced_attempts([(TASK, [EARLY, LATE])], random.Random(0))) == []  # nothing to weigh them against


def test_levels_are_weighed_apart():
    easy = Task("easy", "chain 7 +5 *3", "36", "chain", 1, {"start": 7, "ops": ["+5", "*3"]})
    assert list(balanced_attempts([(TASK, [GOLD]), (easy, ["= 35"])], random.Random(0))) == []


def test_pairs_that_tell_something():
    assert telling_pairs(CHAIN, TASK, [GOLD, EARLY]) == [(GOLD, EARLY), (EARLY, GOLD)]
    assert telling_pairs(CHAIN, TASK, [LATE, EARLY]) == [(LATE, EARLY), (EARLY, LATE)]
    assert telling_pairs(CHAIN, TASK, [GOLD, GOLD]) == telling_pairs(CHAIN, TASK, [EARLY]) == []


def test_what_is_said_of_them():
    made = talks_about([(TASK, [GOLD, LATE])], seed=1)
    replies = {
        shown.split("\n")[0]: reply
        for role in ("critique", "score")
        for ((shown, reply),) in made[role]
        if LATE in shown
    }
    assert replies == {
        "critique": "7+5=12 +\n12*3=36 +\n36-4=32 -\n= 3",
        "score": "7+5=12 +\n12*3=36 +\n36-4=32 -\n= 3",
    }
    assert made["revise"] == [[(f"revise\n{TASK.prompt}\n{LATE}", GOLD)]]
    assert {said(reply, ("a", "b")) for ((_, reply),) in made["prefer"]} == {"a", "b"}
