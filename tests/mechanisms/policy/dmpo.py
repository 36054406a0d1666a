"""DMPO: probabilities within a group of tries are matched to their rewards, so that every right try keeps its share."""

from __future__ import annotations

import dataclasses
from math import exp, log, nan

import torch
from harness import Mechanism, World, made, said_tries

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.recipes.policy.dmpo import log_softmax_by

TRIES = [([1, 2], 1.0), ([3], 0.0), ([4], 1.0)], [([5], 0.0), ([6], 0.0)]  # two problems; nobody solves the second
LOGP = [-1.0, -3.0, -1.0, -2.0, -1.0, -4.0]  # a mean of -2, -1 and -2, and of -1 and -4
P = [exp(-2), exp(-1), exp(-2)]
P = [p / sum(P) for p in P]
KL = log(0.5 / P[0])  # of 1/2, 0, 1/2: both right tries are as likely
APART = log(0.5) + (log(1 + exp(-3)) + log(1 + exp(3))) / 2  # of 1/2, 1/2 from the softmax of -1, -4


def learner(**knobs):
    return made("dmpo", **knobs).stages.learners[0]


def loss(tries=TRIES, logp=LOGP, given=(), **knobs):
    batch, live = said_tries(*tries), torch.tensor(logp, requires_grad=True)
    batch = dataclasses.replace(batch, weight=torch.tensor([float(step not in given) for step in range(batch.S)]))
    value, _ = learner(**knobs).loss(batch, {"logp": live})
    value.backward()
    return [float(value.detach()), *live.grad.tolist()]


def q(*rewards, temperature=1.0):
    every = [exp(r / temperature) for r in rewards]
    return [each / sum(every) for each in every]


def softmaxed(temperature):
    """Of the first problem alone."""
    target = q(1.0, 0.0, 1.0, temperature=temperature)
    kl = sum(t * log(t / p) for t, p in zip(target, P, strict=True))
    return [kl, *((p - t) / 2 for t, p in [(target[0], P[0])] * 2), P[1] - target[1], P[2] - target[2]]


def silent(form):
    return learner(form=form).loss.silent(said_tries(*TRIES)).tolist()


def refused():
    try:
        loss([[([1], -1.0), ([2], 1.0)]], [-1.0, -1.0])
    except UserError as error:
        return "one is negative" in str(error)


def other_column():
    """Tries paid 0, 2, 0 and 1, 1 by a reward beside the checker's verdict."""
    paid = Column.full("track", torch.tensor([0.0, 2.0, 0.0, 1.0, 1.0]))
    batch = said_tries(*TRIES).with_cols({"reward": paid})
    (learner,) = made("dmpo", reward=gd.reward(lambda completion: 1.0)).stages.learners
    return float(learner.loss(batch, {"logp": torch.tensor(LOGP)})[0])


def rarer(method="dmpo"):
    """What the rarer of two right answers of eight has of both, which begin 4:1, after learning from a group that has all."""
    batch, loss = said_tries([([n], float(n < 2)) for n in range(8)]), learner().loss
    logits = torch.tensor([log(4.0)] + [0.0] * 7, requires_grad=True)
    for _ in range(40):
        logp = logits.log_softmax(0)
        value = loss(batch, {"logp": logp})[0] if method == "dmpo" else -logp[:2].exp().sum()
        (pull,) = torch.autograd.grad(value, logits)
        logits = (logits - 2.0 * pull).detach().requires_grad_()
    p = logits.detach().softmax(0)
    return float(p[1] / (p[0] + p[1]))


mechanism = Mechanism(
    "dmpo",
    source="arXiv:2605.19461, abstract: forward KL from a target proportional to rewards to the policy within the group",
    numbers={
        "shares of the rewards": (
            lambda: loss(),
            [
                KL * 3 / 5,
                *((p - t) * 0.6 / n for p, t, n in [(P[0], 0.5, 2)] * 2),
                P[1] * 0.6,
                (P[2] - 0.5) * 0.6,
                0.0,
                0.0,
            ],
        ),
        "graded rewards": (
            lambda: loss([[([1], 3.0), ([2], 1.0)]], [-1.0, -1.0]),
            [0.75 * log(1.5) + 0.25 * log(0.5), 0.5 - 0.75, 0.5 - 0.25],
        ),
        "small rewards": (lambda: loss([[([1], 0.25), ([2], 0.25)]], [-1.0, -1.0]), [0.0, 0.0, 0.0]),
        "one right try is enough": (
            lambda: learner().loss.silent(said_tries([([1], 1.0), ([2], 0.0)])).tolist(),
            [False, False],
        ),
        "the softmax of the rewards": (lambda: loss(TRIES[:1], LOGP[:4], form="softmax"), softmaxed(1.0)),
        "at a temperature": (lambda: loss(TRIES[:1], LOGP[:4], form="softmax", target_temperature=0.5), softmaxed(0.5)),
        "a group without reward is drawn together": (
            lambda: loss(TRIES[1:], LOGP[4:], form="softmax")[1:],
            [1 / (1 + exp(-3)) - 0.5, 1 / (1 + exp(3)) - 0.5],
        ),
        "what is passed over": (lambda: [silent("share"), silent("softmax")], [[False] * 3 + [True] * 2, [False] * 5]),
        "a negative reward": (refused, True),
        "by the reward that was given": (other_column, (-3 * log(P[1]) + 2 * APART) / 5),
        "a given step": (
            lambda: loss(TRIES[:1], [nan, -2.0, -1.0, -2.0], given=[0])[:2],
            [KL, 0.0],
        ),
        "composed": (
            lambda: [
                repr(learner(form="softmax", target_temperature=0.5).loss),
                [type(s).__name__ for s in made("dmpo").stages],
            ],
            ["matched(form='softmax', temperature=0.5, reward='correct')", ["verified", "Learn"]],
        ),
        "groups are apart": (
            lambda: log_softmax_by(torch.tensor([0.0, 1000.0, 0.0]), torch.tensor([0, 1, 0]), 2),
            [log(0.5), 0.0, log(0.5)],
        ),
    },
    world=World(
        says="of two right answers that begin 4:1 the rarer one comes to half, where a policy gradient leaves it behind",
        measure=rarer,
        off={"method": "grpo"},
        moves=0.2,
    ),
    equal={
        "matched.__call__: 0.0 -> 1.0": "a step that weighs nothing is in no mean",
        "matched._target: 1.0 -> 2.0": "the rewards that it divides are 0",
        "matched.__call__: gather_up(each, group, size, 'sum')[group] shuffled": "a group counts as often, in another order",
    },
)
