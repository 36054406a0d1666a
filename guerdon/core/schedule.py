"""Schedules: a number that changes over a run.

Any float knob takes one in place of a number.
Read a knob with `at(self.lr, step, steps)`; a plain number is itself at every step.
Schedules are pure functions of the step, so they need no state and resume exactly.
Schedules driven by a metric belong to `rewards` and `curricula`.
"""

from __future__ import annotations

import copy
import math
from typing import Any, TypeVar

from guerdon.core.knob_values import SCHEDULES, is_schedule
from guerdon.core.part import is_part, knob, knobs, part

T = TypeVar("T")


def at(value: Any, step: int, steps: int) -> float:
    """A knob's value at `step` of `steps`."""
    return float(value.at(step, steps)) if is_schedule(value) else float(value)


def settled(part: T, step: int, steps: int) -> T:
    """A copy of a stateless part with its schedules, and those of the parts in it, at their values of this step: what a loss
    is called as. The part itself, where it has none."""
    due = {name: _settled(value, step, steps) for name, value in knobs(part).items()}
    changed = {name: value for name, value in due.items() if value is not getattr(part, name)}
    if not changed:
        return part
    copied = copy.copy(part)
    for name, value in changed.items():
        setattr(copied, name, value)
    return copied


def _settled(value: Any, step: int, steps: int) -> Any:
    if is_schedule(value):
        return at(value, step, steps)
    if is_part(value):
        return settled(value, step, steps)
    if isinstance(value, list):
        values = [_settled(each, step, steps) for each in value]
        return values if any(new is not old for new, old in zip(values, value, strict=True)) else value
    return value


def share_done(step: int, over: int) -> float:
    """How far along: 0 at the first step, 1 at the last of `over` steps and after."""
    return min(1.0, step / (over - 1)) if over > 1 else 1.0


@part
class linear:
    """From `start` to `end` in a straight line over `over` steps (the whole run when None), then `end`.

    Args:
        start: first value.
        end: last value.
        over: steps of the change; the whole run when None.

    >>> import guerdon as gd
    >>> [gd.linear(1.0, 0.0).at(step, 5) for step in range(5)]
    [1.0, 0.75, 0.5, 0.25, 0.0]
    """

    start: float
    end: float
    over: int | None = knob(default=None, ge=1)

    def at(self, step: int, steps: int) -> float:
        return self.start + (self.end - self.start) * share_done(step, self.over or steps)


@part
class cosine:
    """Half a cosine from `start` to `end` over `over` steps (the whole run when None), then `end` (arXiv:1608.03983).

    Args:
        start: first value.
        end: last value.
        over: steps of the change; the whole run when None.

    >>> import guerdon as gd
    >>> [round(gd.cosine(1.0, 0.0).at(step, 5), 3) for step in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    start: float
    end: float = 0.0
    over: int | None = knob(default=None, ge=1)

    def at(self, step: int, steps: int) -> float:
        share = share_done(step, self.over or steps)
        return self.end + (self.start - self.end) * 0.5 * (1.0 + math.cos(math.pi * share))


@part
class warmup:
    """`then`, scaled up in a straight line over the first `over` steps: step 0 already takes 1/over of it.

    Args:
        then: the value or schedule after the warm-up.
        over: steps of the warm-up.

    >>> import guerdon as gd
    >>> [gd.warmup(1.0, 2).at(step, 5) for step in range(4)]
    [0.5, 1.0, 1.0, 1.0]
    """

    then: float
    over: int = knob(default=10, ge=1)

    def at(self, step: int, steps: int) -> float:
        return at(self.then, step, steps) * min(1.0, (step + 1) / self.over)


@part
class steps_at:
    """Piecewise constant: `first`, then each value from its step on. `steps_at(1.0, {100: 0.1})`."""

    first: float
    then: dict[int, float] = knob(factory=dict)

    def at(self, step: int, steps: int) -> float:
        passed = [s for s in self.then if int(s) <= step]
        return self.then[max(passed, key=int)] if passed else self.first


SCHEDULES.update({"linear": linear, "cosine": cosine, "warmup": warmup, "steps_at": steps_at})
