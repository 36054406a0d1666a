"""1-shot RLVR: GRPO on one problem, repeated, that is chosen by how much its success rate varied in a run on all of them.

Paper: Wang et al. 2025, Reinforcement Learning for Reasoning in Large Language Models with One Training Example
(arXiv:2504.20571), with the released code (github.com/ypwang61/One-Shot-RLVR). A first run goes through a finite set `epochs`
times; problems are ranked by the variance of their rates of success over it. The model begins anew, and the first of the
ranking fills every batch, each copy a group of its own. The loss is GRPO's, with a KL to the start model and a bonus for
entropy. `train` is also "any" (a problem by lot), "all" (the whole set) or "nothing". The budget is that of the second run, as
in the paper; the first stands in what an arm spent. Leaves out: weight decay; few problems at once; entropy without a reward.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.budget import Budget
from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.seeds import derive
from guerdon.curricula.plain import uniform
from guerdon.curricula.success_records import by_variance, history_of, recorded
from guerdon.losses.penalties import entropy as bonus
from guerdon.recipes.house.grpo import grpo
from guerdon.studies.curves import at_the_end, held_out
from guerdon.tasks.choosing import chosen

ARMS: Any = {"task": "countdown:1-6@128", "metric": "accuracy", "settings": "lr=5e-5 max_tokens=64"}
BEFORE: Any = {"baseline": "one-shot-rlvr train=nothing", "ablation": "one-shot-rlvr entropy=0", **ARMS}
WHOLE: Any = {"baseline": "one-shot-rlvr train=all", "ablation": "one-shot-rlvr train=any", **ARMS}


@recipe(
    "one-shot-rlvr",
    family="curriculum",
    paper="arXiv:2504.20571",
    claim=(
        Claim(says="One problem, repeated, raises accuracy on problems that were never trained on.", **BEFORE),
        Claim(says="One problem ends as high as its whole set.", kind="at least as good", **WHOLE),
    ),
    on=grpo,
    needs=Needs(finite=True),
    helps=("few-labels",),
)
def one_shot_rlvr(
    base: Recipe,
    task: Any,
    *,
    train: Literal["chosen", "any", "all", "nothing"] = "chosen",
    entropy: float = 0.001,  # the paper's
    kl: float = 0.001,  # the paper's beta
    epochs: int = 8,  # of the first run; the paper's are some fifty
) -> Study:
    """Choose one problem by historical variance, and train on it alone."""
    if (size := task.size("train")) is None:
        raise UserError(f"{task.name} never ends, and a problem is chosen from a set: --task {task.name}@128")
    made = base.but(**{"centre.by": "ask", "learn.loss": base.stages.learners[0].loss + bonus(entropy)})

    def picked(run: Any, seed: int) -> int:
        if train == "any":
            return derive(seed, "one example") % int(size)
        length = Budget(-(-epochs * size // made.prompts), "steps")  # its own: what the lesson may spend is no matter
        first = run.train(made.but(curriculum=recorded(made.curriculum)), budget=length)
        return by_variance(task, history_of(first.metrics.to_pylist()))[0]

    def body(run: Any, seed: int) -> dict[str, Any]:
        numbers = tuple(range(size)) if train in ("all", "nothing") else (picked(run, seed),)
        lesson = made.but(curriculum=uniform(chosen(task, numbers), made.curriculum.tries))
        curve = held_out(run.train(lesson, **({"steps": 0} if train == "nothing" else {"budget": run.budget})))
        return {
            "accuracy": at_the_end(curve)["value"],
            "before": curve[0]["value"],
            "problem": numbers[0],
            "curve": curve,
        }

    return Study(body)
