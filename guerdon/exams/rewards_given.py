"""What a reward gives on held-out problems: its mean, beside the accuracy of the same tries.

Leaves out: what a reward is worth to somebody who chooses by it (`best_of_n.py`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean, stdev
from typing import Any

from guerdon.core.part import part
from guerdon.core.statistics import Z95
from guerdon.exams.exam import Sitting
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score


@part
class mean_reward:
    r"""`reward` $= \frac1m\sum_i \bar r_i$: the mean over problems of the mean of what `reward` gives to the tries at each.

    With two problems or more, `reward_low` and `reward_high` are the ends of its 95 % interval over problems,
    $\pm 1.96\,s/\sqrt m$. Tries that it gives no value to (failed, timed out, not applicable) are in no mean: their share is
    `reward_missing`. `name` is what the numbers are called, where an exam has several.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> size = gd.reward(lambda completion: float(len(completion)), isolate=False)
    >>> numbers = gd.exams.mean_reward(size)(example_sitting([["ab", "abcd"], ["a", "a"]]))
    >>> numbers["reward"], round(numbers["reward_high"], 2), numbers["reward_missing"]
    (2.0, 3.96, 0.0)
    """

    reward: Any
    name: str = "reward"

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch = sitting.batch
        given = score(self.reward, role=sitting.exam.role)(batch, sitting.play)["reward"].tolist()
        group, _ = batch.group("task")
        mine = batch.tracks_of([sitting.exam.role]).tolist()
        by_problem: dict[int, list[float]] = defaultdict(list)
        for problem, value, counts in zip(group.tolist(), given, mine, strict=True):
            if counts and not math.isnan(value):
                by_problem[problem].append(value)
        tried = sum(mine)
        scored = sum(map(len, by_problem.values()))
        numbers: dict[str, Any] = {f"{self.name}_missing": 1.0 - scored / tried if tried else 1.0}
        means = [fmean(values) for values in by_problem.values()]
        if not means:
            return {self.name: math.nan, **numbers}
        mean = fmean(means)
        if len(means) > 1:
            half = Z95 * stdev(means) / math.sqrt(len(means))
            numbers = {f"{self.name}_low": mean - half, f"{self.name}_high": mean + half, **numbers}
        return {self.name: mean, **numbers}
