"""DR. SAF: aware first, think less. Brevity is asked for where the policy is sure, thought where it is not.

Paper: Chen et al. 2025, Aware First, Think Less (arXiv:2508.11582), as the released code has it (github.com/sfasfaffa/DR_SAF).
On top of 1 for a right answer: 0.06 for a short right one where (nearly) all tries are right, 0.06 for a long wrong one where
they are not (`length_by_rate`); up to 0.32 for saying first whether the problem is within reach (CFRB or
PFRB) and being right about that (`knows_limits`; the prompt has to ask for it, so `aware=false` for models that know no
instructions, such as sprig); and a baseline that pushes no right answer down for being long (`spare_correct`).
Leaves out: 0.025 for closing </think> once; the boundary CIRB (out of reach), which the released code no longer has.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.curriculum.dr_saf.parts import knows_limits, length_by_rate, spare_correct
from guerdon.recipes.curriculum.length_claims import LONG, SHORTER
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.formula.algebra import blend


@recipe(
    "dr-saf",
    family="curriculum",
    paper="arXiv:2508.11582",
    claim=(
        Claim(
            says="Brevity rewarded only where the policy is sure leaves shorter answers than GRPO, and as many right ones.",
            ablation="dr-saf aware=false brief=0",
            method="aware=false",
            **SHORTER,
        ),
        Claim(
            says="A baseline that spares long right answers solves more than the mean with the same reward.",
            baseline="dr-saf aware=false spare=false",
            method="aware=false",
            **LONG,
        ),
    ),
    on=grpo,
    helps=("long-answers",),
)
def dr_saf(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    brief: float = 0.06,  # the released code
    aware: bool = True,
    spare: bool = True,
) -> Recipe:
    """GRPO with a length reward by the group's success, self-assessment, and no right answer pushed down."""
    right = worth(task, reward)
    terms: dict[str, Any] = {"right": right, "length": length_by_rate(right).weight(brief)}
    if aware:
        terms["aware"] = knows_limits(right)
    base = paid_by(base, blend(**terms))
    return base.but(centre=spare_correct()) if spare else base
