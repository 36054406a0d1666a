"""HBPO: several token budgets for a problem, a reward that fits each, and an advantage within and across them."""

from __future__ import annotations

from math import cos, nan, pi

import torch
from harness import Mechanism, World, credited, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.curricula.token_budgets import budgeted
from guerdon.rewards.text.length_budgets import promise, within_budget

fits = within_budget(8)


def worth(n, limit=8, scale=4.0):
    return scale * cos(pi * n / (2 * limit))


def pay(*tries, **knobs):
    """What tries of so many tokens under budgets are paid, right ones and wrong ones, and what was promised."""
    recipe = made("hbpo", reward=right, max_tokens=8, **knobs)
    samples = [{"completion": said, "actions": [0] * n, "budget": budget} for said, n, budget in tries]
    return [gd.score_samples(stage.reward, samples).whole for stage in recipe.stages.scores[1:]]


@gd.reward(isolate=False)
def right(completion):
    return float(completion == "right")


def asked(**knobs):
    asks = made("hbpo", max_tokens=64, **knobs).curriculum.draw(1, ExamplePlay())
    return [[ask.n, ask.note["budget"], ask.shown.removeprefix(ask.task.prompt)] for ask in asks]


def advantages(rewards, **knobs):
    """Of two budgets with two tries each, the second promising 2 and the first 3."""
    ask = gd.Task("1", "")
    tries = [episode(segment([0, 0]), ask=gd.Ask(ask, 2), number=n // 2, attempt=n % 2) for n in range(4)]
    value = torch.tensor(rewards)
    column = Column("track", value, torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8))
    promised = Column.full("track", torch.tensor([3.0, 3.0, 2.0, 2.0]))
    return credited(made("hbpo", **knobs), pack(tries).with_cols({"reward": column, "promised": promised}))[::2]


S = (2 / 3) ** 0.5 + 1e-4  # of 3, 2, 1 and 2

mechanism = Mechanism(
    "hbpo",
    source="arXiv:2507.15844, eq. 1 to 3, advantages within and across budgets; beta 4 and a deviation of 1: the code",
    also=[within_budget, promise, budgeted.within],
    numbers={
        "within, over and beyond the budget, wrong, and what each was promised": (
            lambda: pay(
                ("right", 2, 4), ("right", 4, 4), ("right", 6, 4), ("right", 8, 2), ("right", 9, 4), ("wrong", 2, 4)
            ),
            [
                [worth(4), worth(4), worth(6) - 2 / 8, worth(8) - 6 / 8, 0.0, 0.0],
                [worth(4), worth(4), worth(4), worth(2), worth(4), worth(4)],
            ],
        ),
        "without a budget, and one above the limit": (
            lambda: [fits("", actions=[0] * 4), fits.worth(9), promise(fits)()],
            [worth(4), 0.0, None],
        ),
        "another deviation": (lambda: within_budget(8, deviation=3.0)("", actions=[0] * 6, budget=4), worth(6) - 0.75),
        "four budgets of the limit": (
            lambda: asked(tries=5, announce="nothing"),
            [[2, 8, ""], [1, 16, ""], [1, 32, ""], [1, 40, ""]],
        ),
        "told": (lambda: asked(shares=(0.25,))[0][2], "\nAnswer within 16 tokens."),
        "across and within": (
            lambda: advantages([3.0, 2.0, 1.0, 2.0]),
            [1 / S - 0.5, -0.5, -1 / S - 0.5, -0.5],
        ),
        "half of the term within": (
            lambda: advantages([3.0, 2.0, 1.0, 2.0], intra=0.5),
            [1 / S - 0.25, -0.25, -1 / S - 0.25, -0.25],
        ),
        "a try without a reward is in no mean": (
            lambda: advantages([3.0, nan, 3.0, 3.0], intra=1.0),
            [0.0, nan, 1.0, 1.0],
        ),
    },
    world=World(
        says="a problem that takes long answers: under its budget a long right one is paid no less than a short one",
        measure=lambda budget: (lambda a: a[0] - a[1])(pay(("right", 2, budget), ("right", 7, budget))[0]),
        on={"budget": 7},
        off={"budget": None},
        moves=-2.0,
    ),
    equal={
        "below_promise.__call__: with_step_column(...) with mark before column": "whose reason is told first where both lack",
        "within_budget.__call__: n <= budget -> n < budget": "at the budget both lines say the same",
        "budgeted.within: ask.but(...) without sampling=": "HBPO cuts nothing short: an ask keeps its own",
    },
    without={"budget_told.*": "problems of the exam, which is no part of the mechanism"},
)
