"""RLCCF: several models are paid for the answer that they vote for together, each vote by its model's agreement with itself."""

from __future__ import annotations

import torch
from harness import Later, Mechanism, World, learned, made, said_texts

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.credit.group_relative import centre
from guerdon.recipes.house.several_models import asked_of_each
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.agreement import majority

TABLE = gd.models.tabular("01", length=1, rows=64)
CROWD = ("3333", "4445", ("4", "4", "5", "6"))


def recipe(**knobs):
    return made("rlccf", **{"others": [TABLE, TABLE], **knobs})


def tries(*said, name="a"):
    task = gd.Task(name, name)
    return said_texts(*((gd.Ask(task, note={"member": str(n)}), texts) for n, texts in enumerate(said)))


def through(*said, **knobs):
    """What tries of several models at a problem are paid, and their advantages."""
    built, batch = recipe(**knobs), tries(*said)
    for stage in (built.stages.scores[-1], *built.stages.credit):
        batch = stage(batch, ExamplePlay())
    first = torch.cumsum(torch.bincount(batch.seg), 0) - 1
    return torch.nan_to_num(batch["reward"], nan=-9.0).tolist(), batch["advantage"][first].tolist()


def whys(*said, **knobs):
    batch = recipe(**knobs).stages.scores[-1](tries(*said), ExamplePlay())
    return [batch.cols["reward"].detail[k]["why"] for k in (0, 4)]


def drawn(n, **knobs):
    asks = recipe(tries=3, task="equation:4", **knobs).curriculum.draw(n, Later(0, 9))
    return [len({ask.task.key for ask in asks}), *((ask.seats["policy"], ask.note["member"], ask.n) for ask in asks)]


def composed(**knobs):
    """The stages, seats, models and exams."""
    built = recipe(**knobs)
    learners = [[learner.model, repr(learner.loss)] for learner in built.stages.learners]
    return [
        learners,
        built.seats,
        sorted(built.models),
        [[exam.seats, exam.name] for exam in built.exams],
        built.stages.scores[-1].reward.weighted,
    ]


def refused(**knobs):
    try:
        made("rlccf", **knobs)
    except UserError as error:
        return str(error)


def led_astray(together=True):
    """How likely the right answer is under a model whose most frequent answer is wrong, with two that know better."""
    start = torch.tensor([[0.25, 0.65, 0.05, 0.05], [0.7, 0.1, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]]).log()
    dice, built = torch.Generator().manual_seed(1), recipe()
    if not together:
        built.stages = [built.stages[0], score(majority()), centre(by="ask"), built.stages[-1]]

    def draw(step, p):
        answers = torch.multinomial(p, 12, replacement=True, generator=dice)
        at = [gd.Ask(gd.Task("a" if together else str(n), "a"), note={"member": str(n)}) for n in range(3)]
        said = [[str(n) for n in row] for row in answers.tolist()]
        return said_texts(*zip(at, said, strict=True)), torch.arange(3).repeat_interleave(12), answers.flatten()

    return float(learned(built, draw, start, steps=12, lr=3.0)[0, 0])


T = (1 / 3) ** 0.5 + 1e-4
mechanism = Mechanism(
    "rlccf",
    source="arXiv:2508.12338 in a summary: argmax_a sum_n SC_n sum_k 1[a = o_nk], r = 1[o = a*], GRPO of each model",
    also=[majority, asked_of_each],
    without={
        "majority.score": "mm-upt tests it",
        "majority._outcome": "mm-upt tests it",
        "majority._heard": "co-reward tests it",
        "majority.__post_init__": "it refuses knobs",
    },
    equal={"majority._tally: 0 -> 1": "the weight of no votes"},
    numbers={
        "votes by self-consistency: 3 has 4.0 and 4 has 3.25": (
            lambda: through(*CROWD)[0],
            [1.0] * 4 + [0.0] * 8,
        ),
        "plain votes: 4 has 5 and 3 has 4": (
            lambda: through(*CROWD, weighted=False)[0],
            [0.0] * 4 + [1.0, 1.0, 1.0, 0.0] + [1.0, 1.0, 0.0, 0.0],
        ),
        "in numbers": (lambda: whys(*CROWD), ["4 of 9 votes for 3", "3.25 of 9 votes for 4"]),
        "in plain numbers": (lambda: whys(*CROWD, weighted=False), ["4 of 12 votes for 3", "5 of 12 votes for 4"]),
        "tries without an answer are disagreement": (lambda: through(["4", "?"], ["5"])[0], [0.0, 0.0, 1.0]),
        "a model without any answer": (lambda: through(["?", "?"], ["5", "5"])[0], [0.0, 0.0, 1.0, 1.0]),
        "compared within a model": (
            lambda: through("445", "444")[1],
            [1 / 3 / T, 1 / 3 / T, -2 / 3 / T, 0.0, 0.0, 0.0],
        ),
        "texts": (
            lambda: through(["Answer: Rome"], ["answer: rome", "Answer: Oslo"], votes="text")[0],
            [1.0, 1.0, 0.0],
        ),
        "each problem is asked of each": (
            lambda: drawn(6),
            [2, *[(name, name, 3) for name in ("policy", "member_2", "member_3")] * 2],
        ),
        "one at the least": (lambda: drawn(1)[0], 1),
        "composed": (
            composed,
            [
                [[name, "clipped()"] for name in ("policy", "member_2", "member_3")],
                {"policy": "policy", "member_2": "member_2", "member_3": "member_3"},
                ["member_2", "member_3", "policy"],
                [[None, ""], [{"policy": "member_2"}, "member_2"], [{"policy": "member_3"}, "member_3"]],
                True,
            ],
        ),
        "each is held to its own start": (
            lambda: composed(others=[TABLE], kl=0.1)[:3:2],
            [
                [
                    ["policy", "total(terms=[clipped(), kl(weight=0.1)])"],
                    ["member_2", "total(terms=[clipped(), kl(weight=0.1, to='member_2_start')])"],
                ],
                ["member_2", "member_2_start", "policy", "reference"],
            ],
        ),
        "by name": (lambda: type(recipe(others="sprig,").models["member_2"]).__name__, "lm"),
        "alone": (
            refused,
            "rlccf needs other models: --set others=FOLDER,FOLDER, models' or RUN/models/policy",
        ),
    },
    world=World(
        says="a model whose most frequent answer is wrong learns the right one from the others' votes",
        measure=led_astray,
        off={"together": False},
        moves=0.5,
    ),
)
