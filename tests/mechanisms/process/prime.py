"""PRIME: token rewards that a model taught on outcomes implies, beside the outcome, each against the other tries."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, World, made, small_model

from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.recipes.process.prime import return_over_others

TOKENS = [1.0, 3.0, 0.0, 2.0, 4.0, 0.0]  # of three tries of two tokens; means 2, 1 and 2
# each less the mean of the others' means (1.5, 2 and 1.5), added up from the end
RETURNS = [(1 - 1.5) + (3 - 1.5), 3 - 1.5, (0 - 2) + (2 - 2), 2 - 2, (4 - 1.5) + (0 - 1.5), 0 - 1.5]


def batch(tokens, correct=(1.0, 0.0, 0.0)):
    value = torch.tensor(tokens)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    tries = example_tries([list(correct)], steps=len(tokens) // len(correct))
    tries = tries.with_cols({"process_steps": Column("step", value, reason)})
    return tries.with_cols({"correct": Column.full("track", torch.tensor(list(correct)))})


def returns(tokens=TOKENS, correct=(1.0, 0.0, 0.0), **knobs):
    return return_over_others(**knobs)(batch(tokens, correct), ExamplePlay())["process_return"]


def two_problems():
    """Two tries at one problem and three at another, of one token."""
    tries = example_tries([[1.0, 0.0], [1.0, 0.0, 0.0]], process_steps=[1.0, 2.0, 4.0, 4.5, 5.0])
    return return_over_others(bounded=False)(tries, ExamplePlay())["process_return"]


def recipe(**knobs):
    return made("prime", "chain:1", small_model(), **knobs)


def mixture(before="only", **knobs):
    """What the credit comes to before it is masked and whitened."""
    tries = batch(TOKENS)
    for stage in recipe(**knobs).stages.credit:
        if type(stage).__name__ == before:
            break
        tries = stage(tries, ExamplePlay())
    return tries["advantage"]


def wired(**knobs):
    made_of = recipe(**knobs)
    teach, learner = made_of.stages.learners
    process = made_of.stages.scores[-1]
    taught = [teach.model, teach.loss.beta, teach.opt.lr, teach.on.low, teach.on.high]
    return [*taught, process.reward.beta, process.reward.per, learner.loss.mean, list(made_of.models)]


mechanism = Mechanism(
    "prime",
    source="arXiv:2502.01456, section 3.2: RLOO of outcomes, and of token rewards less the others' mean; beta 0.05, 0.2 to 0.8",
    numbers={
        "what is still to come, less the others' mean token": (lambda: returns(bounded=False), RETURNS),
        "bounded by the largest sum to come, 4": (returns, [(x * 1) / 4 for x in RETURNS]),
        "discounted": (lambda: returns(bounded=False, gamma=0.5)[:2], [-0.5 + 0.75, 1.5]),
        "alone in its group": (lambda: returns([1.0, 3.0], (1.0,), bounded=False), [4.0, 3.0]),
        "a try without rewards": (
            lambda: returns([1.0, 3.0, nan, nan, 4.0, 0.0], bounded=False),
            [0.0, 1.0, nan, nan, 0.0, -2.0],
        ),
        "a token without a reward, and the largest sum among the others' 0.4": (
            lambda: returns([0.1, 0.3, nan, 0.2, 0.4, 0.0])[[0, 1, 4, 5]],
            [0.0, 0.25, 0.0, -0.5],
        ),
        "tokens that cost": (lambda: returns([-1.0, -3.0, 0.0, 0.0], (1.0, 0.0)), [-1.0, -0.75, 1.0, 0.5]),
        "no reward at all": (lambda: returns([0.0] * 4, (1.0, 0.0)), [0.0] * 4),
        "two problems": (lambda: two_problems(), [-1.0, 1.0, -0.75, 0.0, 0.75]),
        "taught on what is solved now and then": (
            wired,
            ["prm", 0.05, 3e-4, 0.2, 0.8, 0.05, "token", "step", ["policy", "prm", "reference"]],
        ),
        "with other knobs": (
            lambda: wired(beta=0.1, prm_lr=1e-3, least_solved=0.3, most_solved=0.6)[1:6],
            [0.1, 1e-3, 0.3, 0.6, 0.1],
        ),
        "outcome and tokens": (
            mixture,
            [o + r / 4 for o, r in zip([1.0, 1.0, -0.5, -0.5, -0.5, -0.5], RETURNS, strict=True)],
        ),
        "outcome alone": (lambda: mixture(process=0.0), [1.0, 1.0, -0.5, -0.5, -0.5, -0.5]),
        "half of the tokens": (lambda: mixture(process=0.5)[0], 1.0 + RETURNS[0] / 8),
    },
    world=World(
        says="two wrong tries, one of which goes wrong at its last token: its first is not blamed as the other's is",
        measure=lambda **knobs: float(mixture(**knobs)[4] - mixture(**knobs)[2]),
        off={"process": 0.0},
        moves=0.5,
    ),
    equal={
        "return_over_others.__call__: 0.0 -> 1.0 (3)": "of a try without rewards, whose own return is none",
        "return_over_others.__call__: 0 -> 1": "a mean with a hole is none already",
    },
)
