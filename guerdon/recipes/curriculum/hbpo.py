"""HBPO: the tries at a problem in groups with different token budgets, compared inside each group and across them.

Paper: Lyu et al. 2025 (arXiv:2507.15844), with the released code (github.com/zju-real/hbpo). A right answer is worth what
`within_budget` says, a wrong one 0. Advantage = (reward - mean) / spread over all tries at the problem + (mean
of its group - what its budget promises); the released code adds that last term twice, the paper's algorithm once. Budgets are
shares of the longest answer allowed, and said in the prompt: in a sentence, or, to models that know no instructions such as
sprig, as a number before the problem, whose meaning they learn by reward alone. With `announce=nothing` groups cannot be told
apart. The exam asks as training does, each problem under one of the budgets in turn. The claim's baseline is the paper's, the
mean of the four for all.
Leaves out: budgets said after <think> by the model itself, -1 for answers that cannot be read, a clip of 0.28 upwards.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from guerdon.core.batch import Batch, Group
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import Split, Task
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed
from guerdon.credit.track_steps import in_all, to_steps, with_step_column
from guerdon.curricula.token_budgets import NUMBER, budgeted
from guerdon.exams.exam import Exam
from guerdon.recipes.curriculum.length_claims import LONG, SHORTER
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import worth
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.length_budgets import promise, within_budget
from guerdon.tasks.changed_source import ChangedSource


@recipe(
    "hbpo",
    family="curriculum",
    paper="arXiv:2507.15844",
    claim=(
        Claim(
            says="Groups with different token budgets solve more than all tries under the mean of them.",
            baseline="hbpo announce=number shares=[0.375]",
            ablation="hbpo announce=number intra=0",
            method="announce=number",
            **LONG,
        ),
        Claim(
            says="Groups with different token budgets leave shorter answers than GRPO, and as many right ones.",
            method="announce=number",
            **SHORTER,
        ),
    ),
    on=grpo,
    helps=("long-answers",),
)
def hbpo(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    shares: tuple[float, ...] = (0.125, 0.25, 0.5, 0.625),  # the paper's 512, 1,024, 2,048 and 2,560 of 4,096
    intra: float = 1.0,  # the paper's weight of the term within a group
    announce: Literal["sentence", "number", "nothing"] = "sentence",
) -> Recipe:
    """GRPO with several token budgets for each problem, and a reward that fits each."""
    limit = base.sampling.max_tokens
    fitting = within_budget(limit)
    marks = [score(fitting.gated_by(worth(task, reward))), score(promise(fitting), "promised")]
    credit = [centre("reward", gives_to="across"), below_promise(), mixed(("across", "shortfall"), (1.0, intra))]
    truth, *_ = base.stages.scores
    base.stages = [truth, *marks, *credit, *base.stages.learners]
    line = {"sentence": "{prompt}\nAnswer within {budget} tokens.", "number": NUMBER, "nothing": ""}
    budgets = tuple(share * limit for share in shares)
    base.curriculum = budgeted(base.curriculum, budgets, line[announce])
    if announce != "nothing":
        base.exams = [Exam(budget_told(task, budgets, line[announce]))]
    return base


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
