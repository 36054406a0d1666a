"""How well scores tell members from others: the area under the ROC curve, with a bootstrap interval, also at equal accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guerdon.core.seeds import derive


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


def auc(scores: Sequence[float], members: Sequence[bool], strata: Sequence[object] | None = None) -> float:
    """Of all pairs of a member and another the share in which the member's score is higher, ties half. With `strata` only pairs
    of the same stratum count: of right answers among themselves, and of wrong ones. NaN where there is no pair.

    >>> auc([0.9, 0.4, 0.6, 0.1], [True, True, False, False])
    0.75
    """
    values, of = np.asarray(scores, dtype=np.float64), np.asarray(members, dtype=bool)
    groups = (
        np.zeros(len(values), dtype=int)
        if strata is None
        else np.unique(list(map(str, strata)), return_inverse=True)[1]
    )
    wins = pairs = 0.0
    for group in np.unique(groups):
        ours, theirs = values[of & (groups == group)], values[~of & (groups == group)]
        higher = (ours[:, None] > theirs[None, :]).sum() + 0.5 * (ours[:, None] == theirs[None, :]).sum()
        wins, pairs = wins + float(higher), pairs + len(ours) * len(theirs)
    return wins / pairs if pairs else float("nan")


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
    groups = None if strata is None else np.array(list(map(str, strata)))[kept]
    ours, theirs = np.nonzero(of)[0], np.nonzero(~of)[0]
    draw = np.random.default_rng(derive(seed, "bootstrap"))
    drawn = []
    for _ in range(resamples if len(ours) and len(theirs) else 0):
        rows = np.concatenate([draw.choice(ours, len(ours)), draw.choice(theirs, len(theirs))])
        drawn.append(auc(values[rows].tolist(), of[rows].tolist(), None if groups is None else groups[rows].tolist()))
    usable = [area for area in drawn if area == area]
    low, high = np.quantile(usable, (0.025, 0.975)) if usable else (float("nan"), float("nan"))
    area = auc(values.tolist(), of.tolist(), None if groups is None else groups.tolist())
    return Separation(area, float(low), float(high), len(ours), len(theirs))
