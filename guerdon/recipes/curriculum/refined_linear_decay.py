"""Refined linear decay: the gradient norms of one run shape the learning rate of the next.

Paper: Defazio, Cutkosky, Mehta & Mishchenko 2023, When, Why and How Much? Adaptive Learning Rate Scheduling by Refinement
(arXiv:2310.07831), and the authors' find_schedule.py. Linear decay is best in the worst case; the refined schedule
(`studies/schedules.py:refined`) steps less where gradients were large, so that warm-up and a fast end come of themselves.
Here a small network learns digits. Run 1 has linear decay and its norms are recorded (Euclidean for SGD, sums of absolute
values for Adam); run 2 is refined. Every schedule gets the peak, of the same five, that is best on held-out digits. The budget
is the last run's, as in the paper; with `count_first` both get half. Leaves out: its tasks, and refining a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from torch import nn

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.schedule import cosine, linear
from guerdon.studies.classify import OPTIMISERS, accuracy, best_rate, fitted, gradient_norm, loss
from guerdon.studies.digits import digits
from guerdon.studies.schedules import refined

BATCH, EVERY = 50, 20
POWER = {"sgd": 2, "adam": 1}  # which norm of the gradient is recorded, and the power of it that weights are made of
SHAPES: dict[str, Callable[[float], Any]] = {"linear": lambda peak: linear(peak, 0.0), "cosine": cosine}
NAME = "refined-linear-decay"
ARMS: dict[str, Any] = {"baseline": f"{NAME} schedule=linear", "ablation": f"{NAME} schedule=cosine", "model": ""}
ARMS |= {"metric": "loss", "better": "lower", "effect": 0.005, "budget": 200, "unit": "steps"}


@recipe(
    "refined-linear-decay",
    family="curriculum",
    paper="arXiv:2310.07831",
    claim=(
        Claim(says="SGD ends lower by the refined schedule than by linear decay.", **ARMS),
        Claim(says="Adam ends lower by the refined schedule than by linear decay.", settings="optimiser=adam", **ARMS),
    ),
    needs=Needs(world="images of digits for a small network"),
)
def refined_linear_decay(
    schedule: Literal["refined", "linear", "cosine"] = "refined",
    optimiser: Literal["sgd", "adam"] = "sgd",
    steps: int = 200,
    count_first: bool = False,
) -> Study:
    """A learning-rate schedule made from an earlier run's gradient norms: a network on scikit-learn's digits."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        data, power, norms, curve = digits(seed), POWER[optimiser], [], []
        length = steps // 2 if count_first and schedule == "refined" else steps

        def fit(lr: Any, watch: Callable[[nn.Module, int], None] | None = None) -> nn.Module:
            return fitted(seed, data.train, OPTIMISERS[optimiser](lr), length, BATCH, watch)

        def at_its_best(number: int, shape: Callable[[float], Any]) -> Any:
            best = partial(best_rate, optimiser, lambda peak: fit(shape(peak)), data.validation)
            return shape(run.remember(number, best))

        lr = at_its_best(1, SHAPES.get(schedule, SHAPES["linear"]))
        if schedule == "refined":
            fit(lr, lambda net, done: norms.append(gradient_norm(net, power)))
            lr = at_its_best(2, lambda peak: refined(peak, norms, power=power))

        net = fit(lr, lambda net, done: curve.append({"spent": done, "value": loss(net, data.test)}))
        return {"loss": curve[-1]["value"], "accuracy": accuracy(net, data.test), "curve": curve[EVERY - 1 :: EVERY]}

    return Study(body)
