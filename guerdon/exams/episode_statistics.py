"""What episodes of control earned, as it is reported: means, interquartile means, intervals by a stratified bootstrap,
success, and performance profiles.

The interquartile mean, the bootstrap and the profile are those of Agarwal et al. 2021 (arXiv:2108.13264), sections 4.1 to
4.3, and are compared with the authors' library, rliable 1.2.0, on the same draws.
Leaves out: how a policy came to it (a run's curves), and comparisons of methods (`guerdon compare`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.statistics import Interval, interval
from guerdon.exams.exam import Sitting
from guerdon.exams.rewards_given import returns

Scores = npt.NDArray[np.float64]
DRAWS = 2000  # bootstrap samples; rliable's README takes 50,000 for figures, its tests 2,000
POINTS = 11  # thresholds of a profile
TRIM = 0.25  # of the scores, at each end


def iqm(scores: Any) -> Any:
    r"""The interquartile mean: the mean of scores without the lowest and the highest quarter, $\lfloor n/4 \rfloor$ each.

    Less noisy than the median, and a few very good or bad runs do not move it.

    Args:
        scores: numbers, or an array [..., N, M] of the scores of N runs at M tasks; the last two axes are averaged.

    References:
        Agarwal et al. 2021, Deep Reinforcement Learning at the Edge of the Statistical Precipice, section 4.3.

    >>> import guerdon as gd
    >>> float(gd.exams.iqm([0.0, 1.0, 2.0, 100.0]))
    1.5
    """
    given = np.asarray(scores, np.float64)
    flat = given.reshape(*given.shape[:-2], -1)
    cut = int(TRIM * flat.shape[-1])
    return np.sort(flat, -1)[..., cut : flat.shape[-1] - cut].mean(-1)


def mean_score(scores: Any) -> Any:
    """The mean over the last two axes."""
    given = np.asarray(scores, np.float64)
    return given.reshape(*given.shape[:-2], -1).mean(-1)


def stratified_interval(
    scores: Any, statistic: Callable[[Any], Any] = iqm, draws: int = DRAWS, seed: int = 0, index: Any = None
) -> Interval:
    """A statistic of the scores of N runs at M tasks, with its 95 % percentile interval by the stratified bootstrap: runs are
    drawn with replacement, for each task apart.

    Args:
        scores: an array [N, M]; one of [N] is of one task.
        statistic: of arrays [..., N, M], such as `iqm`.
        draws: bootstrap samples.
        seed: of the draws.
        index: [draws, N, M] the runs to take, in place of drawn ones.

    References:
        Agarwal et al. 2021, section 4.1; Efron 1979.

    >>> import guerdon as gd
    >>> gd.exams.stratified_interval([[1.0, 3.0], [1.0, 3.0]])
    Interval(value=2.0, low=2.0, high=2.0)
    """
    table = np.asarray(scores, np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise UserError(f"scores are an array of runs by tasks, of finite numbers; these have the shape {table.shape}")
    if index is None:
        dice = np.random.default_rng(derive(seed, "stratified bootstrap"))
        index = dice.integers(0, len(table), (draws, *table.shape))
    many = np.take_along_axis(table[None], np.asarray(index), 1)
    low, high = np.percentile(statistic(many), (2.5, 97.5))
    return Interval(float(statistic(table)), float(low), float(high))


def performance_profile(scores: Any, thresholds: Sequence[float]) -> list[float]:
    r"""The share of scores above each threshold, $\hat F(\tau) = \frac{1}{NM}\sum_{n,m} 1[x_{n,m} > \tau]$.

    Args:
        scores: numbers, or an array of runs by tasks.
        thresholds: the $\tau$.

    References:
        Agarwal et al. 2021, section 4.2.

    >>> import guerdon as gd
    >>> gd.exams.performance_profile([0.0, 1.0, 1.0, 3.0], [0.0, 1.0, 2.0])
    [0.75, 0.25, 0.25]
    """
    flat = np.asarray(scores, np.float64).reshape(-1)
    return [float((flat > each).mean()) for each in thresholds]


@part
class episode_returns:
    r"""What whole episodes earned: `return` $= \frac1E \sum_e R_e$ and `iqm`, its interquartile mean, with 95 % intervals by
    the bootstrap over episodes; `return_std`; `success`, the share that reached their goal, with its interval, where the
    environment tells it; under a reward of env steps `env_return`, the environment's own mean return; `profile`, the share of
    episodes above each of 11 returns from the lowest to the highest; `episodes`, how many were paid, and `failed`, the share
    that failed.

    Failed episodes are in no mean. An episode reached its goal where `info` said `success` or `is_success` at any of its steps.

    Args:
        draws: bootstrap samples.

    References:
        Agarwal et al. 2021, arXiv:2108.13264, section 4.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> numbers = gd.exams.episode_returns()(example_sitting([["a", "b"], ["c", "d"]], paid=[[1.0, 3.0], [1.0, 3.0]]))
    >>> numbers["return"], numbers["return_low"], numbers["iqm"], numbers["profile"][5]
    (2.0, 1.0, 2.0, [2.0, 0.5])
    """

    draws: int = knob(default=DRAWS, ge=1)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        paid = np.array([value for values in returns(sitting).values() for value in values])
        numbers: dict[str, Any] = {}
        for name, statistic in (("return", mean_score), ("iqm", iqm)):
            value, low, high = stratified_interval(paid, statistic, self.draws)
            numbers |= {name: value, **({f"{name}_low": low, f"{name}_high": high} if len(paid) > 1 else {})}
        return {
            **numbers,
            "return_std": pstdev(paid),
            **self._told(sitting),
            "profile": _profile(paid),
            "episodes": len(paid),
        }

    def _told(self, sitting: Sitting) -> dict[str, Any]:
        """What the environment says about its episodes, and the share of those that failed."""
        played = [episode for episode in sitting.batch.episodes if not episode.failed]
        failed = 1 - len(played) / len(sitting.batch.episodes)
        told: dict[str, Any] = {"failed": failed} if failed else {}
        reached = [float(episode.info["success"]) for episode in played if "success" in episode.info]
        if reached:
            told["success"], told["success_low"], told["success_high"] = interval(reached)
        own = [float(episode.info["env_return"]) for episode in played if "env_return" in episode.info]
        return told | ({"env_return": fmean(own)} if own else {})


def _profile(paid: Scores) -> list[list[float]]:
    at = np.linspace(paid.min(), paid.max(), POINTS).tolist() if math.isfinite(float(np.ptp(paid))) else []
    return [[threshold, above] for threshold, above in zip(at, performance_profile(paid, at), strict=True)]
