"""The cost of judges: counts of questions, cache hits, tokens and money, and the limit at which a run stops.

Left out: prices, which an endpoint has as a knob.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Sequence

from guerdon.core.errors import RunStopped
from guerdon.judges.answerer import JudgeAnswer

Tally = dict[str, float]  # what was counted, by name; plain, for it is the state of a part
_ONE_AT_A_TIME = threading.Lock()  # a run that plays ahead asks in two threads


def count(tally: Tally, answers: Sequence[JudgeAnswer]) -> None:
    """Add answers to a tally. Tokens are those that were read and written for it now; a hit has none."""
    now = [a for a in answers if not a.cached]
    more = {
        "asked": len(answers),
        "hits": len(answers) - len(now),
        "failed": sum(bool(a.error) for a in answers),
        "tokens_in": sum(a.tokens_in for a in now),
        "tokens_out": sum(a.tokens_out for a in now),
        "cost": sum(a.cost for a in now),
    }
    with _ONE_AT_A_TIME:
        for name, number in more.items():
            tally[name] = tally.get(name, 0) + number


def spending_metrics(name: str, step: Tally, total: Tally) -> dict[str, float]:
    """A judge's counts as metrics of a step: those of the step, and what it cost since the run began."""
    asked = step.get("asked", 0)
    shown = {f"{name}/{what}": float(number) for what, number in step.items()}
    rate = {f"{name}/hit_rate": step["hits"] / asked} if asked else {}
    return {**shown, **rate, f"{name}/cost_so_far": float(total.get("cost", 0.0))}


class SpendingReserve:
    """Money set aside for questions under way, so that together they cannot pass the limit either."""

    def __init__(self) -> None:
        self.aside = 0.0
        self.under_way = 0
        self.changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def set_aside(
        self, worst: float, left: Callable[[], float], refuse: Callable[[], RunStopped]
    ) -> AsyncIterator[None]:
        """Keep `worst`, the most a question can cost, until it is answered. With too little left, wait for what others under
        way do not use up; with none under way, stop: nothing that was paid for is lost then."""
        async with self.changed:
            while self.under_way and self.aside + worst > left():
                await self.changed.wait()
            if self.aside + worst > left():
                raise refuse()
            self.aside += worst
            self.under_way += 1
        try:
            yield
        finally:
            async with self.changed:
                self.aside -= worst
                self.under_way -= 1
                self.changed.notify_all()
