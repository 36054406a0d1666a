"""Pedagogical alignment: a reply that is chosen over a worse one is not yet the right one; a preference loss can tell."""

from __future__ import annotations

import dataclasses
from math import exp, log
from types import SimpleNamespace

import torch
from harness import Mechanism, World, made, said_tries

import guerdon as gd
from guerdon.core.batch import Pairs
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.exams.example_sitting import example_sitting

HINT, ANSWER, NOTHING = range(3)
PAIRS = [(HINT, ANSWER)] * 2 + [
    (ANSWER, NOTHING)
] * 3  # the answer is given more often than it should be, and chosen at that
START = torch.tensor([0.2, 0.6, 0.2]).log()


class Tutor:
    """Problems for a tutor, whose replies begin with their action."""

    name = "tutor"

    def size(self, split):
        return None

    def get(self, split, index):
        return gd.Task(str(index), "", meta={"action": ("hint", "answer")[index % 2]})

    def check(self, task, completion):
        return float(self.read(task, completion).action == task.meta["action"])

    def read(self, task, text):
        return SimpleNamespace(action=text.partition(":")[0], leaks="4" in text)

    def solution(self, task):
        return task.meta["action"]

    def near_misses(self, task, draw):
        return []


def recipe(task="chain:1", **knobs):
    return made("pedagogical-alignment", task, **knobs)


def pairs():
    """The pairs, each reply a track."""
    batch = said_tries(*([([x], 1.0), ([y], 0.0)] for x, y in PAIRS))
    batch = batch.with_cols({"reference.logp": Column.full("step", START[batch.action])})
    batch = batch.with_cols({"mismatched_kl": Column.full("track", torch.zeros(batch.K))})
    ends = torch.arange(0, batch.K, 2)
    return dataclasses.replace(batch, pairs=Pairs.of(ends, ends + 1)).recount()


def loss(**knobs):
    """The loss where the first reply of each pair is e as likely as the reference has it."""
    batch = pairs()
    at = batch["reference.logp"].clone()
    at[::2] += 1.0
    return float(recipe(**knobs).stages.learners[0].loss(batch, {"logp": at})[0])


def learned(steps=30, **knobs):
    """What the replies come to."""
    batch, (learner,) = pairs(), recipe(beta=0.5, **knobs).stages.learners
    logits = START.clone().requires_grad_()
    for _ in range(steps):
        value, _ = learner.loss(batch, {"logp": logits.log_softmax(0)[batch.action]})
        (pull,) = torch.autograd.grad(value, logits)
        logits = (logits - 2.0 * pull).detach().requires_grad_()
    return logits.detach().softmax(0)


def examined():
    """What the exam of replies finds of two tries at two problems each."""
    made_of = recipe(Tutor())
    exam = made_of.exams[-1]
    sitting = example_sitting([["hint: look", "answer: 4"], ["answer: 4", "answer: five"]])
    episodes = [
        each.but(ask=dataclasses.replace(each.ask, task=Tutor().get("test", n // 2)))
        for n, each in enumerate(sitting.batch.episodes)
    ]
    batch = gd.pack(episodes)
    return [exam.name, exam.metrics[0](dataclasses.replace(sitting, exam=exam, batch=batch))]


def refused(**knobs):
    try:
        recipe(**knobs)
    except UserError as error:
        return "of by=dpo" in str(error)


def sigma(z):
    return 1 / (1 + exp(-z))


mechanism = Mechanism(
    "pedagogical-alignment",
    source="arXiv:2402.05000, abstract: supervised fine-tuning against DPO, IPO and KTO, on pairs by the tutor's action",
    numbers={
        "dpo": (lambda: loss(beta=0.5), -log(sigma(0.5))),
        "ipo": (lambda: loss(by="ipo", beta=0.5), (1.0 - 1 / (2 * 0.5)) ** 2),
        "ipo of a smaller beta": (lambda: loss(by="ipo", beta=0.1), (1.0 - 1 / (2 * 0.1)) ** 2),
        "the losses": (
            lambda: [repr(recipe(by=by).stages.learners[0].loss) for by in ("ipo", "kto")],
            ["dpo(link='square', per='step')", "kto(baseline='mismatched_kl')"],
        ),
        "kto": (lambda: loss(by="kto", beta=0.5), (sigma(-0.5) + 0.5) / 2),
        "sft": (lambda: loss(by="sft"), -(2 * log(0.2) + 3 * log(0.6)) / 5 - 1.0),
        "what else kto needs": (
            lambda: [[type(stage).__name__ for stage in recipe(by=by).stages] for by in ("kto", "ipo")],
            [["verified", "paired", "mismatched_kl", "Learn"], ["verified", "paired", "Learn"]],
        ),
        "dpo with what it has": (
            lambda: repr(recipe(smoothing=0.1).stages.learners[0].loss),
            "dpo(smoothing=0.1)",
        ),
        "what others have not": (
            lambda: [refused(by="ipo", smoothing=0.1), refused(by="sft", anchored="nca"), refused(by="kto")],
            [True, True, None],
        ),
        "replies of a tutor": (examined, ["replies", {"right_action": 0.75, "leaks": 0.5}]),
        "of another task": (lambda: [exam.name for exam in recipe().exams], [""]),
    },
    world=World(
        says="of replies that are chosen over worse ones the right one is told",
        measure=lambda by="dpo": float(learned(by=by)[HINT]),
        off={"by": "sft"},
        moves=0.2,
    ),
)
