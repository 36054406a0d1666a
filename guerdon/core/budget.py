"""What a run may spend. Methods are held against each other at equal budgets, not at equal numbers of steps."""

from __future__ import annotations

import math
from typing import Literal, get_args

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play

Unit = Literal["tokens", "samples", "steps", "seconds"]


@part
class Budget:
    """A run ends after the step that reaches `amount`: tokens or samples (whole tries) of everything that was played for
    training, hints, searches, judges and tries that were thrown away included; or steps; or seconds of training, which are
    the one unit that differs from run to run. Evaluation is measured, not spent.

    >>> Budget(1000, "samples").share
    0.0
    """

    amount: float = knob(gt=0)
    unit: Unit = "tokens"

    spent: float = state(default=0.0)

    @property
    def share(self) -> float:
        """How much of it is spent, 1 when the run is over."""
        return min(1.0, self.spent / self.amount)

    def observe(self, batch: Batch, play: Play) -> None:
        self.spent += play.spent(self.unit)

    def steps(self, done: int, most: int) -> int:
        """How many steps there will be, as far as the cost of those done tells: what schedules span."""
        return most if not self.spent else min(most, max(done + 1, math.ceil(done * self.amount / self.spent)))


def read_budget(text: str) -> Budget:
    """A budget as typed: 400000, 2e6, 5000:samples."""
    amount, _, unit = text.partition(":")
    try:
        number = float(amount)
    except ValueError as error:
        raise UserError(
            f"a budget is a number of tokens, or NUMBER:UNIT, not {text!r}: 400000, 5000:samples"
        ) from error
    if unit and unit not in get_args(Unit):
        raise UserError(f"a budget is counted in {', '.join(get_args(Unit))}, not {unit!r}: {amount}:tokens")
    return Budget(number, unit or "tokens")  # type: ignore[arg-type]
