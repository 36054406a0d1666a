"""Whether a number of a run has changed: two blocks of steps, compared by Student's t.

The unit that repeats is the step: tries at one prompt are alike, and prompts differ from step to step, so a change is compared
with the spread of the steps' means. A block in which the number climbs has more spread than noise alone would give
it, which makes the test careful.
Leaves out: which numbers are looked at, and when a change is bad (the rules).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guerdon.core.statistics import mean_and_spread, t_above, t_quantile

SHORTEST = 12  # steps of the shortest window: two blocks of six
FEWEST = 3  # values of a block


_quantile = functools.cache(t_quantile)  # few are asked for, each at every step


def mean(values: Sequence[float]) -> float:
    """0 where there are none."""
    return math.fsum(values) / len(values) if values else 0.0


@dataclass(frozen=True)
class Shift:
    """How a number changed from one block of steps to another: the two means, the standard error of their difference, and the
    degrees of freedom of its t."""

    before: float
    after: float
    error: float
    freedom: int

    @property
    def by(self) -> float:
        return self.after - self.before

    def chance_of_rise(self) -> float:
        """Of a rise as large as this one, or larger, where nothing has changed: the one-sided p-value."""
        if self.error == 0:
            return 0.0 if self.by > 0 else 1.0
        return t_above(self.by / self.error, self.freedom)

    def chance_of_fall(self) -> float:
        return Shift(-self.before, -self.after, self.error, self.freedom).chance_of_rise()

    def at_most(self, confidence: float) -> float:
        """The upper end of the one-sided interval of the change."""
        return self.by + _quantile(2 * confidence - 1, self.freedom) * self.error


def shift(before: Sequence[float], after: Sequence[float]) -> Shift | None:
    r"""$t = (\bar b - \bar a) / \sqrt{s_a^2/n_a + s_b^2/n_b}$ with $n_a + n_b - 2$ degrees of freedom; None where a block has
    too few values.

    >>> change = shift([1.0, 2.0, 3.0], [3.0, 4.0, 5.0])
    >>> change.by, round(change.error, 4), change.freedom, round(change.chance_of_rise(), 4)
    (2.0, 0.8165, 4, 0.0352)
    """
    if min(len(before), len(after)) < FEWEST:
        return None
    (a, spread_a), (b, spread_b) = mean_and_spread(before), mean_and_spread(after)
    error = math.sqrt(spread_a**2 / len(before) + spread_b**2 / len(after))
    return Shift(a, b, error, len(before) + len(after) - 2)


def from_zero(values: Sequence[float]) -> Shift | None:
    """How far the mean of a block is from 0: t of one sample, with n - 1 degrees of freedom."""
    if len(values) < FEWEST:
        return None
    middle, spread = mean_and_spread(values)
    return Shift(0.0, middle, spread / math.sqrt(len(values)), len(values) - 1)


def windows(steps: int, longest: int) -> Iterator[int]:
    """The lengths of windows that end now, each to be cut in the middle: a change may be quick or slow. About half as long
    again from one to the next, all even.

    >>> [*windows(40, 256)]
    [12, 16, 24, 32]
    """
    for power in range(3, 3 + max(0, longest).bit_length()):
        for length in (2**power, 3 * 2 ** (power - 1)):
            if SHORTEST <= length <= min(steps, longest):
                yield length
