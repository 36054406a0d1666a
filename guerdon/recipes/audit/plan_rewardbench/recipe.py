"""Plan-RewardBench: can a reward model tell a good trajectory from one with a single fault, and how long may it be?

Paper: Wang et al. 2026, Aligning Agents via Planning: A Benchmark for Trajectory-Level Reward Modeling (arXiv:2604.08178; code
and data are not released). Pairs of a tool user's trajectories, preferred and distractor, in four families: refusals, tools
that are irrelevant or not there, plans, and recovery from errors; distractors are other models' trajectories, or the preferred
one changed by rules or by a model. Judges and reward models are right less and less often the longer trajectories are.
Here trajectories call a calculator, and one thing is wrong by rule: an operation is left out, another number is used, a failed
call is ignored and its result made up, or a tool is asked that there is not. A reward model learns pairs of two and three
operations (`teach=short`), or as many of all lengths. `long` is its accuracy at the two greatest lengths, `fall` what is
lost from the two least to them. All lengths, faults and heuristics (the last step alone; the longer the better) are in `table`.
Departs: one tool, and perturbations by rule alone. `teach=all` is the training that the paper asks for and does not do.
Leaves out: safety, judges that are asked in words, trajectories of models.
"""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.recipes.audit.plan_rewardbench.parts import tabled, trace_pairs
from guerdon.recipes.audit.scorer_pool import said_of, taught_pairs

NAME = "plan-rewardbench"
SPEND: Any = {"budget": 60, "unit": "steps"}
LENGTHS = (2, 3, 6, 12, 18, 24)  # operations; a call and its result each
SHORT = LENGTHS[:2]


@recipe(
    "plan-rewardbench",
    family="audit",
    paper="arXiv:2604.08178",
    claim=(
        Claim(
            says="A reward model of short trajectories loses accuracy on long ones.",
            method="teach=short",
            **{**SPEND, "kind": "bound", "metric": "fall", "bound": 0.1, "effect": 0.05},
        ),
        Claim(
            says="Taught pairs of all lengths, as many, it judges long ones better.",
            baseline=f"{NAME} teach=short",
            metric="long",
            **SPEND,
        ),
    ),
)
def plan_rewardbench(
    model: Model,
    *,
    teach: Literal["short", "all"] = "all",
    prompts: int = 32,
    rm_lr: float = 3e-4,  # as reward_model; it is the same for all arms, so nobody tunes it
    each: int = 128,  # held-out pairs of every length
    steps: int = 60,
) -> Study:
    """Teach a reward model pairs of trajectories, short ones or all, and see how it judges each length."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        lessons = trace_pairs(SHORT if teach == "short" else LENGTHS, steps * prompts, seed, "train")
        rows = [{"prompt": p.prompt, "chosen": p.good, "rejected": p.bad} for p in lessons if p.good != p.bad]
        say = partial(said_of, taught_pairs(run, rows, model, steps, prompts, rm_lr))
        exam = trace_pairs(LENGTHS, each * len(LENGTHS), seed, "test")
        table = tabled(say, exam)
        long, short = (fmean(table["rm"][f"length_{n}"] for n in some) for some in (LENGTHS[-2:], SHORT))
        return {"long": long, "fall": short - long, "all": table["rm"]["all"], "table": table}

    return Study(body)
