"""Curriculum GRPO: a reward for keeping to a token budget that shrinks as the run goes on."""

from __future__ import annotations

from math import ceil

from harness import Later, Mechanism, World, made

import guerdon as gd
from guerdon.core.task import Ask, Sampling, Task
from guerdon.curricula.token_budgets import budgeted
from guerdon.rewards.text.length_budgets import keeps_to
from guerdon.studies.schedules import decayed


@gd.reward(isolate=False)
def right(completion):
    return float(completion == "right")


def pay(*lengths, said="right", step=0, **knobs):
    recipe = made("curriculum-grpo", reward=right, **knobs)
    samples = [{"completion": said, "actions": [0] * n} for n in lengths]
    return gd.score_samples(recipe.stages.scores[-1].reward, samples, step=step, steps=8).whole


def banded(*lengths):
    samples = [{"completion": "", "actions": [0] * n} for n in lengths]
    return gd.score_samples(keeps_to(4.0, ramp=False), samples).whole


def cut(size, room):
    return budgeted(None, (size,), room=room, sampling=Sampling())._cut(Ask(Task("", "")), size).max_tokens


def asked(step, **knobs):
    (ask,) = made("curriculum-grpo", max_tokens=300, **knobs).curriculum.draw(1, Later(step, 8))
    return [ask.n, ask.note["budget"], ask.sampling.max_tokens, ask.shown.removeprefix(ask.task.prompt)]


B = [256 * (87 / 256) ** (k / 3) for k in range(4)]

mechanism = Mechanism(
    "curriculum-grpo",
    source="arXiv:2508.08940, sections 3.3 and 4.4: a triangle around B(t), B(t) in equal factors from 256 to 87; 0.6 and 0.3",
    also=[keeps_to, decayed, budgeted.draw, budgeted._cut],
    numbers={
        "right, and a triangle around 4": (
            lambda: pay(1, 4, 6, 8, 9, budget=4, final=4),
            [0.6 + 0.3 / 4, 0.9, 0.6 + 0.15, 0.6, 0.6],
        ),
        "wrong": (lambda: pay(4, said="wrong", budget=4, final=4), [0.3]),
        "other weights": (lambda: pay(2, budget=4, final=4, correct=1.0, brief=0.5), [1.25]),
        "the budget falls": (
            lambda: [pay(2, step=step, budget=4, final=2, decay="linear")[0] for step in (0, 4)],
            [0.6 + 0.3 / 2, 0.6 + 0.3 * 2 / (4 - 2 * 4 / 7)],
        ),
        "the band": (lambda: banded(1, 4, 6, 9), [1.0, 1.0, 0.5, 0.0]),
        "budgets by steps": (
            lambda: [asked(step)[1] for step in (0, 1, 2, 4, 6, 7)],
            [256, 256, round(B[1]), round(B[2]), 87, 87],
        ),
        "over a part of the run": (
            lambda: [decayed(8.0, 1.0, over=4).at(step, 99) for step in range(6)],
            [8.0, 4.0, 2.0, 1.0, 1.0, 1.0],
        ),
        "told, and cut at twice": (lambda: asked(2), [8, 179, 300, "\nUse exactly 179 tokens."]),
        "not told": (lambda: asked(6, announce="nothing"), [8, 87, ceil(2 * 87), ""]),
        "over five steps": (lambda: [decayed(4.0, 1.0, 2, over=5).at(step, 9) for step in range(5)], [4, 4, 2, 2, 1]),
        "a budget of one at least": (lambda: asked(0, budget=1, final=1)[1:3], [1, 2]),
        "an odd budget is cut at twice": (
            lambda: budgeted(None, (3,), room=1.5, sampling=Sampling())._cut(Ask(Task("", "")), 3).max_tokens,
            5,
        ),
        "tries": (lambda: asked(0, tries=3)[0], 3),
    },
    world=World(
        says="a long right answer late in the run: it loses against one that keeps to the budget of the day",
        measure=lambda final: (lambda a: a[0] - a[1])(pay(4, 16, step=7, budget=16, final=final)),
        on={"final": 4},
        off={"final": 16},
        moves=0.4,
    ),
    equal={
        "budgeted._cut: not self.room or how is None -> not self.room and how is None": "there is always a sampling here",
    },
)
