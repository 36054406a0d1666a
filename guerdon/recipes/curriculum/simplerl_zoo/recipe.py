"""SimpleRL-Zoo: RL straight from base models, on problems that fit each one's ability and without a reward for format.

Paper: Zeng et al. 2025, Investigating and Taming Zero Reinforcement Learning for Open Base Models in the Wild
(arXiv:2503.18892). GRPO from ten bases, with a reward for right answers alone: a strict format held bases back, and problems
too hard for a base broke its training. Here three bases come of one model: as it is; one that all but lost the mark of an
answer, by a few steps of imitating solutions without it; one blunted by noise on its weights. Answers are checked with or
without the mark. A base gets the half of the kinds of problems that it solves nearest to half of the time, or its hardest half
(`hard`); `strict` pays -1 (the paper's) for an answer without its mark. Each base has the budget; `accuracy` is their mean.
Leaves out: other sizes and families (`--model` takes one at a time); prompts for weak bases; length, and verifying oneself.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from guerdon.core.budget import Budget
from guerdon.core.model import Model
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.recipes.curriculum.simplerl_zoo.parts import blunted, fitting, insistent, unmarked
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.sft import sft
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.stage.score_stages import verified
from guerdon.studies.curves import at_the_end, held_out
from guerdon.tasks.mixtures import mixture as mixed  # the name that the body's hash has

ARMS: Any = {"task": "countdown:1-6", "metric": "accuracy", "settings": "lr=5e-5 max_tokens=64", "budget": 130_000}
TOO_HARD: Any = {"baseline": "simplerl-zoo hard=true", **ARMS}
STRICT: Any = {"baseline": "simplerl-zoo strict=true", **ARMS}
IMITATION, NOISE = {"prompts": 64, "lr": 1e-4}, 0.3  # five steps: sprig rarely says the mark; it solves half as much


@recipe(
    "simplerl-zoo",
    family="curriculum",
    paper="arXiv:2503.18892",
    claim=(
        Claim(
            says="Problems that fit a base's ability raise accuracy over all bases more than the hardest.", **TOO_HARD
        ),
        Claim(says="Without a reward for format bases end higher than with a strict one.", **STRICT),
    ),
    on=grpo,
)
def simplerl_zoo(base: Recipe, task: Any, model: Model, *, hard: bool = False, strict: bool = False) -> Study:
    """Zero RL across three bases: fitting or hard problems, with or without a strict format."""
    lenient = unmarked(task)
    made = base.but(verified=verified(lenient))
    made.exams[0].source = lenient
    lessons = paid_by(made, insistent(lenient)) if strict else made

    def body(run: Any, seed: int) -> dict[str, Any]:
        taught = run.train(sft(lenient, model, **IMITATION), budget=Budget(5, "steps")).model()
        bases = {"as it is": blunted(model, 0.0), "unmarked": taught, "blunted": blunted(model, NOISE, seed)}
        by_base = {}
        for name, base in bases.items():
            start = run.eval(base, lenient, tasks=192, tries=2, sampling=made.sampling)
            kinds = fitting(start["kinds"], hard)
            lesson = lessons.but(models={**made.models, "policy": base})
            lesson.curriculum.task = mixed(task.name, [lenient.kinds()[kind] for kind in kinds])
            curve = held_out(run.train(lesson, budget=run.budget))
            by_base[name] = {"before": curve[0]["value"], "after": at_the_end(curve)["value"], "kinds": kinds}
        return {"accuracy": fmean(each["after"] for each in by_base.values()), "bases": by_base}

    return Study(body)
