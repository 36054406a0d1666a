"""Teaching a critic: the value of every step.

Leaves out: how returns are made (`credit`).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.knob_values import is_schedule
from guerdon.core.part import knob, part
from guerdon.losses.penalties import nobody
from guerdon.losses.reduce import Mean, average, numbers, reduce
from guerdon.losses.terms import Term


@part
class value(Term):
    r"""$w\,(V - R)^2$, with $R$ the column `target`: the critic's half of actor-critic methods.

    With `clip` $=c$ it is $w\max\{(V-R)^2,\ (\text{clip}(V, V_{old}-c, V_{old}+c)-R)^2\}$, where $V_{old}$ is the
    column `old`, read before the update: PPO's reference code and TRL's (0.2 there; the paper, arXiv:1707.06347, does
    not have it; 0: off). `weight=0.5` makes it half the squared error.

    Assumes a `target` made before the update. The critic is unbiased for the mean of `target`, whatever that is: a
    bootstrapped return brings its own bias, and `clip` biases it towards its earlier value. The value of a trunk's
    step is taught the mean of its tracks' returns. Steps without a target are taught nothing.

    Notes `value_error`, the mean squared error, and at the end of an update `explained_variance`, which is
    $1-\text{Var}(R-V)/\text{Var}(R)$ over the steps: 1 perfect, 0 no better than a constant, below 0 worse.

    Args:
        weight: factor of the loss.
        target: column of the returns.
        clip: range of the clipped value; 0 turns it off.
        old: column of the values before the update.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], **{"return": [1.0, 0.0]})
    >>> round(float(gd.losses.value(weight=0.5)(batch, {"value": torch.tensor([0.5, 0.5])})[0]), 4)
    0.125
    """

    weight: float = knob(default=0.5, ge=0.0)
    target: str = "return"
    clip: float = knob(default=0.0, ge=0.0)
    old: str = ""
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    wants = ("value",)

    def __post_init__(self) -> None:
        if (is_schedule(self.clip) or self.clip) and not self.old:
            raise UserError("value.clip bounds the move from an earlier value: name its column, as old='critic.value'")

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.target, self.old) if self.clip else (self.target,)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return nobody(batch, self.weight)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        estimate, aim = live["value"], numbers(batch, self.target)
        error = (estimate - aim).square()
        loss, metrics = error, {}
        if self.clip:
            old = numbers(batch, self.old)
            near = (torch.clamp(estimate, old - self.clip, old + self.clip) - aim).square()
            loss = torch.maximum(error, near)
            metrics["value_clipped"] = average((near > error).float(), batch)
        left = aim - estimate.detach()
        noted = {"value_error": left.square(), "error_mean": left, "target_mean": aim, "target_square": aim.square()}
        metrics |= {name: average(x.double(), batch) for name, x in noted.items()}
        return self.weight * reduce(loss, batch, self.mean, self.constant), metrics

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        derived = dict(metrics)
        error, centre, square = (derived.pop(n, 0.0) for n in ("error_mean", "target_mean", "target_square"))
        spread = square - centre**2
        if spread > 1e-12 * max(square, 1e-12):  # a constant target has no variance to explain
            derived["explained_variance"] = 1 - (derived["value_error"] - error**2) / spread
        return derived
