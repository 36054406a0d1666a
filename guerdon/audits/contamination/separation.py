"""How well scores tell members from others: the area under the ROC curve, with a bootstrap interval, also at equal accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guerdon.core.statistics import auc_interval


@dataclass(frozen=True)
class Separation:
    """The chance that a member has the higher score than another problem: 0.5 is guessing. `low` and `high` are 95 %."""

    auc: float
    low: float
    high: float
    members: int
    others: int

    @property
    def tells(self) -> bool:
        """Whether it is better than guessing, by its interval."""
        return self.low > 0.5


def separation(
    scores: Sequence[float],
    members: Sequence[bool],
    strata: Sequence[object] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Separation:
    """The area with a percentile bootstrap: members and others are drawn again apart, each as many as there are. Problems
    without a score are left out."""
    values, of = np.asarray(scores, dtype=np.float64), np.asarray(members, dtype=bool)
    kept = np.isfinite(values)
    values, of = values[kept], of[kept]
    groups = None if strata is None else [each for each, is_kept in zip(strata, kept, strict=True) if is_kept]
    area = auc_interval(values, of, groups, resamples, seed)
    return Separation(*area, int(of.sum()), int((~of).sum()))
