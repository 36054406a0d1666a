"""Base models of different abilities out of one, the problems that fit each, and answers without their mark.

Leaves out: models of other sizes and families, which are loaded by name.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch

from guerdon.core.model import Model
from guerdon.core.part import part
from guerdon.core.task import Task
from guerdon.rewards.asking.function import Leaf, reward
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.family import ANSWER


def blunted(model: Model, share: float, seed: int = 0) -> Model:
    """A copy with noise on every weight matrix, of `share` of its own standard deviation: a model that knows the same, worse.
    Gains and biases (vectors) stay as they are."""
    noisy = copy.deepcopy(model)
    noisy.start(seed, {})
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in noisy.weights.parameters():
            if weight.dim() > 1:
                noise = torch.randn(weight.shape, generator=dice).to(weight)
                weight.add_(noise, alpha=share * float(weight.std()))
    return noisy


def fitting(rates: Mapping[str, float], hard: bool = False) -> list[str]:
    """Half of the kinds (rounded up) by a model's rate of success at each: those nearest to 1/2, or the `hard` ones, those that
    it solves least. Of equals the first, and in the order given.

    >>> rates = {"a:1": 1.0, "a:2": 0.7, "a:3": 0.3, "a:4": 0.0}
    >>> fitting(rates), fitting(rates, hard=True)
    (['a:2', 'a:3'], ['a:3', 'a:4'])
    """
    order = sorted(rates, key=lambda kind: rates[kind] if hard else abs(rates[kind] - 0.5))
    best = set(order[: (len(order) + 1) // 2])
    return [kind for kind in rates if kind in best]


@part
class unmarked(ChangedSource):
    """The problems of `source`, checked leniently: a completion whose last line lacks the mark of an answer (`= `) is read as
    if it had it. Its worked solutions have none.

    For what a model knows apart from how it says it: bases that were never taught the format.

    >>> from guerdon.tasks import load
    >>> plain, strict = unmarked(load("chain:1")), load("chain:1")
    >>> task = plain.get("test", 0)
    >>> plain.solution(task), plain.check(task, plain.solution(task)), strict.check(task, plain.solution(task))
    ('3*4=12\\n12-5=7\\n7', 1.0, 0.0)
    """

    source: Any

    def __repr__(self) -> str:
        return f"unmarked({self.source!r})"

    def check(self, task: Task, completion: str) -> float | None:
        return super().check(task, completion if is_marked(completion) else marked(completion))

    def solution(self, task: Task) -> str:
        *steps, answer = str(self.source.solution(task)).split("\n")
        return "\n".join([*steps, answer.removeprefix(ANSWER)])


def is_marked(completion: str) -> bool:
    """Whether the last line says that it is an answer."""
    return completion.strip().rpartition("\n")[2].strip().startswith(ANSWER)


def marked(completion: str) -> str:
    """The same with its last line made an answer."""
    steps, newline, answer = completion.strip().rpartition("\n")
    return f"{steps}{newline}{ANSWER}{answer}"


def insistent(source: Any) -> Leaf:
    """The verdict of a task on an answer that is marked as one (`= ` before it, on the last line), and -1 for any other.

    >>> from guerdon.tasks import load
    >>> source = unmarked(load("chain:1"))
    >>> task = source.get("test", 0)
    >>> [insistent(source).called(task=task, completion=text) for text in ("= 7", "= 6", "7")]
    [1.0, 0.0, -1.0]
    """

    def marked(task: Any, completion: str) -> Any:
        return source.check(task, completion) if is_marked(completion) else -1.0

    return reward(marked, isolate=False)
