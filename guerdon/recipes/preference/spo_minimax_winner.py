"""SPO: a try is paid how often it is preferred to the policy's other tries, and the policy is the average of its iterates.

Paper: Swamy et al. 2024, a minimaximalist approach to RLHF (arXiv:2401.04056), read in its abstract. Where preferences go in a
circle no reward of single answers says them, and a policy that maximises one ends with an answer that another beats. Here the
policy plays against itself: r(y_i) is the mean of P(y_i > y_j) over the other tries of the group, and any RL maximises that,
GRPO here. What comes near the minimax winner, which no policy beats, is the average of all iterates; the last one may
cycle. So `keep` iterates, evenly spaced over the run, stay as models, and the exam `average` asks each problem of one of them
in turn. P is a function of two (`--reward my.py:better`, `better = gd.preferred(function)`), a judge (`gd.pairwise`), or the
order that any other reward gives, which has no circles. Leaves out: trajectories of control, the queue of past tries that a
group of two would need, and a model file of the average: a run saves its last policy, the iterates are in its checkpoints.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask
from guerdon.exams.exam import Exam
from guerdon.models.frozen_copy import snapshot
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
        iterates = {f"policy_{turn}": iterate("policy", turn=turn, turns=keep) for turn in range(1, keep + 1)}
        base.models |= iterates
        base.exams = [*base.exams, Exam(in_turn_of(task, tuple(iterates)), name="average")]
    return base


@part
class iterate(snapshot):
    """The model `of` as it was after the share `turn / turns` of a run's steps, and before that as it was at the start.

    >>> iterate("policy", turn=2, turns=4)
    iterate(of='policy', turn=2, turns=4)
    """

    turn: int = knob(default=1, ge=1)
    turns: int = knob(default=1, ge=1)

    taken: bool = state(default=False)

    def observe(self, batch: Batch, play: Play) -> None:
        if not self.taken and (play.step + 1) * self.turns >= self.turn * play.steps:
            self.refresh()
            self.taken = True


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
