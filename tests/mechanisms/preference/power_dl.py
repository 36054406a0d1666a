"""POWER-DL: of answers with few pairs one that won by chance is not favoured, and one that lost by chance is not buried."""

from __future__ import annotations

import dataclasses
from math import exp, log, nan

import torch
from harness import Later, Mechanism, World, made
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.pack import pack

A, B, BAD, GOOD = 0, 1, 2, 3  # two frequent answers; a poor one that won once, a good one that lost once
FILE = [(A, B)] * 9 + [(B, A)] * 3 + [(BAD, A)] + [(A, GOOD)]
START = torch.tensor([0.3, 0.3, 0.05, 0.35]).log()
LONG = [([A], 1.0), ([B, B], 0.0)]


def recipe(**knobs):
    return made("power-dl", "chain:1", **{"beta": 2.0, "eta": 0.2, "rate": 0.1, **knobs})


PAIRED = made("dpo", "chain:1").stages[1]


def rows(*problems):
    """The pairs of problems, each of which has its answers in one episode, as a file's rows are recited."""
    said = [[segment(list(actions)) for actions, _ in answers] for answers in problems]
    batch = pack([episode(*each, name=str(number), number=number) for number, each in enumerate(said)])
    worth = torch.tensor([value for answers in problems for _, value in answers])
    return PAIRED(batch.with_cols({"correct": Column.full("track", worth)}), Later(0, 1))


def loss(logp, *problems, name="power-dl", label=None, **knobs):
    """The loss of pairs of these tries, and its gradient at every token."""
    batch, live = rows(*problems), torch.tensor(logp, dtype=torch.float64, requires_grad=True)
    if label is not None:
        batch.pairs.label.fill_(label)
    value, noted = (
        (made(name, "chain:1", **knobs) if name == "dpo" else recipe(**knobs))
        .stages.learners[0]
        .loss(batch, {"logp": live})
    )
    value.backward()
    return [float(value.detach()), *live.grad.tolist()], {each: float(x) for each, x in noted.items()}


def labels(*seen, stage=None, **knobs):
    """The labels of the file's pairs each time it comes, with the policy's log-probs then."""
    stage = stage or recipe(**knobs).stages[2]
    labelled = []
    for logp in seen:
        batch = rows(LONG).with_cols(said(*logp))
        labelled.append(float(stage(batch, Later(0, 1)).pairs.label[0]))
    return labelled


def apart():
    """The labels of rows whose log-probs differ, the second time they come, without some of them."""
    stage = recipe(rate=0.5).stages[2]
    problems = [([A], 1.0), ([B], 0.0), ([GOOD], 0.0)], [([A], 0.0), ([GOOD], 1.0)], [([BAD], 1.0), ([A], 0.0)]
    stage(rows(*problems).with_cols(said(0.0, -1.0, -2.0, 0.0, -2.5, -3.0, 0.0)), Later(0, 1))
    fewer = (
        rows(*problems).with_cols(said(*[0.0] * 7)).take(torch.tensor([True, False, True, True, True, False, False]))
    )
    return stage(fewer, Later(0, 1)).pairs.label.tolist()


def given():
    """The loss where the first token of the better answer was given, and the worse one is given whole."""
    batch = rows([([A, A], 1.0), ([B], 0.0)])
    batch = dataclasses.replace(batch, weight=torch.tensor([0.0, 1.0, 0.0]))
    return float(recipe().stages.learners[0].loss(batch, {"logp": torch.tensor([nan, -0.4, nan])})[0])


def said(*logp):
    return {"policy.logp": Column.full("step", torch.tensor(logp))}


def came(label):
    """The labels of a row whose file has one."""
    stage = recipe().stages[2]
    labelled = []
    for _ in range(2):
        batch = rows(LONG).with_cols(said(-0.4, -0.5, -0.9))
        batch.pairs.label.fill_(label)
        labelled.append(float(stage(batch, Later(0, 1)).pairs.label[0]))
    return labelled


def moved():
    """What is logged of them."""
    stage, logged = recipe().stages[2], []
    for _ in range(2):
        play = Later(0, 1)
        stage(rows(LONG).with_cols(said(-0.4, -0.5, -0.9)), play)
        logged.append(play.metrics["label_moved"])
    return logged


def learned(epochs=40, name="power-dl", made_of=None, **knobs):
    """The policy after epochs of the file."""
    batch, logits = rows(*([([x], 1.0), ([y], 0.0)] for x, y in FILE)), START.clone().requires_grad_()
    batch = batch.with_cols({"reference.logp": Column.full("step", START[batch.action])})
    made_of = made_of or (recipe(**knobs) if name == "power-dl" else made(name, "chain:1", beta=0.1))
    *before, learner = made_of.stages[2:]
    for _ in range(epochs):
        logp = logits.log_softmax(0)[batch.action]
        seen = batch
        for stage in before:
            seen = stage(batch.with_cols({"policy.logp": Column.full("step", logp.detach())}), Later(0, 1))
        value, _ = learner.loss(seen, {"logp": logp})
        (pull,) = torch.autograd.grad(value, logits)
        logits = (logits - (1.0 if name == "power-dl" else 60.0) * pull).detach().requires_grad_()
    return logits.detach().softmax(0)


def refused(**knobs):
    try:
        recipe(**knobs)
    except UserError as error:
        return "leave anchored and smoothing out" in str(error)


def sigma(z):
    return 1 / (1 + exp(-z))


def pull(epochs, pair, **knobs):
    """What is left of a pair's pull, its label less the policy's preference, after epochs of the file."""
    made_of = recipe(**knobs)
    p = learned(epochs, made_of=made_of, **knobs)
    x, y = FILE[pair]
    batch = rows(*([([x], 1.0), ([y], 0.0)] for x, y in FILE))
    batch = batch.with_cols({"policy.logp": Column.full("step", p.log()[batch.action])})
    label = made_of.stages[2](batch, Later(0, 1)).pairs.label[pair]
    return abs(float(label) - sigma(2.0 * float(p[x].log() - p[y].log())))


DIFFERENCE = 2.0 * (-0.4 - -0.7 + 1 - 0.5)  # z of one token of log-prob -0.4 against two of a mean of -0.7
LIKELY = 0.2 * 2.0 * 0.4  # eta beta times the mean log-prob of the better answer

mechanism = Mechanism(
    "power-dl",
    source="arXiv:2412.09544: -log sigma(beta [w+ l+ - w- l- + w+ - w-]) - eta beta w+ l+, w = 1 / |y|; labels are updated",
    numbers={
        "the loss of one token against two": (
            lambda: loss([-0.4, -0.5, -0.9], LONG)[0],
            [
                -log(sigma(DIFFERENCE)) + LIKELY,
                -2.0 * sigma(-DIFFERENCE) - 0.2 * 2.0,
                *[2.0 * sigma(-DIFFERENCE) / 2] * 2,
            ],
        ),
        "of a label of 0.3": (
            lambda: loss([-0.4, -0.5, -0.9], LONG, label=0.3)[0][0],
            -0.3 * log(sigma(DIFFERENCE)) - 0.7 * log(sigma(-DIFFERENCE)) + LIKELY,
        ),
        "the mean over pairs": (
            lambda: loss([-0.4, -0.5, -0.9] * 2, LONG, LONG)[0][:2],
            [-log(sigma(DIFFERENCE)) + LIKELY, -sigma(-DIFFERENCE) - 0.2],
        ),
        "what is noted": (
            lambda: loss([-0.4, -0.5, -0.9], LONG, label=0.3)[1],
            {"margin": DIFFERENCE, "accuracy": 0.3, "label": 0.3, "better_logp": -0.4},
        ),
        "labels go towards the policy's preference": (
            lambda: labels([-0.4, -0.5, -0.9], [-0.1, -0.5, -0.9], [-0.4, -0.5, -0.9]),
            [1.0, 0.9 + 0.1 * sigma(DIFFERENCE), 0.9 * (0.9 + 0.1 * sigma(DIFFERENCE)) + 0.1 * sigma(DIFFERENCE + 0.6)],
        ),
        "each row has its own": (lambda: apart(), [0.5 + 0.5 * sigma(z) for z in (4.0, -5.0)]),
        "given tokens": (lambda: given(), -log(sigma(2.0 * -0.4)) + LIKELY),
        "a label that came with the file": (lambda: came(0.8), [0.8, 0.8 * 0.9 + 0.1 * sigma(DIFFERENCE)]),
        "how far they moved": (lambda: moved(), [0.0, 0.1 * (1 - sigma(DIFFERENCE))]),
        "a pair that others contradict pulls no more": (lambda: pull(30, 12, rate=0.3) < 0.01 * 0.5, True),
        "a good answer that lost once is not buried": (
            lambda: [float(learned(eta=0.0, rate=0.3)[GOOD]) > 0.2, float(learned(eta=0.0, rate=0.0)[GOOD]) < 0.1],
            [True, True],
        ),
        "DPO favours one lucky win": (lambda: float(learned(name="dpo")[BAD]) > 0.9, True),
        "without a rate it is POWER": (
            lambda: [type(stage).__name__ for stage in recipe(rate=0.0).stages],
            ["verified", "paired", "Learn"],
        ),
        "composed": (
            lambda: [repr(stage) for stage in recipe(beta=1.5, rate=0.2).stages[2:3]],
            ["moving_labels(loss=power(beta=1.5, eta=0.2), rate=0.2)"],
        ),
        "what it does not go with": (lambda: [refused(anchored="nca"), refused(smoothing=0.1)], [True, True]),
    },
    world=World(
        says="of a poor answer that won once by chance little is made",
        measure=lambda **knobs: float(learned(20, **knobs)[BAD]),
        on={"eta": 0.2, "rate": 0.3},
        off={"eta": 0.0, "rate": 0.0},
        moves=-0.15,
    ),
    equal={
        "power.__call__: _likelihood(batch, live['logp'])[pairs.better] shuffled": "a mean over pairs, in another order",
        "_likelihood: 0.0 -> 1.0": "a step that weighs nothing is in no mean",
    },
)
