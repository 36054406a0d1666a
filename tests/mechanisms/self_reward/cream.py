"""CREAM: labels of pairs are as sure as the rankings of two rounds agree."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Later, Mechanism, World, made, said_tries

from guerdon.core.column import Column, Reason
from guerdon.core.statistics import kendall
from guerdon.recipes.self_reward.cream import ranking
from guerdon.select.pairs import paired

TRIES = [([1], 4.0), ([2], 3.0), ([3], 2.0), ([4], 1.0)], [([5], 1.0), ([6], 2.0)], [([7], 1.0)]
BEFORE = [1.0, 3.0, 2.0, 4.0, 6.0, 5.0, 7.0]  # of the first problem 4 > 2 > 3 > 1: five of six turned round, and -2/3


def labelled(before=BEFORE, tries=TRIES, **knobs):
    """The pairs' labels, and the mean consistency."""
    recipe, play = made("cream", **knobs), Later(0, 9)
    batch = said_tries(*tries, column="reward")
    value = torch.tensor(before)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    batch = batch.with_cols({"before": Column("track", value, reason)})
    batch = paired("reward")(batch, play)
    for stage in recipe.stages:
        batch = stage(batch, play) if type(stage).__name__ == "as_sure_as" else batch
    return [batch.pairs.label.tolist(), play.metrics.get("consistency")]


def missing():
    """Tries without a value in one of the columns are in neither order: 4 > 2 > 1 twice, and 3 > 1 the other way round."""
    tries = [([1], 4.0), ([2], 3.0), ([3], 2.0), ([4], 1.0)], [([5], float("nan")), ([6], 3.0), ([7], 1.0)]
    return labelled([4.0, float("nan"), 3.0, 2.0, 2.0, 1.0, 3.0], tries)[0]


def loss(label, z):
    """DPO's of one pair whose margin is z."""
    batch = said_tries([([1], 1.0), ([2], 0.0)], column="reward").with_cols(
        {"reference.logp": Column.full("step", torch.tensor([-1.0, -1.0]))}
    )
    batch = paired("reward")(batch, Later(0, 9))
    batch.pairs.label[:] = label
    value, _ = made("cream").stages.learners[0].loss(batch, {"logp": torch.tensor([-1.0 + 10 * z, -1.0])})
    return float(value)


def rounds():
    """After each of five steps, in rounds of two, the steps that the three models are of; a step adds 1 to the weights."""
    recipe = made("cream", round_steps=2)
    models, found = recipe.models, []
    for model in models.values():
        model.start(0, models)
    for step in range(5):
        with torch.no_grad():
            models["policy"].net.logits += 1
        for name in models:
            if hasattr(models[name], "observe"):
                models[name].observe(None, Later(step, 5))
        found.append(
            [round(float(models[name].net.logits[0, 0].detach())) for name in ("policy", "reference", "previous")]
        )
    return found


def composed(**knobs):
    recipe = made("cream", **knobs)
    return [repr(stage) for stage in recipe.stages[1:]] + [recipe.seats, recipe.exams[0].seats]


def margin(consistency="problem"):
    """DPO's margin of a pair whose tries two rounds order without any agreement, after learning from where it is 1.5."""
    recipe, play = made("cream", consistency=consistency, beta=0.5), Later(0, 9)
    tries = [([n], 4.0 - n) for n in range(4)]
    batch = said_tries(tries, column="reward")
    batch = batch.with_cols(
        {
            "before": Column.full("track", torch.tensor([3.0, 1.0, 4.0, 2.0])),
            "reference.logp": Column.full("step", torch.full((4,), log(1 / 4))),
        }
    )
    for stage in recipe.stages[2:-1]:
        batch = stage(batch, play) if not hasattr(stage, "formula") else batch
    logits = torch.tensor([3.0, 0.0, 0.0, 0.0], requires_grad=True)
    objective = recipe.stages.learners[0].loss
    for _ in range(60):
        value, noted = objective(batch, {"logp": logits.log_softmax(0)})
        (pull,) = torch.autograd.grad(value, logits)
        logits = (logits - 4.0 * pull).detach().requires_grad_()
    return abs(float(noted["margin"]))


S = [1 / (1 + exp(-z)) for z in (0.3, -0.3)]
mechanism = Mechanism(
    "cream",
    source="arXiv:2410.12735; Raibows/CREAM, cal_consistency.py and sft_dpo_trainer.py, lines 88-105",
    also=[kendall],
    equal={
        "as_sure_as.__call__: tracks[0] shuffled": "they are of one problem",
        "kendall: first[i] < first[j] -> first[i] <= first[j]": "no two have one rank",
        "kendall: second[i] < second[j] -> second[i] <= second[j]": "no two have one rank",
    },
    numbers={
        "Kendall": (
            lambda: [kendall([0, 1, 2], other) for other in ([0, 1, 2], [2, 1, 0], [0, 2, 1])],
            [1.0, -1.0, 1 / 3],
        ),
        "equal ones are ordered as they come": (
            lambda: [ranking([2.0, 1.0, 2.0, 0.0]), ranking([1.0, 1.0])],
            [[2, 1, 3, 0], [0, 1]],
        ),
        "of each problem": (labelled, [[1 / 6, 0.0], 1 / 12]),
        "of a step": (lambda: labelled(consistency="step"), [[1 / 12, 1 / 12], 1 / 12]),
        "of a step with one problem": (lambda: labelled(BEFORE[:4], TRIES[:1], consistency="step"), [[1 / 6], 1 / 6]),
        "one model twice": (lambda: labelled([x for t in TRIES for _, x in t]), [[1.0, 1.0], 1.0]),
        "tries without a value": (missing, [1.0, 0.0]),
        "nothing to order": (lambda: labelled([1.0, 2.0], [[([1], 1.0)], [([2], 1.0)]]), [[], 0.0]),
        "the loss": (
            lambda: [loss(0.25, 0.3), loss(0.5, 0.0), loss(1.0, 0.3)],
            [-0.25 * log(S[0]) - 0.75 * log(S[1]), log(2), -log(S[0])],
        ),
        "rounds": (rounds, [[1, 0, 0], [2, 2, 0], [3, 2, 0], [4, 4, 2], [5, 4, 2]]),
        "composed": (
            composed,
            [
                "score(reward=likelihood(model='reference'))",
                "paired()",
                "score(reward=likelihood(model='previous'), gives_to='before')",
                "as_sure_as(other='before')",
                "Learn(model='policy', loss=dpo(), opt=adam(lr=2e-05))",
                {"policy": "reference"},
                {"policy": "policy"},
            ],
        ),
        "hard labels": (lambda: len(composed(consistency="none")), 5),
    },
    world=World(
        says="where two rounds' rankings have nothing in common, the pair's margin is pulled to 0",
        measure=margin,
        off={"consistency": "none"},
        moves=-1.5,
    ),
)
