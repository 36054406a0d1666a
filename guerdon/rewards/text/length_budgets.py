"""Rewards for keeping to a budget of length: one that follows a schedule, one that an ask brings.

They know nothing of the truth: add them to a reward that does, or gate them by it.
Leaves out: limits that never move (`shape.py`), lengths compared with those of other tries (`length_by_rate` of DR. SAF),
and who hands out budgets (`curricula/token_budgets.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.formula.reward import Around, shown
from guerdon.rewards.formula.scores import Scores, Where
from guerdon.rewards.text.shape import Unit, size


@part
class used(Leaf):
    """How long a completion is: a plain number, for formulas to make something of. Not applicable where the unit is actions
    and these are unknown.

    Args:
        unit: what length counts: "actions", "words" or "characters".

    >>> import guerdon as gd
    >>> gd.rewards.used(unit="words")("a b c")
    3.0
    """

    unit: Unit = "actions"

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str, actions: Sequence[Any] | None = None) -> float | None:
        n = size(completion, actions, self.unit)
        return None if n is None else float(n)


@part
class keeps_to(Around):
    r"""A triangle: $n/B$ up to the budget $B$, then $2 - n/B$ down to 0 at $2B$, 0 beyond. `budget` may be a schedule, which
    is what it is for; `reward` is compared with it.

    Hammoud et al. 2025 (arXiv:2508.08940, section 3.3), with a largest value of 1. So an answer is to use its budget up:
    what is too short is paid less, as what is too long is. Without `ramp` it is the paper's band instead (section 4.5), 1
    for all up to $B$, in which the shortest answers are the easiest to earn.

    Args:
        budget: the budget, a number or a schedule.
        ramp: pay less below the budget too.
        reward: what is compared with the budget.

    >>> import guerdon as gd
    >>> said = [{"completion": "a " * n} for n in (1, 4, 6, 9)]
    >>> gd.score_samples(gd.rewards.keeps_to(4.0, reward=gd.rewards.used("words")), said).whole
    [0.25, 1.0, 0.5, 0.0]
    >>> gd.score_samples(gd.rewards.keeps_to(4.0, ramp=False, reward=gd.rewards.used("words")), said).whole
    [1.0, 1.0, 0.5, 0.0]
    """

    budget: float = knob(gt=0.0)
    ramp: bool = True
    reward: Any = knob(factory=used)

    @property
    def name(self) -> str:
        return "keeps_to"

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        budget = where.now(self.budget)
        if self.ramp:
            return inner.map(lambda n: (1.0 - (n / budget - 1.0).abs()).clamp(min=0.0))
        return inner.map(lambda n: (2.0 - n / budget).clamp(0.0, 1.0))

    def __str__(self) -> str:
        return f"keeps_to({shown(self.budget)})"


@part
class within_budget(Leaf):
    r"""What a right answer of $n$ tokens is worth where the ask brought the budget $b$:
    $\beta\cos\frac{\pi b}{2L}$ for $n \le b$, all alike; $\beta\cos\frac{\pi n}{2L} - \alpha\,(n - b)/L$ for $b < n \le L$;
    0 beyond the `limit` $L$. Without a budget, $\beta\cos\frac{\pi n}{2L}$.

    HBPO (Lyu et al. 2025, arXiv:2507.15844, equations 1 to 3). A short answer is worth most under a small budget, a long one
    under a large one, and within its budget no answer is hurried. Gate it by the truth. $\beta = 4$ and a deviation that
    costs 1 over the whole length are the released code's, which also takes the smaller of both lines where $n < b$; here it
    is as the equations have it. `budget` is read from the ask's note, where `curricula.budgets.budgeted` puts it.

    Args:
        limit: length from which the reward is 0.
        unit: what length counts: "actions", "words" or "characters".

    >>> import guerdon as gd
    >>> [round(gd.rewards.within_budget(8, unit="words")("a " * n, budget=4), 3) for n in (1, 4, 6, 8, 9)]
    [2.828, 2.828, 1.281, -0.5, 0.0]
    """

    limit: int = knob(ge=1)
    scale: float = knob(default=4.0, gt=0.0)  # the released code's beta
    deviation: float = knob(default=1.0, ge=0.0)  # the released code's alpha, times the limit
    unit: Unit = "actions"

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(
        self, completion: str, actions: Sequence[Any] | None = None, budget: float | None = None
    ) -> float | None:
        n = size(completion, actions, self.unit)
        if n is None or n > self.limit:
            return n if n is None else 0.0
        if budget is None:
            return self.worth(n)
        return self.worth(budget) if n <= budget else self.worth(n) - self.deviation * (n - budget) / self.limit

    def worth(self, length: float) -> float:
        """Of a right answer that keeps to a budget of this length."""
        return self.scale * math.cos(math.pi * min(length, self.limit) / (2 * self.limit))


@part
class promise(Leaf):
    """What a right answer within the ask's budget is worth, whatever its text: the baseline of a group under one budget
    (HBPO's `below_promise`). Not applicable to an ask without one.

    Args:
        worth: the `within_budget` that sets the value.

    >>> import guerdon as gd
    >>> round(gd.rewards.promise(gd.rewards.within_budget(9))(budget=6), 6)  # 4 cos(60 degrees)
    2.0
    """

    worth: within_budget

    def __call__(self, budget: float | None = None) -> float | None:
        return None if budget is None else self.worth.worth(budget)
