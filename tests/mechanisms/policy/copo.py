"""COPO: where the tries at a problem are alike, its rate of success among the problems of the step is their advantage."""

from __future__ import annotations

from math import exp, log, log2, sqrt

import torch
from harness import Mechanism, World, made, said_tries

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay

RIGHT, WRONG, MIXED = (
    [([0], 1.0), ([0], 1.0)],
    [([1], 0.0), ([1], 0.0)],
    [([2], 1.0), ([3], 0.0), ([4], 0.0), ([5], 0.0)],
)
GATE = 1 / (1 + exp(5))  # of a group that agrees: its entropy is 0


def credit(*problems, bits=(0.0, 0.0, 1.5), alone=False, **knobs):
    """What the stage makes of problems whose answers have an entropy."""
    stages = [each for each in made("copo", **knobs).stages if type(each).__name__ in ("centre", "by_problem")]
    batch = said_tries(*problems)
    every = [bit for problem, bit in zip(problems, bits, strict=False) for _ in problem]
    batch = batch.with_cols({"answer_entropy": Column.full("track", torch.tensor(every))})
    for stage in stages[alone:]:
        batch = stage(batch, ExamplePlay())
    return batch


def advantages(*problems, **knobs):
    return credit(*problems, alone=True, **knobs)["problem_advantage"].tolist()


def weights(**knobs):
    batch = credit(RIGHT, WRONG, MIXED, alone=True, **knobs)
    assert torch.allclose(batch["local_weight"] + batch["problem_weight"], torch.ones(8))
    return batch["local_weight"].tolist()


def entropy(*texts, **knobs):
    stage = [each for each in made("copo", **knobs).stages if type(each).__name__ == "score"][-1]
    return list(gd.score_samples(stage.reward, [{"completion": text} for text in texts]).whole)


def loss(*problems, bits=(0.0, 0.0), **knobs):
    """Of tries that were sampled with log-prob -1 and now have -1.5."""
    batch, learner = credit(*problems, bits=bits, **knobs), made("copo", **knobs).stages.learners[0]
    logp = (batch.logp - 0.5).requires_grad_()
    value, _ = learner.loss(batch, {"logp": logp, "entropy": torch.zeros(batch.S)})
    value.backward()
    return [value.item(), *logp.grad.tolist()]


def wrong_for_all(method="copo"):
    """How likely a wrong answer is that every try gave, after some updates with tries at a problem that is solved beside it."""
    recipe = made(method)
    batch = said_tries(RIGHT, WRONG)
    batch = credit(RIGHT, WRONG) if method == "copo" else recipe.stages.credit[0](batch, ExamplePlay())
    batch.logp[:] = log(0.5)
    logits = torch.zeros(2, 2, requires_grad=True)
    for _ in range(4):
        logp = logits.log_softmax(1)
        live = {"logp": torch.stack([logp[0, 0]] * 2 + [logp[1, 1]] * 2), "entropy": torch.zeros(4)}
        (pull,) = torch.autograd.grad(recipe.stages.learners[0].loss(batch, live)[0], logits)
        logits = (logits - 0.5 * pull).detach().requires_grad_()
    return float(logits.detach().softmax(1)[1, 1])


UP = 1 / sqrt(2)  # of two problems, one above the mean and one below, by the deviation of a sample
RATES = [1.0, 0.0, 0.25]
MEAN, SPREAD = 1.25 / 3, sqrt(sum((rate - 1.25 / 3) ** 2 for rate in RATES) / 2)
LESS = [1.0, 0.0, 0.25 * (1 - 0.75 / 2 * 1.5)]  # as they count where answers differ
mechanism = Mechanism(
    "copo",
    source="arXiv:2508.04138; hijih/copo-code, verl/trainer/ppo/core_algos.py at 095afa5a and run_copo.sh at c15c75f5",
    numbers={
        "two problems": (lambda: advantages(RIGHT, WRONG), [UP, UP, -UP, -UP]),
        "three": (
            lambda: advantages(RIGHT, WRONG, MIXED)[::2],
            [(r - MEAN) / (SPREAD + 1e-6) for r in (1.0, 0.0, 0.25, 0.25)],
        ),
        "problems that are nearly alike": (
            lambda: advantages([([0], 2e-6)], [([1], 0.0)]),
            [1 / (2**0.5 + 1), -1 / (2**0.5 + 1)],
        ),
        "groups of two, and of one": (
            lambda: advantages(WRONG, MIXED[:2], [([0], 0.25)], bits=(0.0, 1.0, 0.0), agreeing=True)[::2],
            [-2 / sqrt(3), 1 / sqrt(3), 1 / sqrt(3)],  # rates of 0, 0.5 (1 - 0.5) and 0.25
        ),
        "one problem alone": (lambda: advantages(MIXED), [0.0] * 4),
        "agreeing": (
            lambda: advantages(RIGHT, MIXED, bits=(0.0, 1.5), agreeing=True),
            [UP] * 2 + [-UP] * 4,
        ),
        "rates where answers differ": (
            lambda: advantages(RIGHT, WRONG, MIXED, agreeing=True)[2:5:2],
            [(r - sum(LESS) / 3) / (sqrt(sum((x - sum(LESS) / 3) ** 2 for x in LESS) / 2) + 1e-6) for r in LESS[1:]],
        ),
        "right tries": (weights, [GATE] * 2 + [0.0] * 2 + [1 / (1 + exp(-2.5)), 0.0, 0.0, 0.0]),
        "every try": (lambda: weights(local="every try"), [GATE] * 4 + [1 / (1 + exp(-2.5))] * 4),
        "groups that differ": (lambda: weights(local="groups that differ"), [0.0] * 4 + [1 / (1 + exp(-2.5))] * 4),
        "half and half": (lambda: weights(local="every try", gate=0.0), [0.5] * 8),
        "rho": (lambda: weights(local="every try", rho=0.0, gate=1.0)[::4], [0.5, 1 / (1 + exp(-1.5))]),
        "entropy of numbers": (lambda: entropy("so 4", "4.0", "5", "none"), [1.5] * 4),
        "of texts": (lambda: entropy("Answer: b", "so\nAnswer: B", "Answer: a", answer="text"), [log2(3) - 2 / 3] * 3),
        "where all agree": (lambda: entropy("4", "4"), [0.0, 0.0]),
        "two losses": (
            lambda: loss(RIGHT, WRONG),
            [
                (-2 * (1 - GATE) * UP * exp(-0.5) + 2 * UP * 0.8) / 4,
                *[-(1 - GATE) * UP * exp(-0.5) / 4] * 2,
                *[0.0] * 2,  # wrong ones have fallen below the clip
            ],
        ),
        "mixed by half": (
            lambda: loss(RIGHT, MIXED, bits=(0.0, 1.0), local="every try", gate=0.0)[3],
            -0.5 * exp(-0.5) * 0.75 / (0.5 + 1e-4) / 6,  # its problem is under the mean, and that half below the clip
        ),
        "a try without a reward": (
            lambda: advantages([([0], float("nan")), ([0], 1.0)], WRONG, bits=(0.0, 0.0)),
            [float("nan"), UP, -UP, -UP],
        ),
        "composed": (
            lambda: [type(stage).__name__ for stage in made("copo").stages] + [made("copo", kl=0.1).stages[-1].needs],
            [
                *("verified", "score", "centre", "by_problem", "Learn"),
                ["advantage", "local_weight", "problem_advantage", "problem_weight", "reference.logp"],
            ],
        ),
    },
    world=World(
        says="a wrong answer that every try gave becomes less likely, where GRPO has no advantage",
        measure=wrong_for_all,
        off={"method": "grpo"},
        moves=-0.1,
    ),
    equal={
        "by_problem.__call__: group[:1] shuffled": "all problems are one group",
    },
)
