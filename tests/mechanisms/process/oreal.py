"""OREAL: one right and one wrong try of a problem, weighed at the tokens where a head agrees with their outcome."""

from __future__ import annotations

import dataclasses
from math import exp, log, nan

import torch
from harness import Later, Mechanism, World, made, small_model

from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.recipes.process.oreal.parts import after_share, mean_outcome, one_of_each, weigh_tokens

# two tries of two tokens, the first right; what the head says before each: means up to it are log 3 and 2 log 3 / 2
HEAD = [log(3), log(3), log(1 / 3), -log(9)]
CHANCE = [0.75, 0.75, 0.25, 1 / (1 + 27**0.5)]
RIGHT, WRONG = [2 * p - 1 for p in CHANCE[:2]], [1 - 2 * p for p in CHANCE[2:]]


def column(level, values):
    value = torch.tensor(values)
    return Column(level, value, torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8))


def weighed(head=HEAD, shaped=(1.0, 1.0, -1.0, -1.0), correct=(1.0, 0.0), given=0, **knobs):
    batch = example_tries([list(correct)], steps=len(head) // len(correct))
    columns = {"correct": column("track", list(correct)), "shaped": column("step", list(shaped))}
    batch = batch.with_cols({**columns, "token_rm.value": column("step", head)})
    batch = dataclasses.replace(batch, weight=torch.where(torch.arange(batch.S) < given, 0.0, batch.weight))
    return weigh_tokens(**knobs)(batch, ExamplePlay())["advantage"].tolist()


def kept(*problems):
    """What is kept of tries at problems, by outcome."""
    rows = one_of_each("reward")(example_tries(list(problems)), ExamplePlay())
    return sorted((int(task), float(reward)) for task, reward in zip(rows.task[rows.leaf], rows["reward"], strict=True))


def loss(values, correct):
    batch = example_tries([correct], steps=2)
    return float(mean_outcome("reward")(batch, {"value": torch.tensor(values)})[0])


def recipe(**knobs):
    return made("oreal", "chain:1", small_model(), **knobs)


def shaped(**knobs):
    """The advantages of one right of three tries before they are weighed."""
    batch = example_tries([[1.0, 0.0, 0.0]])
    batch = batch.with_cols({"correct": column("track", [1.0, 0.0, 0.0])})
    for stage in recipe(**knobs).stages.credit[:2]:
        batch = stage(batch, ExamplePlay())
    return batch["shaped"]


def wired(**knobs):
    made_of = recipe(**knobs)
    learner, teach = made_of.stages.learners
    rates = [Later(step, 100).at(learner.opt.lr) for step in (0, 10, 11, 99)]
    last = made_of.stages.credit[-1]
    names = [type(stage).__name__ for stage in made_of.stages]
    loss_of = [term.mean for term in getattr(learner.loss, "terms", [learner.loss])]
    taught = [teach.model, teach.opt.lr, type(teach.on).__name__, list(made_of.models)]
    return [rates, last.negative, last.weighed, loss_of, taught, names]


NAMES = ["verified", "centre", "mixed", "only", "weigh_tokens", "Learn", "Learn"]
MODELS = ["policy", "reference", "token_rm"]

SIDE = "(counted & side).double().sum()"

mechanism = Mechanism(
    "oreal",
    source="arXiv:2502.06781; the released configuration's 0.5 for wrong tries and 10 of 90 steps of warm-up",
    numbers={
        "right by 2p - 1, wrong by half of 1 - 2p, each kind by its own number": (
            weighed,
            [*(2 * w for w in RIGHT), *(-0.5 * 2 * w for w in WRONG)],
        ),
        "a wrong try weighs more": (lambda: weighed(negative=1.0)[2:], [-2 * w for w in WRONG]),
        "not weighed": (lambda: weighed(weighed=False), [2.0, 2.0, -1.0, -1.0]),
        "where the head is wrong nothing is learned": (lambda: weighed([-1.0, -1.0, 1.0, 1.0]), [0.0] * 4),
        "two right tries share their half": (
            lambda: weighed([9e9] * 2 + [-9e9], (1.0, 1.0, -1.0), (1.0, 1.0, 0.0)),
            [1.5, 1.5, -0.5 * 3],
        ),
        "a step without an advantage is in no count": (
            lambda: weighed([9e9] * 2 + [-9e9] * 2, (1.0, nan, -1.0, -1.0)),
            [3.0, nan, -0.75, -0.75],
        ),
        "a hole in what the head says": (lambda: weighed([9e9, nan, -9e9, -9e9]), [2.0, nan, -1.0, -1.0]),
        "a step that was given is in no mean, whatever the head says of it": (
            lambda: [weighed([said, log(3), -9e9, -9e9], (nan, 1.0, -1.0, -1.0), given=1)[1] for said in (9e9, nan)],
            [1.5, 1.5],
        ),
        "cross-entropy of the mean": (
            lambda: loss([3.0, -1.0, 2.0, 0.0], [1.0, 0.0]),
            log((1 + exp(-1)) * (1 + exp(1))) / 2,
        ),
        "one of each, of problems with both": (
            lambda: kept([0.0, 0.0, 1.0, 1.0], [1.0, None], [None, 0.0], [1.0, 1.0, 1.0, 0.0]),
            [(0, 0.0), (0, 1.0), (3, 0.0), (3, 1.0)],
        ),
        "of 1 and -1, over the others": (shaped, [2.0, -1.0, -1.0]),
        "a schedule": (lambda: [after_share(2.0, 0.25).at(step, 4) for step in range(4)], [0.0, 2.0, 2.0, 2.0]),
        "composed": (
            wired,
            [[0.0, 0.0, 2e-5, 2e-5], 0.5, True, ["step"] * 2, ["token_rm", 3e-4, "one_of_each", MODELS], NAMES],
        ),
        "with other knobs": (
            lambda: [*wired(lr=1e-3, warm=0.5, negative=0.25)[:2], wired(rm_lr=1e-2)[4][1]],
            [[0.0, 0.0, 0.0, 1e-3], 0.25, 1e-2],
        ),
        "nothing is waited for": (lambda: wired(weighed=False)[:3], [[2e-5] * 4, 0.5, False]),
    },
    world=World(
        says="a right try that wanders before it is on its way: the tokens from there on are credited more",
        measure=lambda **knobs: (lambda a: float(a[1] - a[0]))(weighed([0.0, 4.0, -4.0, -4.0], **knobs)),
        off={"weighed": False},
        moves=1.0,
    ),
    equal={
        **dict.fromkeys(
            (
                "one_of_each.__call__: first[int(value[k] > 0.5)] shuffled",
                "one_of_each.__call__: value[k] > 0.5 -> value[k] <= 0.5",
            ),
            "one of both is kept, whichever is called the first",
        ),
        "one_of_each.__call__: value[k] > 0.5 -> value[k] >= 0.5": "outcomes are 0 and 1",
        "weigh_tokens.__call__: at_steps(batch, outcome) > 0.5 -> at_steps(batch, outcome) >= 0.5": "outcomes are 0 and 1",
        f"weigh_tokens.__call__: {SIDE}.clamp(min=1) -> {SIDE}": "a kind that is not there has no step to weigh",
        "weigh_tokens.__call__: with_step_column(...) with head before outcome": "whose reason is told first",
        "weigh_tokens._chance: 0.0 -> 1.0": "what is no number is masked after, or given",
        "weigh_tokens._chance: upto(own).clamp(min=1) -> upto(own)": "a given step has no advantage",
    },
)
