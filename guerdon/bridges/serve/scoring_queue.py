"""The scoring queue: requests get their scores, so many at a time, and those under way are known.

What keeps this process busy (the shelf, functions with `isolate=False`) runs in a few threads: the event loop stays free.
`async` and isolated functions are waited for in the loop itself, all requests together.
A function in a thread can not be stopped: past its time its request is answered, its thread stays busy.
Left out: HTTP. A client that hangs up is scored to the end.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from guerdon.bridges.lacking import RUN_ONLY, filled, only_in_a_run
from guerdon.bridges.serve.metrics import Metrics
from guerdon.bridges.serve.serve_limits import ServeLimits
from guerdon.core.errors import UserError
from guerdon.rewards.asking.function import run
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.asking.token_ids import counts_tokens
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.stage.scorer import SampleScores, score_samples_later

THREADS = "guerdon-scoring"
MOST_THREADS = 4  # they share one interpreter: more would only wait for each other, and make the loop wait
FIX = "send them with each sample, or start the server with --tokenizer MODEL"


class ScoringQueue:
    """A reward, the requests that were let in, and what was counted. Belongs to the event loop's thread."""

    def __init__(self, formula: Reward, limits: ServeLimits, tokenizer: Any = None) -> None:
        self.formula, self.limits, self.metrics, self.tokenizer = formula, limits, Metrics(), tokenizer
        self.pool = ThreadPoolExecutor(min(limits.at_once, MOST_THREADS), THREADS)
        self.turn = asyncio.Semaphore(limits.at_once)
        self.under_way: set[asyncio.Timeout] = set()  # the time limit of each request that was let in
        self.scoring = 0
        self.closing = False

    @property
    def waiting(self) -> int:
        return len(self.under_way) - self.scoring

    @property
    def full(self) -> bool:
        return len(self.under_way) >= self.limits.at_once + self.limits.queue

    @property
    def retry_after(self) -> int:
        """Seconds after which a place may be free: a turn for each of those that wait."""
        return max(1, min(60, math.ceil(self.metrics.mean_seconds * (1 + self.waiting / self.limits.at_once))))

    def hurry(self) -> None:
        """End all that is under way: its time is up now."""
        for limit in self.under_way:
            limit.reschedule(0.0)

    async def score(self, samples: Sequence[Mapping[str, Any]], group: Sequence[int] | None) -> SampleScores:
        begun = time.perf_counter()
        async with self.turn:
            self.scoring += 1
            try:
                scored = await score_samples_later(self.formula, await self._filled(samples), group, pool=self.pool)
            finally:
                self.scoring -= 1
        parts = {f"reward.{name}": reasons for name, reasons in scored.part_reasons.items()}
        self.metrics.scored(time.perf_counter() - begun, {"reward": scored.reasons, **parts}, len(samples))
        return scored

    async def _filled(self, samples: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Samples with their token ids. To count is work, for a thread; to look whether they are there is not."""
        if self.tokenizer is None:
            return filled(self.formula, samples, None, FIX)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, filled, self.formula, samples, self.tokenizer, FIX)


def check_servable(formula: Reward) -> None:
    """Refuse a reward that can only be asked inside a training run."""
    for leaf in formula.leaves:
        for name in RUN_ONLY:
            if name in leaf.wants.names and name not in leaf.wants.optional:
                raise UserError(f"reward {leaf.name} {only_in_a_run(name)}")
        if not leaf.alone:
            run(leaf.score(Samples.of([])))  # one that needs the run's batch or model reports it, for no samples too


def example_of(formula: Reward, tokenizer: Any = None) -> dict[str, Any]:
    """A sample that has every field the formula can not do without; token ids, unless a `tokenizer` counts them."""
    known = {
        "completion": "4",
        "answer": "4",
        "prompt": "2+2=",
        "turns": ["4"],
        "level": 1,
        "role": "policy",
        "meta": {},
        "actions": [52],
    }
    wanted = [n for leaf in formula.leaves for n in leaf.wants.names if n not in leaf.wants.optional]
    wanted += ["actions"] if tokenizer is None and any(map(counts_tokens, formula.leaves)) else []
    return {name: known.get(name, "...") for name in dict.fromkeys(("prompt", "completion", "answer", *wanted))}
