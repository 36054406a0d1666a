"""TP-GRPO: GRPO with rewards for thoughts, which are runs of right or of wrong lines, that grow with what the policy can do.

Paper: He et al. 2025, Good Learners Think Their Thinking: Generative PRM Makes Large Reasoning Model More Efficient Math
Learner (arXiv:2507.23317; the released code, github.com/cs-holder/tp_grpo, could not be had here; formulas by summaries). A
judge says of every line whether it is right; lines of one kind in a row are a thought. In right answers right thoughts are
paid r_c and wrong ones -r_c, with r_c = alpha times the share of right tries at the problem, so that what is hard goes by its
outcome; in wrong answers the lines that lead to the answer keep the outcome's advantage and all others have none. A token's
advantage is what comes after it. `judge="exact"` is the task's step checker, "sprig" a frozen copy of the start model in its
role of verifier, whose words count in the budget; it goes through lines up to the first wrong one, so what follows is taken to
be as the answer is. A start model that does not know sprig's roles is asked in plain language for the first wrong line.
Leaves out: errors traced back from the policy's own reflections ("wait"), which sprig does not write, and judging by meaning
which lines lead to a wrong answer: here all wrong lines do; old tries learned from again; judges of your own rows' lines.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.process_claims import STEPS
from guerdon.recipes.process.tp_grpo_thought.parts import each_line, marked_lines, thoughts
from guerdon.rewards.stage.score_stages import score
from guerdon.tasks.stepwise import by_steps, has_steps


@recipe(
    "tp-grpo-thought",
    family="process",
    paper="arXiv:2507.23317",
    claim=Claim(
        says="Rewards for thoughts that grow with the policy's rate of success solve more than outcomes alone.",
        ablation="tp-grpo-thought adaptive=false",
        **STEPS,
    ),
    on=grpo,
    needs=Needs(step_checker="judge", text=True),
    helps=("sparse", "unsound-steps"),
)
def tp_grpo_thought(
    base: Recipe,
    task: Any,
    *,
    judge: Literal["exact", "sprig"] = "exact",
    alpha: float = 0.5,  # ours: the paper's could not be read
    adaptive: bool = True,  # the paper; False: r_c is alpha, whatever is solved
) -> Recipe:
    """GRPO with thought rewards in right answers, and blame for nothing but wrong lines in wrong ones."""
    (credit,), most = base.stages.credit, 2 * base.sampling.max_tokens
    credit.gives_to = "outcome"
    says = score(each_line(by_steps(task)), "judged") if judge == "exact" else marked_lines(max_tokens=most)
    if judge == "sprig":
        base.models["judge"] = snapshot("policy")
    base.exams += step_exams(task, each_line(by_steps(task))) if has_steps(task) else []
    return base.but(before={"centre": says}, after={"centre": thoughts(alpha=alpha, adaptive=adaptive)})
