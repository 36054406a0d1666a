"""SPO: a try is paid how often it is preferred to the policy's other tries, and the policy is the average of its iterates.

Paper: Swamy et al. 2024, a minimaximalist approach to RLHF (arXiv:2401.04056), read in its abstract. Where preferences go in a
circle no reward of single answers says them, and a policy that maximises one ends with an answer that another beats. Here the
policy plays against itself: r(y_i) is the mean of P(y_i > y_j) over the other tries of the group, and any RL maximises that,
GRPO here. What comes near the minimax winner, which no policy beats, is the average of all iterates; the last one may
cycle. So `keep` iterates, evenly spaced over the run, stay as models, and the exam `average` asks each problem of one of them
in turn. P is a function of two (`--reward my.py:better`, `better = gd.preferred(function)`), a judge (`gd.pairwise`), or the
order that any other reward gives, which has no circles. Leaves out: trajectories of control, and the queue of past tries that
a group of two would need.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask
from guerdon.exams.exam import Exam
from guerdon.models.past_selves import pool
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.recipes.preference.shared import compared


@recipe(
    "spo-minimax-winner",
    family="preference",
    paper="arXiv:2401.04056",
    on=grpo,
    needs=Needs(answers="reward"),
    helps=("noisy-judge",),
)
def spo_minimax_winner(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    keep: int = 4,  # iterates that stand for their average, a copy of the model each; 0: the last alone; ours
) -> Recipe:
    """GRPO on how often a try is preferred to the group's others; what is examined is the average of its iterates too."""
    base = paid_by(base, compared(task, reward))
    if keep:
        base.models |= pool("policy", keep, max(base.steps // keep, 1))
        names = tuple(name for name in base.models if name.startswith("policy_"))
        base.exams = [*base.exams, Exam(in_turn_of(task, names), name="average")]
    return base


@part
class in_turn_of:
    """The held-out problems of a task, each asked of the next of some models: at random, a policy that is one of them."""

    task: Any
    pool: tuple[str, ...]

    def exam_asks(self, tasks: int, tries: int, play: Play) -> list[Ask]:
        size = self.task.size("test")
        numbers = range(tasks if size is None else min(tasks, size))
        seats = [{"policy": self.pool[i % len(self.pool)]} for i in numbers]
        return [Ask(self.task.get("test", i), tries, seats=seated) for i, seated in zip(numbers, seats, strict=True)]
