"""How far rewards without labels go: GRPO on each of them, beside an external check and the truth, and when each collapses.

Paper: He et al. 2026, How Far Can Unsupervised RLVR Scale LLM Training? (arXiv:2603.08660), read in its abstract and summaries.
Its theory: a reward of the model's own confidence or agreement sharpens the start, towards the answer that it gives most often,
so it ends at what was believed, right or wrong. An external check tests what is hard to find and easy to verify: here the
family's step checker, which tests every line and the answer and knows no label (the paper has models verify Countdown).
Two steps are distinguished. `collapse_step`: held-out accuracy is 10 points under its best in two exams running (ours; it needs
--eval-every). `model_collapse_step`, the paper's indicator of what a model can be taught: the tries of training are right less
often than the start's. A summary says less often than 1 %: `--set under=0.01`. `confident` is how often the start's majority is
right, beside `single`, one try: what sharpening will amplify.
Ours: steps, problems and blocks. Leaves out: larger models, training on the test set, and verification by a model.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.budget import Budget
from guerdon.core.errors import UserError, unknown
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, Study, recipe
from guerdon.exams import Exam, accuracy, majority_vote
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.formula.algebra import flipped
from guerdon.rewards.formula.per_step import overall
from guerdon.rewards.model.confidence import likelihood, low_entropy, self_certainty
from guerdon.rewards.stage.score_stages import checker
from guerdon.rewards.text.agreement import majority
from guerdon.rewards.text.task_checks import true_lines
from guerdon.studies.collapse import Curve, collapse_step, gain_at_best, model_collapse_step
from guerdon.tasks.stepwise import has_steps

REWARDS: dict[str, Any] = {  # each over a task
    "vote": lambda task: majority(),
    "entropy": lambda task: low_entropy(),
    "self-certainty": lambda task: self_certainty(),
    "likelihood": lambda task: likelihood(),
    "random": lambda task: flipped(checker(task), share=0.5),  # a coin, whatever the truth is
    "external": lambda task: overall(true_lines(task), "min"),
    "truth": checker,
}
EXTERNAL = "external"


@recipe(
    "urlvr-scaling-study",
    family="self_reward",
    paper="arXiv:2603.08660",
    on=grpo,
    needs=Needs(answers=True, text=True, learns_from="rewards without labels, one after the other"),
)
def urlvr_scaling_study(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    rewards: str = ",".join(REWARDS),  # a training each, with commas between them; the paper's kinds
    under: float = 0.0,  # of the Model Collapse Step: below this share of right tries; 0: below the start's, as the row has it
    block: int = 5,  # steps whose tries are counted together for it; ours
    problems: int = 64,  # on which the start's majority is measured; ours
) -> Study:
    """GRPO on each reward without labels, and the steps at which it collapses."""
    names = rewards.split(",")
    for name in names:
        if name not in REWARDS:
            raise unknown("reward of urlvr-scaling-study", name, REWARDS)
    if EXTERNAL in names and not has_steps(task):
        rest = ",".join(name for name in names if name != EXTERNAL)
        raise UserError(f"{task.name} has no step checker, which is the external check: --set rewards={rest}")
    votes = Exam(task, [accuracy(), majority_vote()])
    tries = base.curriculum.tries

    def body(run: Any, seed: int) -> dict[str, Any]:
        start = run.eval(model, votes, tasks=problems, tries=tries, sampling=base.sampling)
        results: dict[str, Any] = {"single": start["pass@1"], "confident": start[f"majority@{tries}"]}
        share = Budget(run.budget.amount / len(names), run.budget.unit) if run.budget else None
        for name in names:
            trained = run.train(paid_by(base.but(), REWARDS[name](task)), budget=share)
            steps = enumerate(trained.metrics.to_pylist())
            seen = [(step, each["correct/mean"]) for step, each in steps if each.get("correct/mean") is not None]
            exams = [(spent["steps"], result["pass@1"]) for spent, result in trained.curve]
            results[name] = measures(exams, seen, under or None, block)
        return results

    return Study(body)


def measures(exams: Curve, seen: Curve, under: float | None, block: int) -> dict[str, Any]:
    """Of a run by its exams and by the tries of its training; empty of exams where there were none.

    >>> measures([(0, 0.3), (5, 0.4), (10, 0.2), (15, 0.1)], [(0, 0.3), (1, 0.2)], None, 1)["collapse_step"]
    10
    """
    numbers: dict[str, Any] = {"model_collapse_step": model_collapse_step(seen, under, block)}
    if exams:
        numbers |= {"gain_at_best": gain_at_best(exams), "end": exams[-1][1], "collapse_step": collapse_step(exams)}
    return {**numbers, "curve": [list(point) for point in exams]}
