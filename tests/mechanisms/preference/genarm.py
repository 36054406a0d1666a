"""GenARM: a reward that is a language model's log-probs, learned from pairs, added to a frozen model's at every token."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
from harness import Mechanism, World, made, said_tries
from small import table

import guerdon as gd
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.tasks.recited_rows import RecitedRows

LOGP = [-1.0, -2.0, -0.5, -4.0]  # of a better answer of two tokens, a worse one of one, and one of another problem


class Pick:
    """One problem whose answer is 11; 00 is the near-miss that preferences are against."""

    name = "pick"

    def size(self, split):
        return 1

    def get(self, split, index):
        return gd.Task("0", "which?", "11")

    def check(self, task, completion):
        return float(completion == "11")

    def solution(self, task):
        return "11"

    def near_misses(self, task, draw):
        return [SimpleNamespace(text=text) for text in ("00", "01")]


class Pairs(RecitedRows):
    """Of a file, as far as a recipe looks at it."""


def recipe(task=None, **knobs):
    return made("genarm", task=task or Pick(), model=gd.models.tabular("01", length=2, rows=64), **knobs)


def loss(**knobs):
    batch = said_tries([([1, 2], 1.0), ([3], 0.0)], [([4], 0.0)])
    _, stage, learner = recipe(**knobs).stages
    return float(learner.loss(stage(batch, ExamplePlay()), {"logp": torch.tensor(LOGP)})[0])


def by_hand(beta):
    """The better answer's log-probs sum to -3, the worse one's to -0.5: no mean, and no reference."""
    return math.log1p(math.exp(-beta * (-3.0 + 0.5)))


def taught(steps=25, **knobs):
    """The recipe and a player of it, once it was taught."""
    recipe_ = recipe(**{"lr": 0.3, "beta": 1.0, "prompts": 2, **knobs})
    for name in ("arm", "frozen"):
        recipe_.models[name].start(0, recipe_.models)
    play = Player(recipe_.models, recipe_.seats, recipe_.env, recipe_.sampling, 0, steps)
    *before, learn = recipe_.stages
    learn.start(play)
    batch = pack(play(recipe_.curriculum.draw(recipe_.prompts, play)))
    for stage in before:
        batch = stage(batch, play)
    for _ in range(steps):
        learn(batch, play)
    return recipe_, play


def right_when_guided(**knobs):
    """How often the frozen model, of which nothing was learned, is right in the recipe's exam."""
    recipe_, _ = taught(**knobs)
    (exam,) = recipe_.exams
    play = Player(recipe_.models, recipe_.seats, exam.env, exam.sampling, 0, 1)
    tries = play([gd.Ask(Pick().get("test", 0), 300)])
    return sum(each.segments[0].text == "11" for each in tries) / len(tries)


def recorded(weight):
    """The recorded probability of a right answer of a frozen model with odds 1:3, guided by one with odds 4:1."""
    recipe_ = recipe(weight=weight, frozen=table(1, 3))
    recipe_.models["arm"].net = table(4, 1).net
    (exam,) = recipe_.exams
    play = Player(recipe_.models, recipe_.seats, exam.env, exam.sampling, 0, 1)
    tries = [each.segments[0] for each in play([gd.Ask(Pick().get("test", 0), 40)])]
    return next(math.exp(each.logp.sum()) for each in tries if each.text == "11")


def frozen_stays():
    """How far the frozen model is from where it began."""
    _, play = taught()
    return float(play.models["frozen"].net.logits.abs().max())


def of_pairs(**knobs):
    """A file's exam."""
    made_of = recipe(Pairs(), **knobs)
    (exam,) = made_of.exams
    return [type(made_of.curriculum).__name__, exam.name, repr(exam.metrics[0]), repr(exam.sampling)]


def composed(**knobs):
    made_of = recipe(**knobs)
    (exam,) = made_of.exams
    return [
        *map(repr, made_of.stages[1:]),
        *(repr(made_of.models[name]) for name in ("arm", "frozen")),
        made_of.seats["policy"],
        repr(made_of.sampling),
        repr(exam.sampling),
        repr(made_of.curriculum.wrong),
        made_of.prompts,
        made_of.steps,
    ]


mechanism = Mechanism(
    "genarm",
    source="arXiv:2410.08193; Yuancheng-Xu/GenARM, training_trl/arm_trainer.py, 21-55: -logsigmoid(beta (sum+ - sum-))",
    numbers={
        "the loss": (loss, by_hand(0.05)),
        "of another beta": (lambda: loss(beta=2.0), by_hand(2.0)),
        "no weight": (lambda: recorded(0.0), 0.75**2),
        "half a weight, odds 2:3": (lambda: recorded(0.5), 0.6**2),
        "the paper's, odds 4:3": (lambda: recorded(1.0), (3 / 7) ** 2),
        "the frozen model": (frozen_stays, 0.0),
        "composed": (
            lambda: composed(temperature=0.7, max_tokens=9, weight=0.5, wrong=2, lr=0.25, prompts=3, steps=4),
            [
                "paired(column='correct', which='all')",
                "Learn(model='arm', loss=dpo(beta=0.05, to=''), opt=adam(lr=0.25))",
                "tabular(vocab='01', length=2, rows=64)",
                "snapshot(of='arm')",
                "frozen",
                "Sampling(temperature=0.7, max_tokens=9)",
                "Sampling(temperature=0.7, max_tokens=9, guides=(('arm', 0.5),))",
                "2",
                3,
                4,
            ],
        ),
        "on a file": (
            lambda: of_pairs(beta=0.2),
            [
                "dataset_rows",
                "pairs",
                "implicit_pairs(model='arm', reference='', beta=0.2)",
                "Sampling(guides=(('arm', 1.0),))",
            ],
        ),
        "by default": (
            lambda: [composed()[n] for n in (5, 6, 7)],
            ["Sampling()", "Sampling(guides=(('arm', 1.0),))", "1"],
        ),
    },
    world=World(
        says="a frozen model that is right once in four times is right when the reward guides it",
        measure=right_when_guided,
        off={"weight": 0.0},
        moves=0.3,
    ),
)
