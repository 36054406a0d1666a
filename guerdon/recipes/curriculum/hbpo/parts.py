"""HBPO's own parts: the advantage within a group, and problems that tell a budget.

The advantage says how far the tries under one budget are from what the budget promises.

Leaves out: the rewards that say what a budget promises (`rewards/text/length_budgets.py`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from guerdon.core.batch import Batch, Group
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.task import Split, Task
from guerdon.credit.track_steps import in_all, to_steps, with_step_column
from guerdon.tasks.changed_source import ChangedSource


@part(name="shortfall", aliases=("below_promise",))
class below_promise(FieldColumns):
    r"""$A = \bar r_{group} - \bar m_{group}$: how far a group as a whole is from what it was promised, the same for all of
    its tracks. $m$ is the column `mark`.

    The intra-subgroup term of HBPO (Lyu et al. 2025, arXiv:2507.15844): a group is the tries under one budget, the mark what
    a right answer within that budget is worth, so the term is at most 0, and 0 where all of them are. It is added to
    `centre()` among all tries at the problem.

    *Assumes* a mark that does not depend on the tries. *Biased*, though alike for a whole group: a track's own reward is in
    the mean, so with $n$ tracks it adds $1/n$ of the policy gradient; the rest moves nothing on average. It costs variance:
    where nothing is solved every try is pushed down by the whole mark.

    A track without a reward is in no mean and has no advantage; nor has a group without a mark. Logs `NAME/shortfall`.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 1.0], [2.0]], promised=[2.0, 2.0, 2.0])
    >>> below_promise(mark="promised")(batch, ExamplePlay())["shortfall"].tolist()
    [-1.5, -1.5, 0.0]
    """

    reward: Needs = "reward"
    mark: Needs = "promised"
    by: Group = "ask"
    gives_to: Gives = "shortfall"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, mark = batch.cols[self.reward], batch.cols[self.mark]
        group, size = batch.group(self.by)
        reward_K, mark_K = in_all(batch, column), in_all(batch, mark)
        gap = gather_up(reward_K, group, size, "mean") - gather_up(mark_K, group, size, "mean")
        if bool((~gap.isnan()).any()):
            play.log(**{f"{self.gives_to}/shortfall": float(gap.nanmean())})
        advantage_K = gap[group].masked_fill(reward_K.isnan(), float("nan"))
        return with_step_column(batch, self.gives_to, to_steps(batch, advantage_K.to(column.value.dtype)), column, mark)


@part
class budget_told(ChangedSource):
    """The problems of `source`, each with one of `budgets` in its prompt, in turn: for exams of a policy that was taught so.

    >>> from guerdon.tasks import load
    >>> source = budget_told(load("countdown:1"), (24, 48), "{budget} {prompt}")
    >>> [source.get("test", i).prompt.split()[0] for i in range(3)]
    ['24', '48', '24']
    """

    source: Any
    budgets: tuple[float, ...]
    template: str

    shelf = "tasks"

    def __repr__(self) -> str:
        return f"budget_told({self.source!r}, {self.budgets}, {self.template!r})"

    def get(self, split: Split, index: int) -> Task:
        task, budget = super().get(split, index), self.budgets[index % len(self.budgets)]
        return dataclasses.replace(task, prompt=self.template.format(prompt=task.prompt, budget=max(1, round(budget))))
