"""Studies of pools of reward models without training: a task with four wrong solutions a problem, a run that records."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from unittest.mock import patch

from harness import made
from strategies import episode, segment

import guerdon as gd
from guerdon.recipes.audit import foretelling

RIGHT, WRONG, FOOL = "2+2=4\n4+6=10\n= 10", [f"2+2=4\n4+6={n}\n= {n}" for n in (11, 12, 13)], "2+2=5\n5+6=10\n= 14"
TRIED = [
    RIGHT,
    FOOL,
    WRONG[0],
    "5+5=10\n= 10",
    "2+2=4",
]  # every problem's tries; those at the next problem begin one later


class listed:
    """Problems with one solution and four near-misses, the last of which looks best."""

    name = "listed"

    def get(self, split, index):
        return gd.Task(f"{split}{index}", f"{split} {index}")

    def size(self, split):
        return 30 if split == "test" else None

    def check(self, task, completion):
        return float(completion.endswith("= 10"))

    def solution(self, task):
        return RIGHT

    def near_misses(self, task, draw):
        assert task.prompt and 0 <= draw.random() < 1
        return [SimpleNamespace(text=text) for text in (*WRONG, FOOL)]


class HandRun:
    """A run of a study that plays every problem with the same tries, and keeps what it was asked for."""

    seed, budget = 5, "all of it"

    def __init__(self):
        self.played, self.remembered, self.trained, self.read = [], [], [], []

    def play(self, player, asks):
        self.played.append((player, asks))
        return [
            episode(segment(text=TRIED[(n + i) % ask.n]), ask=gd.Ask(ask.task, ask.n), number=i, attempt=n)
            for i, ask in enumerate(asks)
            for n in range(ask.n)
        ]

    def remember(self, key, make):
        self.remembered.append(key)
        return make()

    def train(self, recipe, budget):
        self.trained.append((recipe, budget))
        return SimpleNamespace(model=lambda name: f"{name} {len(self.trained)}")


def studied(name, likes, model=None, **knobs):
    """What the study of a recipe finds of a pool whose n-th reward model likes a (prompt, text) as much as `likes[n]` says."""
    number = {up.name: n for n, up in enumerate(foretelling.POOL)}
    study, run = made(name, listed(), model, pool=len(likes), lessons=6, **knobs), HandRun()

    def said(scorer, texts):
        run.read.append({prompt for prompt, _ in texts})
        return [float(likes[number[scorer]](*each)) for each in texts]

    with ExitStack() as stack:
        taught = stack.enter_context(
            patch.object(foretelling, "brought_up", side_effect=lambda run, up, *_, **__: up.name)
        )
        stack.enter_context(patch.object(foretelling, "said_of", said))
        return study.body(run, 0), run, taught.call_args_list
