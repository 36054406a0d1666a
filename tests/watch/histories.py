"""Hand-made histories: the numbers of a run's steps, as rules see them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from guerdon.watch.past_steps import Past
from guerdon.watch.rule_alarms import RuleAlarm

Values = Sequence[float] | Callable[[int], float] | float


def history(steps: int, **numbers: Values) -> Past:
    """A past of so many steps; `reward__mean` stands for `reward/mean`. A number is a value, one for each step, or a function
    of the step."""
    past = Past()
    for step in range(steps):
        row = {}
        for name, values in numbers.items():
            value = values(step) if callable(values) else values[step] if isinstance(values, Sequence) else values
            row[name.replace("__", "/")] = float(value)
        past.add(step, row)
    return past


def noisy(
    seed: int, size: float, of: Callable[[int], float] = lambda step: 0.0, sticks: float = 0.0
) -> Callable[[int], float]:
    """A function of the step with noise, of which a share `sticks` stays from step to step; to be asked step after step."""
    dice = random.Random(seed)
    last = [0.0]

    def value(step: int) -> float:
        last[0] = sticks * last[0] + dice.gauss(0, size) * (1 - sticks**2) ** 0.5
        return of(step) + last[0]

    return value


def only(findings: list[RuleAlarm]) -> RuleAlarm:
    assert len(findings) == 1, findings
    return findings[0]
