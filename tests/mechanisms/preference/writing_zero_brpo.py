"""Writing-Zero: compared with one other of its group, a try that is worth much once in a while wins no more than that."""

from __future__ import annotations

from math import nan
from typing import ClassVar

import torch
from harness import Later, Mechanism, World, credited, made, said_tries

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.judges.answerer import Answerer, JudgeAnswer

GOOD, HACK, PLAIN = range(3)
TRIES, ODDS = 8, 0.2


class Longer(Answerer):
    """A judge that prefers the longer answer, in either place."""

    waits = False
    asked: ClassVar[list[int]] = []

    async def answer(self, questions, models):
        self.asked.append(len(questions))
        return [JudgeAnswer(f"Verdict: {'A' if said(each, 'A') > said(each, 'B') else 'B'}") for each in questions]


def said(question, which):
    return len(question.messages[0][1].partition(f"<answer {which} ")[2].partition(f"</answer {which}")[0])


def length(completion):
    return float(len(completion))


def mostly_longer(first, second):
    return 0.7 if len(first) > len(second) else 0.3


def recipe(reward=length, **knobs):
    return made("writing-zero-brpo", reward=gd.reward(reward, isolate=False) if callable(reward) else reward, **knobs)


def paid(made_of, *texts, group=None):
    samples = [{"prompt": "write", "completion": text} for text in texts]
    return gd.score_samples(made_of.stages.scores[-1].reward, samples, group=group).whole


def advantages(*worth):
    reasons = torch.tensor([int(Reason.NOT_APPLICABLE) if x != x else 0 for x in worth], dtype=torch.int8)
    batch = said_tries([([0, 0], 0.0) for _ in worth]).with_cols(
        {"reward": Column("track", torch.tensor(worth), reasons)}
    )
    return credited(recipe(), batch)


def kept(*rates, **knobs):
    """Of groups of tries with these shares of wins, and a reference each, those that are learned from."""
    worth = torch.tensor([x for rate in rates for x in (nan, *[1.0] * round(rate * 7), *[0.0] * round((1 - rate) * 7))])
    reasons = torch.where(worth.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
    batch = said_tries(*([([0], 0.0)] * 8 for _ in rates)).with_cols({"reward": Column("track", worth, reasons)})
    (learner,) = recipe(**knobs).stages.learners
    return learner.on(batch, Later(0, 1)).K // 8


def judged():
    Longer.asked.clear()
    return [sorted(paid(recipe(gd.pairwise(Longer())), "aa", "a", "aaa", "a"), key=str), Longer.asked]


def refused():
    try:
        recipe(gd.listwise(Longer()))
    except UserError as error:
        return "two by two" in str(error)


def learned(name="writing-zero-brpo", steps=15):
    """How likely the good answer is after training with a reward that now and then pays another one far too much."""
    dice = torch.Generator().manual_seed(1)
    pay = made(name, reward=gd.reward(length, isolate=False), **{"centre.std": False} if name == "grpo" else {})
    logits = torch.tensor([0.0, 0.5, 0.0], dtype=torch.float64)
    for _ in range(steps):
        p = logits.softmax(0)
        arms = torch.multinomial(p, TRIES, replacement=True, generator=dice)
        lucky = torch.rand(TRIES, generator=dice) < ODDS
        worth = torch.tensor([3.0, 0.0, 1.0])[arms] + 60.0 * (lucky & (arms == HACK))
        reward = gd.score_samples(pay.stages.scores[-1].reward, [{"completion": "x" * int(x)} for x in worth]).whole
        value = torch.tensor([nan if x is None else x for x in reward])
        reasons = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
        batch = said_tries([([0], 0.0)] * TRIES).with_cols({"reward": Column("track", value, reasons)})
        advantage = torch.tensor(credited(pay, batch)).nan_to_num().double()
        pull = torch.zeros(3, dtype=torch.float64).index_add_(0, arms, advantage) / TRIES
        logits = logits + (1.0 if name != "grpo" else 0.2) * (pull - p * pull.sum())
    return float(logits.softmax(0)[GOOD])


mechanism = Mechanism(
    "writing-zero-brpo",
    source="arXiv:2506.00103, abstract: BRPO, a reference drawn from the group, advantage +1 or -1 by a pairwise judge",
    numbers={
        "a judge, and how often it is asked": (judged, [[0.0, 0.0, 1.0, None], [6]]),
        "a function of two": (
            lambda: paid(recipe(gd.preferred(gd.reward(mostly_longer, isolate=False))), "a", "bb", "ccc"),
            [None, 0.7, 0.7],
        ),
        "another reward": (
            lambda: paid(recipe(), "aa", "aaa", "a", "aa", "b", "bb", group=[0, 0, 0, 0, 1, 1]),
            [None, 1.0, 0.0, 0.5, None, 1.0],
        ),
        "what has no value is nobody's reference": (
            lambda: paid(recipe(lambda completion: None if completion == "?" else 1.0), "?", "a", "b"),
            [None, None, 0.5],
        ),
        "a win, a loss, a tie and the reference": (
            lambda: advantages(1.0, 0.0, 0.5, nan, 0.6),
            [1.0, 1.0, -1.0, -1.0, 0.0, 0.0, nan, nan, 1.0, 1.0],
        ),
        "groups that are not lopsided": (
            lambda: [
                kept(0.0, 1 / 7, 6 / 7, 1.0),
                kept(0.0, 1 / 7, 3 / 7, 1.0, lopsided=0.2),
                kept(0.0, 1.0, lopsided=0.0),
            ],
            [2, 1, 2],
        ),
        "by the task's verdict": (
            lambda: str(made("writing-zero-brpo").stages.scores[-1].reward),
            "beats_first(correct)",
        ),
        "composed": (
            lambda: [type(stage).__name__ for stage in recipe().stages],
            ["verified", "score", "won_or_lost", "Learn"],
        ),
        "what it does not go with": (refused, True),
    },
    world=World(
        says="of a reward that now and then pays a poor answer far too much the good answer is learned",
        measure=learned,
        off={"name": "grpo"},
        moves=0.3,
    ),
)
