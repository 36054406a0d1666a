"""TEMPO: GRPO whose advantage is corrected at the tokens where the tries at a problem part.

Paper: Tran, Yao and Yu 2025, exploiting tree structure for credit assignment (arXiv:2509.18314). The tries at a problem are
merged into a tree of the beginnings that they share; a beginning is worth the mean reward of the tries that have it, and each
token's advantage is (r - mean + V(after) - V(before)) / std over the tries. V changes only where tries part, so all other
tokens have GRPO's advantage; nothing more is sampled. No code was found, so the rest is GRPO's. The share of tokens at which
tries part is logged, `advantage/branching`.
Where tries share no beginnings their first token counts twice, and nothing else differs from GRPO.
Leaves out: the paper's models, whose answers are hundreds of tokens long and soon part for good.
"""

from __future__ import annotations

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.tree import branch_gain
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.process.process_claims import STEPS


@recipe(
    "tempo",
    family="process",
    paper="arXiv:2509.18314",
    claim=Claim(
        says="Credit at the tokens where tries part solves more than the same credit for all tokens of a try.", **STEPS
    ),
    on=grpo,
    helps=("sparse",),
)
def tempo(
    base: Recipe,
    *,
    outcome: float = 1.0,  # the paper's formula; 0 leaves the corrections alone
) -> Recipe:
    """GRPO with a correction where tries part: what the token gained over the mean of those that begin alike."""
    (credit,) = base.stages.credit
    return base.but(replace={"centre": branch_gain(credit.reward, outcome=outcome, std=credit.std, eps=credit.eps)})
