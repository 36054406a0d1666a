"""MR-RLVR: first gaps of worked solutions are filled and their steps put in order, then problems are solved.

Paper: Wang et al. 2025, masked-and-reordered self-supervision (arXiv:2511.17473), read in its abstract. Two stages of GRPO. In
the first a problem is shown with its worked solution, either with `gaps` in it or with its steps out of order, in turn; a try
is paid the share of gaps that it fills rightly, or the share of pairs of steps that it puts in order. In the second it is paid
for the right answer to the problem alone. How the paper scores both tasks was not at hand: these shares are ours, and so is
half of the run for each stage. A step checker, where there is one, says which other fillings and orders are right too; of other
solutions, such as a column of a file, only what stands there is. The exam is of the problems themselves.
Leaves out: traces that another model wrote and proofs without an answer; a fresh optimiser for the second stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Task, kinds_of
from guerdon.curricula.plain import in_stages, uniform
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.stage.score_stages import checker, verified
from guerdon.rewards.text.message_checks import gaps_filled, order_kept
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.mixtures import mixture
from guerdon.tasks.worked_steps import cloze, shuffled


@recipe(
    "mr-rlvr",
    family="self_reward",
    paper="arXiv:2511.17473",
    on=grpo,
    needs=Needs(answers=True, solutions=True, text=True, one_turn=True, learns_from="worked solutions, then answers"),
    helps=("sparse",),
)
def mr_rlvr(
    base: Recipe,
    task: Any,
    *,
    tries: int = 8,  # as grpo
    at: float = 0.5,  # share of the run at which problems begin; ours
    gaps: int = 2,  # gaps of a solution; ours
    most: int = 8,  # the most steps to put in order; ours
) -> Recipe:
    """GRPO on gaps and orders of worked solutions, then on answers."""
    lessons = {**kinds_of(cloze(task, gaps)), **kinds_of(shuffled(task, most))}
    worked = mixture(f"worked:{task.name}", [*lessons.values()])
    every = mixture(f"worked:{task.name}+{task.name}", [*lessons.values(), *kinds_of(task).values()])
    base.curriculum = in_stages([uniform(worked, tries), uniform(task, tries)], (at,))
    outcome = checker(bare_problems(every))
    paid_by(base, blend(filled=gaps_filled(worked), ordered=order_kept(worked), outcome=outcome))
    return base.but(verified=verified(every))


@part
class bare_problems(ChangedSource):
    """The problems of `source`, without a verdict on worked solutions.

    >>> import guerdon as gd
    >>> source = bare_problems(gd.tasks.load("cloze:chain:2"))
    >>> source.check_track(source.get("train", 0), {"completion": "= 7 5"})
    """

    source: Any

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return None if "base" in task.meta else super().check_track(task, track)

    async def check_track_later(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return None if "base" in task.meta else await super().check_track_later(task, track)
