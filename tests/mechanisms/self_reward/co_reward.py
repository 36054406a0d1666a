"""Co-Reward: a wording's tries are paid for the answer that most tries at the other wording give."""

from __future__ import annotations

import torch
from harness import Later, Mechanism, World, learned, made, said_texts

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.credit.group_relative import centre
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.agreement import majority


def tries(first, second, name="a"):
    """A batch of tries at a problem in two wordings."""
    task = gd.Task(name, f"problem {name}")
    return said_texts((gd.Ask(task, note={"wording": 0}), first), (gd.Ask(task, note={"wording": 1}), second))


def through(batch, **knobs):
    """What tries are paid, and their advantages, a number each."""
    recipe, play = made("co-reward", **knobs), ExamplePlay()
    for stage in (recipe.stages.scores[-1], *recipe.stages.credit):
        batch = stage(batch, play)
    first = torch.cumsum(torch.bincount(batch.seg), 0) - 1
    return torch.nan_to_num(batch["reward"], nan=-9.0).tolist(), batch["advantage"][first].tolist()


class Rows:
    """Problems of a file: two have another wording, one has none."""

    name = "rows"

    def get(self, split, index):
        other = {"again": f"again {index}"} if index < 3 else {}
        return gd.Task(str(index), f"problem {index}", meta={**other, **({"again": None} if index == 1 else {})})

    def size(self, split):
        return None

    def check(self, task, completion):
        return None


def drawn(n, source=None, times=1, **knobs):
    recipe, play = made("co-reward", task=source or Rows(), tries=3, **knobs), Later(0, 9)
    for _ in range(times):
        asks = recipe.curriculum.draw(n, play)
    return [[(ask.shown, ask.note["wording"], ask.n) for ask in asks], play.metrics["no_wording"]]


def refused():
    try:
        drawn(4, wording="other")
    except UserError as error:
        return str(error)


def misled(cross=True):
    """How likely the right answer to a wording is that misleads, with the other wording's help. Six of ten tries at the first
    give one wrong answer and four the right one, which seven of ten tries at the second give."""
    start = torch.tensor([[0.4, 0.6 - 2e-3, 1e-3, 1e-3], [0.7, 0.1, 0.1, 0.1]]).log()
    dice, recipe = torch.Generator().manual_seed(0), made("co-reward")
    if not cross:
        recipe.stages = [recipe.stages[0], score(majority()), centre(by="ask"), recipe.stages[-1]]

    def draw(step, p):
        answers = torch.multinomial(p, 16, replacement=True, generator=dice)
        said = [[str(n) for n in row] for row in answers.tolist()]
        task = gd.Task("a", "a")
        at = [gd.Ask(task if cross else gd.Task(str(n), "a"), note={"wording": n}) for n in range(2)]
        row = torch.arange(2).repeat_interleave(16)
        return said_texts(*zip(at, said, strict=True)), row, answers.flatten()

    return float(learned(recipe, draw, start, steps=12, lr=2.0)[0, 0])


T = (1 / 3) ** 0.5 + 1e-4  # of 0, 0, 1
mechanism = Mechanism(
    "co-reward",
    source="arXiv:2508.00410; tmlr-group/Co-Reward, co_reward.py, lines 60-93",
    equal={
        "in_two_wordings._other: derive(...) with task.key before 'wording'": "other dice for the order of a problem's parts"
    },
    numbers={
        "held to the other wording's vote": (
            lambda: through(tries("445", "774")),
            [[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, -1 / 3 / T, -1 / 3 / T, 2 / 3 / T]],
        ),
        "with their roles swapped": (lambda: through(tries("774", "445"))[0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
        "nobody has an answer at the other": (lambda: through(tries("44", "??"))[0], [-9.0, -9.0, 0.0, 0.0]),
        "texts": (
            lambda: through(tries(["Answer: Rome", "Answer: Oslo"], ["answer: rome"] * 2), votes="text")[0],
            [1.0, 0.0, 0.5, 0.5],
        ),
        "a column's wording, half the problems, one passed over": (
            lambda: drawn(4, wording="again"),
            [[("problem 0", 0, 3), ("again 0", 1, 3), ("problem 2", 0, 3), ("again 2", 1, 3)], 1 / 3],
        ),
        "one problem at the least": (
            lambda: drawn(1, wording="again"),
            [[("problem 0", 0, 3), ("again 0", 1, 3)], 0.0],
        ),
        "a template's": (
            lambda: drawn(2, wording="In short: {prompt}"),
            [[("problem 0", 0, 3), ("In short: problem 0", 1, 3)], 0.0],
        ),
        "a family's": (
            lambda: drawn(2, gd.tasks.load("equation:4"), times=2),
            [[("equation 4x+18=x+21", 0, 3), ("equation x+21=4x+18", 1, 3)], 0.0],
        ),
        "rows without one are asked with a sentence added": (
            lambda: drawn(1)[0][1][0],
            "problem 0\n\nRead the problem again from the start, then answer it.",
        ),
        "none": (
            refused,
            "no problem has another wording (rows cannot read problems, so no wording of its own can be checked): name a column"
            " with one, --set wording=COLUMN, or a template, --set 'wording=In other words: {prompt}'",
        ),
        "the truth is logged": (
            lambda: [type(stage).__name__ for stage in made("co-reward").stages],
            ["verified", "score", "centre", "Learn"],
        ),
    },
    world=World(
        says="a wording whose most frequent answer is wrong learns the right one from the other wording",
        measure=misled,
        off={"cross": False},
        moves=0.5,
    ),
)
