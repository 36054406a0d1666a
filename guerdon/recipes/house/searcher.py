"""Searcher: SFT on solutions that try again until they are right, so that a policy thinks longer than it must.

Not a method to get better by but a start for those that shape how long a policy thinks (`curriculum-grpo`, `hbpo`, `dr-saf`):
sprig answers a problem at one length, and has nothing to shorten. `guerdon train searcher --task countdown:1-6 --model sprig
--out runs/long`, then `guerdon train hbpo --task countdown:1-6 --model runs/long`. Leaves out: tasks without ways to search.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.sft import sft
from guerdon.tasks.searched_solutions import searching


@recipe("searcher", family="house", on=sft, needs=Needs(searched=True))
def searcher(
    base: Recipe,
    task: Any,
    *,
    most: int = 3,  # other ways before the right one, at most
    lr: float = 5e-4,
    max_tokens: int = 192,  # of the exam: the longest of these solutions has some 180
    steps: int = 600,
) -> Recipe:
    """Imitate solutions that go other ways first."""
    base.curriculum.task = searching(task, most)
    return base
