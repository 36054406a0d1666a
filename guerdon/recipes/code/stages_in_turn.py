"""Two trainings one after the other that share what may be spent. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.core.budget import Budget
from guerdon.core.recipe import Recipe, Study


def two_stages(first: Recipe, second: Recipe, share: float) -> Study:
    """The first recipe, and then the second on the policy that came of it, with `share` of the budget, or of the steps where
    there is none, for the second. A share of 0 or 1 leaves one of them out."""

    def body(run: Any, seed: int) -> None:
        left = second
        for made, part in ((first, 1 - share), (left, share)):
            if part <= 0:
                continue
            made = made.but(models={**made.models, "policy": left.models["policy"]})
            if run.budget is None:
                done = run.train(made, steps=max(1, round(part * made.steps)))
            else:
                done = run.train(made, budget=Budget(part * run.budget.amount, run.budget.unit))
            left = left.but(models={**left.models, "policy": done.model()})

    return Study(body)
