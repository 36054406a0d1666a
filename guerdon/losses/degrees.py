"""Teaching a model to score by squared error of a chance: steps and whole tracks that are worth something between 0 and 1.

Leaves out: cross-entropy, and numbers of any size (`reward_modelling.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import Needs
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, average, numbers, reduce, reduce_tracks
from guerdon.losses.terms import Term


@part
class step_values(Term):
    r"""$(\sigma(v) - y)^2$ at every step that has a number $y$ in [0, 1], with $v$ the reading just after it; the mean
    over them.

    Process rewards that are degrees rather than verdicts, as those of ReasonFlux-PRM (Zou et al. 2025, arXiv:2506.18896),
    are taught by squared error. A step without a number is missing, and neither taught nor counted: put it on the last
    token of each line and nowhere else, and the mean is over lines. Unbiased for the mean of $y$ over the steps it is
    shown; where $y$ is right or wrong it is Brier's score, and pulls less than `step_labels` where it is very wrong.
    Assumes numbers of like policies. Notes `step_error`, what it minimises.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0]], steps=2, labels=[1.0, 0.25])
    >>> float(gd.losses.step_values()(batch, {"after": torch.tensor([0.0, 0.0])})[0])  # (0.25 + 0.0625) / 2
    0.15625
    """

    target: Needs = "labels"
    reading: str = "after"
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        said = torch.sigmoid(live[self.reading])
        error = (said - numbers(batch, self.target).to(said.dtype)).square()
        noted = {"step_error": average(error.detach(), batch)}
        return reduce(error, batch, self.mean, self.constant), noted


@part
class whole_value(Term):
    r"""$w\,(\sigma(r) - y)^2$ for every track that has a number $y$ in [0, 1], with $r$ the reading after it; the mean over
    tracks.

    What `outcome` is to numbers of any size, for degrees, and what `step_values` is to steps, for wholes (ReasonFlux-PRM,
    Zou et al. 2025, arXiv:2506.18896, teaches both together). Unbiased for the mean of $y$ over the tracks it is shown.
    Assumes tracks like those that will be scored. A track without a number teaches nothing. Notes `outcome_error`, the mean
    of $(\sigma(r) - y)^2$.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> float(gd.losses.whole_value("reward")(example_tries([[1.0, 0.5]]), {"final": torch.tensor([0.0, 0.0])})[0])
    0.125
    """

    target: Needs = "whole"
    weight: float = knob(default=1.0, ge=0.0)
    reading: str = "final"

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        said = torch.sigmoid(live[self.reading])
        error = (said - batch[self.target].to(said.dtype)).square()
        noted = {"outcome_error": error.detach().sum() / max(batch.count.tracks, 1)}
        return self.weight * reduce_tracks(error, batch), noted
