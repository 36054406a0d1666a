"""Rewards of the shelf whose work can hang: they run in workers, which stop them after some seconds.

Called by hand, `matches(r"\\d+")("42")`, they work in this process and without a limit, as any function does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from guerdon.core.part import knobs
from guerdon.rewards.asking.calls import call_in_workers
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcomes_from


class Guarded(Leaf):
    """A leaf that is a function of `rewards/text/may_hang.py` or `tasks/slow_comparisons.py`, its knobs that function's
    arguments."""

    seconds: float  # for one sample; then it has timed out

    @property
    def work(self) -> Callable[..., Any]:
        raise NotImplementedError

    @property
    def waits(self) -> bool:
        return True

    @property
    def sources(self) -> Sequence[Any]:
        return (type(self), self.work)

    def given(self, **fields: Any) -> dict[str, Any]:
        """The arguments of its work for one sample."""
        return {**{name: value for name, value in knobs(self).items() if name != "seconds"}, **fields}

    async def score(self, samples: Samples) -> list[Outcome]:
        given = [self.given(**self._arguments(fields)) for fields in samples.fields]
        # Math-Verify has SymPy evaluate what it found, and lets nothing but digits, operators and brackets through to it.
        return outcomes_from(await call_in_workers(self.work, given, self.seconds, trusted=True))
