"""A loss written as a plain function of log-probs and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.function_parts import FunctionPart, part_of
from guerdon.losses.reduce import Mean, average, reduce
from guerdon.losses.terms import Term

LIVE = ("logp", "entropy", "value", "certainty")  # readings of the model under training, one for each step


class FunctionLoss(FunctionPart, Term):
    """Base of what `loss` makes."""

    mean: Mean
    constant: float

    wants: ClassVar[tuple[str, ...]]
    own_logp: ClassVar[bool]

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        given = batch.weight > 0  # what was not sampled has no log-prob, and weighs nothing
        old = torch.where(given, batch.logp, live["logp"].detach())
        known = {"batch": batch, "old": old, **live}
        value = self.call(known, lambda name: batch.per_step(name).nan_to_num())
        loss, noted = value if isinstance(value, tuple) else (value, {})
        metrics = {name: average(x.detach().to(loss), batch) for name, x in noted.items()}
        return reduce(loss, batch, self.mean, self.constant), metrics


def loss(*, mean: Mean = "track") -> Callable[[Callable[..., Any]], Any]:
    """Make a loss of a function from log-probs to a loss for each step.

    Positional parameters name what the function reads, each a tensor with a number per step [S]: `logp` (of the model under
    training, with gradient) and its other readings `entropy`, `value`, `certainty`; `old`, the log-prob when the step was
    sampled; any other name is a column, 0 where it has no value. `batch` is the micro-batch. Keyword-only parameters are
    knobs. It returns [S], or that and a dict of numbers per step to report. The loss is their mean, as `mean` says, and
    adds up with other losses: `mine() + gd.losses.kl(0.04)`.

    Compute each step from its own row: a micro-batch holds some tracks of the update, not all.

    Args:
        mean: default of the knob `mean`: every "track" or every "step" counts the same, or "constant", a sum over steps
            divided by tracks times the knob `constant`.

    Example:
        >>> import torch
        >>> import guerdon as gd
        >>> from guerdon.core.example import example_tries
        >>> @gd.losses.loss()
        ... def clipped_by(logp, old, advantage, *, clip: float = 0.2):
        ...     ratio = torch.exp(logp - old)
        ...     return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        >>> batch = example_tries([[1.0, 0.0]], advantage=[1.0, -1.0])  # sampled with log-prob 0
        >>> live = {"logp": torch.tensor([1.5, 0.5]).log()}
        >>> round(float(clipped_by(clip=0.28)(batch, live)[0]), 4)  # (-1.28 + 0.72) / 2
        -0.28
    """

    def decorate(function: Callable[..., Any]) -> Any:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        wants = tuple(name for name in LIVE if name in names or name == "logp")
        more = {"mean": (Mean, mean), "constant": (float, 1.0)}
        return part_of(function, FunctionLoss, ("batch", "old", *LIVE), more, wants=wants, own_logp="old" in names)

    return decorate
