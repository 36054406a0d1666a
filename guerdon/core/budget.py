"""What a run may spend.

Methods are compared at equal budgets, not at equal numbers of steps.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from guerdon.core.batch import Batch
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play

Unit = Literal["tokens", "env_steps", "read", "updates", "samples", "steps", "seconds"]
NO_END = 1_000_000  # steps of a run that a budget ends
IDLE = 25  # steps in a row that spend nothing, after which none ever will


@part
class Budget:
    """A run ends after the step that reaches `amount` of a `unit`:

    - `tokens` that were sampled for training, hints, searches, judges and tries that were thrown away included, or recited to
      be learned from; `samples` are the whole tries;
    - `env_steps` of the environments of `gd.worlds`, those of episodes that failed included;
    - tokens `read` by any model: prompts (one that several tries share, once), whatever is scored, each pass that learns;
    - `updates` of weights, by all learners; `steps`;
    - `seconds` of training, the one unit that differs from run to run.

    Evaluation is measured, not spent. A run that spends nothing for many steps in a row is stopped: it would never end.

    >>> Budget(1000, "samples").share
    0.0
    """

    amount: float = knob(gt=0)
    unit: Unit = "tokens"

    spent: float = state(default=0.0)
    idle: int = state(default=0)  # steps in a row that spent nothing

    @property
    def share(self) -> float:
        """How much of it is spent, 1 when the run is over."""
        return min(1.0, self.spent / self.amount)

    def observe(self, batch: Batch, play: Play) -> None:
        now = play.spent(self.unit)
        self.spent += now
        self.idle = 0 if now else self.idle + 1
        if self.idle == IDLE:
            raise RunStopped(
                f"{IDLE} steps in a row spent none of {self.amount:g} {self.unit}: is anything drawn (and, for updates, learned"
                f" from)? Count in a unit that it spends ({self.amount:g}:steps), or give --steps in place of --budget"
            )

    def steps(self, done: int, most: int) -> int:
        """The number of steps, estimated from the cost of those done: the span of schedules."""
        return most if not self.spent else min(most, max(done + 1, math.ceil(done * self.amount / self.spent)))


def read_budget(text: str) -> Budget:
    """A budget as typed: 400000, 2e6, 5000:samples, 100:updates."""
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
