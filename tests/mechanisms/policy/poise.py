"""POISE: the baseline of a try is what the policy's own states say of another try's reward."""

from __future__ import annotations

import dataclasses
from math import nan, sqrt

import torch
from harness import Mechanism, World, made, said_tries

from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.credit.baselines import cross_baseline

P, REWARD, VALUE = [0.5, 0.3, 0.2], [1.0, 0.0, 0.6], [0.9, 0.3, -0.4]  # of three answers; what is predicted of each


def stages(**knobs):
    """The probe, and the credit by what it predicts."""
    recipe = made("poise", **knobs)
    return [each for each in recipe.stages if type(each).__name__ in ("predicted_reward", "cross_baseline")]


def expected_gradient(**knobs):
    """By the logits, of the whole loss: the mean over both of all pairs of tries, each as often as it is drawn."""
    learner, (_, credit) = made("poise", **knobs).stages.learners[0], stages(**knobs)
    total = torch.zeros(3, dtype=torch.float64)
    for first in range(3):
        for second in range(3):
            batch = said_tries([([first], REWARD[first]), ([second], REWARD[second])])
            predicted = Column.full("track", torch.tensor([VALUE[first], VALUE[second]], dtype=torch.float64))
            batch = credit(batch.with_cols({"predicted": predicted}), ExamplePlay())
            logits = torch.tensor(P, dtype=torch.float64).log().requires_grad_()
            logp = logits.log_softmax(0)[[first, second]]
            batch.logp[:] = logp.detach()
            learner.loss(batch, {"logp": logp, "entropy": torch.zeros(2)})[0].backward()
            total += P[first] * P[second] * logits.grad
    return (-256 * total).tolist()


def true_gradient(worth):
    mean = sum(p * w for p, w in zip(P, worth, strict=True))
    return [p * (w - mean) for p, w in zip(P, worth, strict=True)]


def told(states, rewards, entropy=0.0, lengths=None, given=()):
    """A batch of tries at one problem, each of steps with a state, some of them given."""
    lengths = lengths or [1] * len(rewards)
    batch = said_tries([([0] * n, r) for n, r in zip(lengths, rewards, strict=True)])
    batch = dataclasses.replace(batch, weight=torch.tensor([float(step not in given) for step in range(batch.S)]))
    hidden = torch.tensor(states, dtype=torch.float32)
    entropies = torch.full((batch.S,), entropy) if isinstance(entropy, float) else torch.tensor(entropy)
    return batch.with_cols(
        {"policy.hidden": Column.full("step", hidden), "policy.entropy": Column.full("step", entropies)}
    )


def predictions(*batches, **knobs):
    """Of the last batch, after the others."""
    probe, _ = stages(**knobs)
    for batch in batches:
        predicted = probe(batch, ExamplePlay())["predicted"]
    return predicted.tolist()


def features(*args, **knobs):
    return stages()[0]._features(told(*args, **knobs)).tolist()


TAUGHT = told([[1.0, 0.0], [0.0, 2.0]], [1.0, 0.0])


OTHERWISE = told([[1.0, 0.0], [0.0, 2.0]], [0.0, 1.0])


def by_hand(rewards=(1.0, 0.0), weight=1.0, ridge=0.01):
    """What a ridge regression on two tries says of them, whose features are (1, 0, 1, 0, 0, 0, 1) and (0, 1, 0, 1, 0, 0, 1)."""
    x = torch.tensor([[1.0, 0, 1, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0, 1]], dtype=torch.float64)
    gram, product = weight * x.T @ x, x.T @ torch.tensor(rewards, dtype=torch.float64)
    by = torch.linalg.solve(gram + ridge * gram.diagonal().mean() * torch.eye(7), product)
    return (x @ by).tolist()


def crossed():
    """Of groups of three tries, one, two and one; one has no reward, and one no prediction."""
    batch = said_tries(*[[([0], r) for r in group] for group in ([1.0, 0.0, nan], [2.0], [1.0, 3.0], [4.0])])
    predicted = torch.tensor([0.9, 0.2, 0.4, 0.5, 0.7, nan, 0.3])
    reason = torch.tensor([0] * 5 + [int(Reason.FAILED), 0], dtype=torch.int8)
    batch = batch.with_cols({"predicted": Column("track", predicted, reason)})
    return stages()[1](batch, ExamplePlay())["advantage"].tolist()


def logged():
    play, (probe, _) = ExamplePlay(), stages()
    probe(TAUGHT, play)
    first = [play.metrics["predicted_error"], play.metrics["predicted_gain"]]
    probe(TAUGHT, play)
    return [*first, play.metrics["predicted_gain"] > 0.9]


def variance(method="poise"):
    """The mean square of the advantage of two tries, where a state tells how hard its problem is, after some steps."""
    probe, credit = stages()
    if method == "rloo":
        probe, credit = None, made("rloo").stages.credit[0]
    dice, total = torch.Generator().manual_seed(0), 0.0
    for step in range(12):
        rates = torch.rand(16, generator=dice)
        rewards = (torch.rand(16, 2, generator=dice) < rates[:, None]).float()
        batch = said_tries(*[[([0], float(r)) for r in pair] for pair in rewards])
        states = torch.stack([rates, 1 - rates], 1).repeat_interleave(2, 0)
        batch = batch.with_cols(
            {"policy.hidden": Column.full("step", states), "policy.entropy": Column.full("step", torch.zeros(32))}
        )
        batch = credit(probe(batch, ExamplePlay()) if probe else batch, ExamplePlay())
        total += float(batch["advantage"].square().mean()) if step > 1 else 0.0
    return total / 10


mechanism = Mechanism(
    "poise",
    source="arXiv:2605.07579, abstract: a probe on hidden states and entropies, each try's value from an independent rollout",
    also=[cross_baseline],
    numbers={
        "unbiased, by enumeration": (expected_gradient, true_gradient(REWARD)),
        "from its own try it is not": (
            lambda: expected_gradient(own=True),
            true_gradient([r - v for r, v in zip(REWARD, VALUE, strict=True)]),
        ),
        "nothing is known at first": (lambda: predictions(TAUGHT), [0.0, 0.0]),
        "then it is regressed": (lambda: predictions(TAUGHT, TAUGHT), by_hand()),
        "with another ridge": (lambda: predictions(TAUGHT, TAUGHT, ridge=1.0), by_hand(ridge=1.0)),
        "features": (
            lambda: features([[3.0, 4.0], [0.0, 1.0], [0.3, 0.4]], [1.0, 0.0], [1.0, 4.0, 0.5], lengths=[2, 1]),
            [[1.5 / sqrt(8.5), 2.5 / sqrt(8.5), 0.0, 1.0, 2.5, 1.5, 1.0], [0.6, 0.8, 0.6, 0.8, 0.5, 0.0, 1.0]],
        ),
        "what was given has none": (
            lambda: features([[9.0, 9.0], [0.0, 1.0], [9.0, 9.0]], [1.0, 0.0], [7.0, 3.0, 8.0], [2, 1], [0, 2]),
            [[0.0, 1.0, 0.0, 1.0, 3.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]],
        ),
        "what earlier steps count": (
            lambda: predictions(OTHERWISE, TAUGHT, TAUGHT, keep=0.5),
            by_hand([1.0, 0.5], 1.5),
        ),
        "the others' predictions": (
            crossed,
            [1 - 0.3, -0.65, nan, 0.0, 0.0, 3 - 0.7, 0.0],
        ),
        "a try without a reward is predicted and not learned": (
            lambda: predictions(told([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]], [1.0, 0.0, nan]), TAUGHT),
            by_hand(),
        ),
        "what is logged": (logged, [0.5, -1.0, True]),
        "composed": (
            lambda: [repr(stage) for stage in made("poise", ridge=0.1, keep=0.5).stages[1:-1]],
            [
                "predicted_reward(ridge=0.1, keep=0.5, reward='correct')",
                "cross_baseline(reward='correct')",
            ],
        ),
        "reads": (lambda: list(stages()[0].needs), ["policy.hidden", "policy.entropy", "correct"]),
    },
    world=World(
        says="with two tries a problem, advantages against what states tell vary less than against the other try's reward",
        measure=variance,
        off={"method": "rloo"},
        moves=-0.1,
    ),
    equal={
        "predicted_reward.__call__: self.keep * self.seen + x.T @ torch.cat([x, y[:, None]], 1) -> "
        "self.keep * self.seen - x.T @ torch.cat([x, y[:, None]], 1)": "both sides of the equations change their sign",
        "predicted_reward.__call__: 1.0 -> 2.0": "where nothing is known the prediction is 0",
        "cross_baseline.__call__: count.clamp(min=1) -> count": "what is over 0 is not taken",
    },
)
