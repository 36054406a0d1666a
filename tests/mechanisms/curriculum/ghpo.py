"""GHPO: problems that no try solves are asked again with more and more of their solution, until a try is right."""

from __future__ import annotations

from harness import Mechanism, Scripted, World, made

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.select.hints import begun, hint, hinted, until_solved

SOLUTION = "abababab"
HINT = "\nThe solution begins like this:\n"


class Letters:
    """Problem `n` takes `n` letters of its solution to be solved by every second try, and more to be solved by all."""

    name = "letters"

    def size(self, split):
        return 10

    def get(self, split, index):
        return gd.Task(str(index), f"problem {index}", SOLUTION, meta={"other": "aabb"})

    def check(self, task, completion):
        return None if completion == "?" else 1.0 if completion == "right" else -2.0 * (task.id == "7")


class Solved(Letters):
    def solution(self, task):
        return SOLUTION


def answer(ask, attempt):
    helped = len(ask.shown.partition(HINT)[2]) + (ask.prefix.step if ask.prefix else 0)
    needed = int(ask.task.id)
    if needed == 9:  # no verdict
        return "?"
    return "right" if helped > needed or (helped == needed and attempt) else "wrong"


def drawn(*problems, step=0, task=None, **knobs):
    """The recipe, and the play at a step of ten with the problems as its curriculum asks them."""
    recipe = made("ghpo", task or Solved(), tries=2, **knobs)
    play = Scripted(answer, step, 10, policy=gd.models.tabular("ab", length=8))
    asks = {int(ask.task.id): ask for ask in recipe.curriculum.draw(10, play)}
    return recipe, play, [asks[n] for n in problems]


def tried(*problems, **knobs):
    recipe, play, asks = drawn(*problems, **knobs)
    batch = pack(play(asks))
    for stage in recipe.stages[:2]:  # verified, until_solved
        batch = stage(batch, play)
    return recipe, play, batch


def asked(*problems, **knobs):
    """Which problem was asked, with how much of its solution in the question or in the answer, in order."""
    episodes = tried(*problems, **knobs)[2].episodes[::2]
    return [[int(e.task.id), e.ask.shown.partition(HINT)[2], e.segments[0].given] for e in episodes]


def learned(*problems, **knobs):
    """The tries that are learned from: of which problem, with which share of its solution, and their advantage."""
    recipe, play, batch = tried(*problems, **knobs)
    for stage in recipe.stages.credit:
        batch = stage(batch, play)
    kept = recipe.stages.learners[0].on(batch, play)
    problem = [int(kept.episodes[e].task.id) for e in kept.episode[kept.leaf].tolist()]
    advantage = kept.up(kept["advantage"], "track", by="mean")
    return [problem, kept["hint"].tolist(), [round(a, 3) for a in advantage.tolist()]]


def prefix(share, length):
    """What an answer begins with, for a model whose turns have a length or an end of their own."""
    play = Scripted(answer, policy=gd.models.tabular("ab", length=length))
    made_of = hint(Solved(), how="start").into(gd.Ask(Solved().get("train", 3)), share, play).prefix
    return [made_of.segment, made_of.step, made_of.segments[0].text]


def noted():
    """Of asks with another text than the problem's own; the second already has a hint."""
    ask = gd.Ask(Solved().get("train", 3), prompt="in short", note={"mine": 1})
    once = hint(Solved()).into(ask, 0.25, Scripted(answer))
    return [once.note, hint(Solved()).into(once, 0.5, Scripted(answer)).note]


def shown(step, **knobs):
    return drawn(3, step=step, **knobs)[2][0].shown.partition(HINT)[2]


def useful(**knobs):
    """The share of problems whose tries differ: one needs no hint, one a quarter, one three quarters."""
    return sum(abs(a) > 0.5 for a in learned(0, 2, 6, **knobs)[2]) / 6


A = 0.5 / (0.5**0.5 + 1e-4)
mechanism = Mechanism(
    "ghpo",
    source="hkgc-1/GHPO@af0a7dd8, src/ghpo/ghpo_trainer.py, lines 830 to 833 and 995 to 1150; arXiv:2507.10628",
    also=[until_solved, hint, hinted, begun],
    numbers={
        "a quarter, half and three quarters of the characters, where no try is right": (
            lambda: asked(0, 2, 4, 8, 9),
            [
                *([n, "", 0] for n in (0, 2, 4, 8, 9)),
                *([n, "ab", 0] for n in (2, 4, 8)),
                *([n, "abab", 0] for n in (4, 8)),
                [8, "ababab", 0],
            ],
        ),
        "the last group takes the place of those before, and is compared by itself": (
            lambda: learned(0, 4, 5, 8),
            [
                [0, 0, 4, 4, 5, 5, 8, 8],
                [0.0, 0.0, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75],
                [round(a, 3) for a in (-A, A, -A, A, 0.0, 0.0, 0.0, 0.0)],
            ],
        ),
        "other shares, rounded to characters": (
            lambda: asked(8, shares=(0.3, 1.0))[1:],
            [[8, "ab", 0], [8, SOLUTION, 0]],
        ),
        "a share of 0.1 rounds up to one letter of eight": (lambda: asked(8, shares=(0.1,))[1][1], "a"),
        "in the mouth": (lambda: asked(4, how="start"), [[4, "", 0], [4, "", 2], [4, "", 4]]),
        "in the mouth, what is learned from": (lambda: learned(4, how="start")[1], [0.5, 0.5]),
        "of what a model does, but not the end of its turn": (
            lambda: [prefix(0.3, 8), prefix(1.0, 0)],
            [[0, 2, SOLUTION], [0, 8, SOLUTION]],
        ),
        "what was shown before a hint is kept": (
            noted,
            [{"mine": 1, "hint": 0.25, "unhinted": "in short"}, {"mine": 1, "hint": 0.5, "unhinted": "in short"}],
        ),
        "one try above 0 is enough, whatever the others are worth": (lambda: len(asked(7, shares=(0.875, 1.0))), 2),
        "share and solved of the problems that got a hint": (
            lambda: [
                tried(0, 2, 5, 8)[1].metrics[f"hints/{n}"] for n in ("asked", "needed", "level", "solved", "hopeless")
            ],
            [7.0, 0.75, (0.25 + 0.75 + 0.75) / 3, 2 / 3, 1.0],
        ),
        "a column that holds the solution": (
            lambda: asked(8, solution="other", task=Letters(), shares=(0.5,))[1][1],
            "aa",
        ),
        "a cold start hints all, and detects nothing": (
            lambda: [shown(2, cold=3), asked(0, 6, step=2, cold=3)],
            ["abab", [[0, "abab", 0], [6, "abab", 0]]],
        ),
        "after it": (lambda: [shown(3, cold=3), len(asked(0, 6, step=3, cold=3))], ["", 5]),
        "with another share": (lambda: shown(0, cold=3, cold_share=0.25), "ab"),
        "always, as a curriculum": (
            lambda: hinted(made("grpo", Solved()).curriculum, hint(Solved())).draw(1, drawn()[1])[0].note,
            {"hint": 0.5},
        ),
    },
    world=World(
        says="problems need different amounts of help: the tries at each of them differ",
        measure=useful,
        off={"cold": 1_000_000},
        moves=0.6,
    ),
)
