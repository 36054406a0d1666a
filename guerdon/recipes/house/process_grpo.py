"""GRPO with process supervision: every line is paid, compared with all lines of the group, and answers for those after it.

Paper: Shao et al., DeepSeekMath (arXiv:2402.03300), section 4.1.3: step rewards less their mean over all steps of the group's
tries, over their deviation; the advantage of a token is the sum of what stands at the ends of its own and later lines. Who
judges lines: the task's step checker, which is exact; a process reward model (`--set scorer=runs/prm`); or a reward of your own
that returns a list (`--reward my.py:lines`). The paper has no reward for the outcome beside it; `outcome` adds one, and with
`process=0` that is all there is.
Leaves out: the paper's refresh of the reward model while the policy learns.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed
from guerdon.credit.returns import reward_to_go
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.line_scorers import lines_of
from guerdon.recipes.house.step_exams import step_exams
from guerdon.rewards.formula.per_step import step_zscores
from guerdon.rewards.stage.score_stages import score


@recipe(
    "process_grpo",
    family="house",
    paper="arXiv:2402.03300",
    on=grpo,
    needs=Needs(step_checker="scorer|reward", text=True),
    helps=("sparse", "unsound-steps"),
)
def process_grpo(
    base: Recipe,
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    scorer: str = "",  # a process reward model's folder; none: the task's own step checker
    process: float = 1.0,
    outcome: float = 0.0,  # the paper has none
) -> Recipe:
    """GRPO whose every line is rewarded: how right it is, against all lines of the group."""
    lines = lines_of(base, task, model, reward, scorer)
    truth, *_ = base.stages.scores
    credit = [centre(truth.gives[0], gives_to="standing"), reward_to_go("lines_steps", gives_to="to_go")]
    mix = mixed(("standing", "to_go"), (outcome, process))
    base.stages = [truth, score(step_zscores(lines), "lines"), *credit, mix, *base.stages.learners]
    base.exams = [*base.exams, *step_exams(task, lines)]
    return base
