"""Schedules of single papers; general ones are in `core/schedule.py`. Any float knob takes one."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.schedule import share_done


@part
class decayed:
    """From `start` to `end` in `times` steps of one factor, at even distances over `over` steps (the whole run when None):
    start d^k with d = (end / start)^(1 / times) and k = floor(t (times + 1) / over), then `end`.

    The exponential decay of a budget in Hammoud et al. 2025 (arXiv:2508.08940, section 4.4). Their B0 g^floor(t / T), once
    it has reached B, is `decayed(B0, B, times=n, over=(n + 1) * T)` with B = B0 g^n."""

    start: float = knob(gt=0.0)
    end: float = knob(gt=0.0)
    times: int = knob(default=3, ge=1)
    over: int | None = knob(default=None, ge=1)

    def at(self, step: int, steps: int) -> float:
        done = min(self.times, step * (self.times + 1) // (self.over or steps))
        return float(self.start * (self.end / self.start) ** (done / self.times))


@part
class rex:
    """The reflected exponential of Chen et al. 2021 (arXiv:2107.04197), from `peak` to 0 over `over` steps (the whole run when
    None): peak (1 - z) / (1 - z/2), z the share done. It stays higher than a straight line and falls faster at the end."""

    peak: float
    over: int | None = knob(default=None, ge=1)

    def at(self, step: int, steps: int) -> float:
        share = share_done(step, self.over or steps)
        return self.peak * (1.0 - share) / (1.0 - share / 2.0)


@part
class refined:
    """Linear decay refined by the gradient norms of an earlier run, one a step (Defazio et al. 2023, arXiv:2310.07831,
    Algorithm 1): with w_t = G_t^-power of the median-filtered norms, peak w_t (w_{t+1} + ... + w_T), scaled so that the
    largest is `peak`.

    `power=2` with Euclidean norms is for SGD, `power=1` with sums of absolute values for Adam and its kin. Equal norms give
    linear decay to 0; where they vanish because the data are learned by heart, nearly all of the way is left to the end. A run
    of another length than the recorded one goes along the same curve."""

    peak: float
    norms: list[float]
    power: float = knob(default=2.0, gt=0.0)
    smooth: float = knob(default=0.1, ge=0.0, le=1.0)  # the filter's width as a share of the run: the authors' scripts

    def at(self, step: int, steps: int) -> float:
        shape = refinement(tuple(self.norms), self.power, self.smooth)
        place = share_done(step, steps) * (len(shape) - 1)
        before = int(place)
        after = min(before + 1, len(shape) - 1)
        return self.peak * (shape[before] + (place - before) * (shape[after] - shape[before]))


@functools.lru_cache(maxsize=8)  # asked for at every step of a run
def refinement(norms: tuple[float, ...], power: float, smooth: float) -> list[float]:
    """The refined schedule of a run's gradient norms, at most 1."""
    filtered = median_filter(norms, 2 * (int(smooth * len(norms)) // 2) + 1)
    if not filtered or not all(norm > 0.0 for norm in filtered):  # NaN is not
        raise UserError("refined.norms must be gradient norms of a run: numbers above 0, one a step")
    least = min(filtered)  # a common factor of the weights goes with the scaling; this one keeps them from overflowing
    weights = [(least / norm) ** power for norm in filtered]
    later, raw = 0.0, []
    for weight in reversed(weights):
        raw.append(weight * later)
        later += weight
    top = max(raw) or 1.0
    return [value / top for value in reversed(raw)]


def median_filter(values: Sequence[float], width: int) -> list[float]:
    """The median of the `width` values around each, an odd number. Before the first one it counts as often as is needed; after
    the last one the values are met again backwards, so that the end of a run is not flattened."""
    last, half = len(values) - 1, width // 2
    around = [max(0, i) if i <= last else 2 * last - i for i in range(-half, last + half + 1)]
    return [statistics.median(values[j] for j in around[i : i + width]) for i in range(last + 1)]
