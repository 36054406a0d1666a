"""Temporal self-rewarding: rejected tries are the start model's, chosen ones the round's model's and its successor's."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from harness import Later, Mechanism, World, made, said_texts

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.recipes.self_reward.temporal_self_rewarding import contrasted

NAN = float("nan")
TASK = gd.tasks.load("equation:4")
HOW = {"prompts": 6, "tries": 2, "max_tokens": 8, "steps": 5}
START, NOW, NEXT = (gd.models.tabular("01", length=n) for n in (1, 2, 3))


def round_of(start=START, future=None, anchored=True):
    return contrasted(TASK, NOW, start, future, anchored, 0.1, 2e-5, HOW)


def paired(*problems, **knobs):
    """Of problems, each {who: verdicts of its tries}, the pairs by the numbers of tries; their margins; what is logged."""
    (stage,) = [each for each in round_of(**knobs).stages if type(each).__name__ == "paired_across"]
    asks, verdicts = [], []
    for number, made_by in enumerate(problems):
        task = gd.Task(str(number), "")
        asks += [(gd.Ask(task, note={"member": who}), ["a"] * len(values)) for who, values in made_by.items()]
        verdicts += [value for values in made_by.values() for value in values]
    value, play = torch.tensor(verdicts), Later(0, 9)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    batch = stage(said_texts(*asks).with_cols({"reward": Column("track", value, reason)}), play)
    pairs = batch.pairs
    return [
        [*map(list, zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))],
        [round(x, 4) for x in pairs.margin.tolist()],
        pairs.label.tolist(),
        [round(play.metrics[name], 4) for name in ("pairs", "gap")],
    ]


PROBLEMS = (
    {"initial": [0.2, 0.1, NAN], "reference": [0.6, 0.5], "ahead": [0.9, NAN]},
    {"initial": [0.7, 0.8], "reference": [0.7, 0.3], "ahead": [0.1]},
    {"reference": [0.2, 0.9], "ahead": [0.4]},
    {"initial": [0.2], "reference": [NAN], "ahead": [NAN]},
)


class Run:
    """A run that keeps the trainings and gives a model for each."""

    def __init__(self):
        self.told, self.models = [], []

    def train(self, lesson, seed):
        told = {name: getattr(model, "length", repr(model)) for name, model in lesson.models.items()}
        loss, sampling = lesson.stages.learners[0].loss, lesson.sampling
        self.told.append([seed, told, loss.beta, lesson.stages.learners[0].opt.lr, sampling.max_tokens, lesson.steps])
        self.models.append(gd.models.tabular("01", length=10 + len(self.models)))
        return SimpleNamespace(model=lambda: self.models[-1])

    def eval(self, model, task):
        return {"accuracy": model.length}


def trained(**knobs):
    run, study = Run(), made("temporal-self-rewarding", task=TASK, model=START, steps=7, **knobs)
    found = study.body(run, 2)
    return run.told, found


COPY = "snapshot(of='policy')"


def lessons(**knobs):
    told, found = trained(**knobs)
    return [[each[0], each[1]] for each in told], found["accuracy"]


def composed(**knobs):
    made_of = round_of(**knobs)
    return [
        [repr(stage) for stage in made_of.stages[1:]],
        made_of.curriculum.members,
        sorted(made_of.models),
        made_of.seats,
        [exam.seats for exam in made_of.exams],
        made_of.curriculum.curriculum.tries,
        made_of.prompts,
        made_of.sampling.temperature,
    ]


def gap(anchored=True):
    """The mean margin of pairs in a late round, whose own tries are judged nearly alike; the start model's are worse."""
    dice = torch.Generator().manual_seed(0)
    problems = []
    for _ in range(6):
        spread = torch.rand(2, 4, generator=dice)
        problems.append({"initial": (0.2 + 0.1 * spread[0]).tolist(), "reference": (0.8 + 0.05 * spread[1]).tolist()})
    return paired(*problems, anchored=anchored)[3][1]


mechanism = Mechanism(
    "temporal-self-rewarding",
    source="arXiv:2508.06026, abstract: anchored rejection by the initial model, chosen ones guided by the next one",
    numbers={
        "the round's best against the start's worst": (
            lambda: paired(*PROBLEMS),
            [[[3, 1]], [0.5], [1.0], [1.0, 0.5]],
        ),
        "with the provisional model's": (
            lambda: paired(*PROBLEMS, future=NEXT),
            [[[5, 1]], [0.8], [1.0], [1.0, 0.8]],
        ),
        "not anchored: its own worst": (
            lambda: paired(*PROBLEMS, anchored=False),
            [[[3, 4], [9, 10], [13, 12]], [0.1, 0.4, 0.7], [1.0] * 3, [3.0, 0.4]],
        ),
        "no pair": (lambda: paired(*PROBLEMS[1:2]), [[], [], [], [0.0, 0.0]]),
        "a round's first training": (
            composed,
            [
                [
                    "score(reward=judge(by=run_model(name='reference'), sure=True, name='verdict'))",
                    "paired_across(column='reward', better=('reference',), worse=('initial',))",
                    "Learn(model='policy', loss=dpo(), opt=adam(lr=2e-05))",
                ],
                ("initial", "reference"),
                ["initial", "policy", "reference"],
                {"policy": "reference"},
                [{"policy": "policy"}],
                2,
                6,
                1.0,
            ],
        ),
        "its second": (
            lambda: composed(future=NEXT)[1:3],
            [("initial", "reference", "ahead"), ["ahead", "initial", "policy", "reference"]],
        ),
        "not anchored": (
            lambda: composed(anchored=False)[1:3],
            [("reference",), ["policy", "reference"]],
        ),
        "the rounds": (
            lambda: lessons(rounds=2),
            [
                [
                    [200, {"policy": 1, "reference": COPY, "initial": COPY}],
                    [201, {"policy": 1, "reference": COPY, "initial": COPY, "ahead": 10}],
                    [202, {"policy": 11, "reference": COPY, "initial": 1}],
                    [203, {"policy": 11, "reference": COPY, "initial": 1, "ahead": 12}],
                ],
                13,
            ],
        ),
        "without a provisional model": (
            lambda: lessons(rounds=2, guided=False, anchored=False),
            [[[200, {"policy": 1, "reference": COPY}], [202, {"policy": 10, "reference": COPY}]], 11],
        ),
        "its settings": (
            lambda: trained(rounds=1, guided=False, beta=0.3, lr=1e-4, max_tokens=32)[0][0][2:],
            [0.3, 1e-4, 32, 7],
        ),
    },
    world=World(
        says="where a round's own tries are judged alike, chosen and rejected stay apart",
        measure=gap,
        off={"anchored": False},
        moves=0.4,
    ),
)
