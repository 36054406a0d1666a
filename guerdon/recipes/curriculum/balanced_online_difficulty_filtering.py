"""Balanced online difficulty filtering: GRPO that learns only from problems it solves about half of the time.

Paper: Bae et al. 2025, Online Difficulty Filtering for Reasoning Oriented Reinforcement Learning (arXiv:2504.03380). A problem
is learned from when low <= rate <= high, its rate being that of the right ones among the tries just made; more problems are
asked in the same step until `prompts` of them are kept, so the batch that is learned from keeps its size. Every try counts in
the budget. The paper's reason is a bound, KL(start, optimum) >= p(1-p)/(2 beta^2), largest at p = 1/2. Worked out on a bandit
(`tests/recipes/test_filtering.py`) it is what that divergence comes to for large beta; for p < 1/2 it is a lower bound down to
some beta, for p >= 1/2 it is an upper one, and where beta is small harder problems have the larger divergence.
Leaves out: sampling while others are scored (here in rounds, of as many problems as are missing); the paper's curricula that
are sorted beforehand.
"""

from __future__ import annotations

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.select.filters import until_enough, with_rate


@recipe(
    "balanced-online-difficulty-filtering",
    family="curriculum",
    paper="arXiv:2504.03380",
    claim=Claim(
        says="Learning only from problems of intermediate success rate, asked for until the batch is full, solves more.",
        ablation="balanced-online-difficulty-filtering low=0.01 high=0.99",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    helps=("sparse", "uneven-difficulty"),
)
def balanced_online_difficulty_filtering(
    base: Recipe,
    *,
    low: float = 0.2,  # low and high lie as far from 1/2, as the paper's balanced bands do; of 8 tries, 2 to 6 right
    high: float = 0.8,
    rounds: int = 10,  # as dapo
) -> Recipe:
    """GRPO on problems of intermediate success rate, asked for until there are enough."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    keep = with_rate("correct", low, high, by="ask", most=base.prompts)
    credit.by, learner.on = "ask", keep
    again = until_enough(base.curriculum, base.stages.scores, keep, groups=base.prompts, rounds=rounds)
    return base.but(before={"centre": again})
