"""Best of N: the value of a reward for selecting one of N sampled answers.

A metric and not an environment: to choose inside an episode an environment would have to have rewards and the models
they read, which it is not given; and all it would hand on is the chosen try,
while pass@1 and pass@N of the very same tries (`accuracy` in the same exam) are what the choice must be compared with.
Leaves out: search that branches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from guerdon.core.part import part
from guerdon.exams.exam import TRUTH, Sitting
from guerdon.exams.tries import checked, powers, rights, with_interval
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score

Try = tuple[float, bool]  # the reward (NaN where it has no value), and whether the try is right


@part
class best_of:
    r"""`best_of@k`: how often the try that `reward` likes best among `k` is right, with its interval over problems, for every
    power of two from 2 up to the number of tries, and for that.

    $\frac{1}{\binom{n}{k}} \sum_{|S|=k} c_{\operatorname{argmax}_{i \in S} r_i}$ over all choices of $k$ of a problem's $n$
    tries: unbiased for `k` below `n` too. Where several are liked best, it is the mean over them. A try without a score is
    never chosen over one that has one; where none has one, one is as good as another, and the share of problems without any
    score is `best_of_unscored`. Tries that cannot be checked are left out. `name` is what the numbers are called, where an
    exam has several.

    Args:
        reward: what selects the try.
        name: name of the numbers.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> longest = gd.reward(lambda completion: float(len(completion)), isolate=False)
    >>> gd.exams.best_of(longest)(example_sitting([["so\n= 4", "= 5"], ["= 4", "no\n= 5"]], answer="4"))["best_of@2"]
    0.5
    """

    reward: Any
    name: str = "best_of"

    needs = (TRUTH,)

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        liked = score(self.reward, role=sitting.exam.role)(sitting.batch, sitting.play)["reward"].tolist()
        right = rights(sitting)
        problems = [[(liked[k], right[k]) for ask in asks for k in ask] for asks in checked(sitting)]
        numbers: dict[str, Any] = {}
        for k in powers(sitting.tries)[min(1, sitting.tries - 1) :]:
            numbers |= with_interval(f"{self.name}@{k}", [chosen(tries, k) for tries in problems if len(tries) >= k])
        blind = [all(math.isnan(liking) for liking, _ in tries) for tries in problems]
        return {**numbers, f"{self.name}_unscored": fmean(blind)}


def chosen(tries: Sequence[Try], k: int) -> float:
    """How often the try that is liked best among `k` of them is right."""
    ranked = sorted((-math.inf if math.isnan(liking) else liking, right) for liking, right in tries)
    total, below, all_choices = 0.0, 0, math.comb(len(ranked), k)
    for _, tied in groupby(ranked, key=lambda each: each[0]):
        rights_of = [right for _, right in tied]
        upto = below + len(rights_of)
        best_is_here = (math.comb(upto, k) - math.comb(below, k)) / all_choices
        total, below = total + best_is_here * fmean(rights_of), upto
    return total
