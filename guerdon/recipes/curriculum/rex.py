"""REX: a learning rate that stays high for longer than a straight line and falls faster at the end.

Paper: Chen, Wolfe & Kyrillidis 2021, REX: Revisiting Budgeted Training with an Improved Schedule (arXiv:2107.04197). The rate
is peak (1 - z) / (1 - z/2), z the share of the run done, set anew at every step: `studies/schedules.py:rex`, which any learning
rate takes (`adam(lr=rex(3e-4))`). Here a small network learns digits on a small share of a full run; every schedule gets the
peak, of the same five, that is best on held-out digits at that budget. Followed: formula, schedules compared, budgets as shares
of a full run, SGD with momentum and Adam, a peak for each. Leaves out: the paper's tasks, plateaus, OneCycle, coarser profiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any, Literal

from torch import nn

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.schedule import cosine, linear, steps_at
from guerdon.studies.classify import OPTIMISERS, accuracy, best_rate, fitted
from guerdon.studies.digits import digits
from guerdon.studies.schedules import rex as reflected

FULL, BATCH = 2000, 50  # steps of a full run: 100 passes over 1,000 digits
PROFILES: dict[str, Callable[[float, int], Any]] = {
    "rex": lambda peak, steps: reflected(peak),
    "linear": lambda peak, steps: linear(peak, 0.0),
    "cosine": lambda peak, steps: cosine(peak),
    "steps": lambda peak, steps: steps_at(peak, {steps // 2: 0.1 * peak, 3 * steps // 4: 0.01 * peak}),
    "constant": lambda peak, steps: peak,
}
ARMS: dict[str, Any] = {"baseline": "rex schedule=linear", "ablation": "rex schedule=cosine", "model": ""}
ARMS |= {"metric": "accuracy", "effect": 0.005, "budget": 320, "unit": "steps"}


@recipe(
    "rex",
    family="curriculum",
    paper="arXiv:2107.04197",
    claim=(
        Claim(says="On 1, 5 and 10 % of a full run, SGD learns more by REX than by linear decay.", **ARMS),
        Claim(
            says="On 1, 5 and 10 % of a full run, Adam learns more by REX than by linear decay.",
            settings="optimiser=adam",
            **ARMS,
        ),
    ),
    needs=Needs(world="images of digits for a small network"),
)
def rex(
    schedule: Literal["rex", "linear", "cosine", "steps", "constant"] = "rex",
    optimiser: Literal["sgd", "adam"] = "sgd",
    shares: tuple[float, ...] = (0.01, 0.05, 0.1),  # the paper's low budgets
) -> Study:
    """Learning-rate schedules compared on small budgets: a network on scikit-learn's digits."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        data, curve = digits(seed), []
        for share in shares:
            steps = round(FULL * share)

            def trained(peak: float, steps: int = steps) -> nn.Module:
                rate = PROFILES[schedule](peak, steps)
                return fitted(seed, data.train, OPTIMISERS[optimiser](rate), steps, BATCH)

            peak = run.remember(share, partial(best_rate, optimiser, trained, data.validation))
            curve.append({"spent": steps, "value": accuracy(trained(peak), data.test), "peak": peak})
        return {"accuracy": fmean(point["value"] for point in curve), "curve": curve}

    return Study(body)
