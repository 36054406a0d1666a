"""Conditions on rewards that no operator builds: a base with a bonus, a shaped reward kept near another,
first this then that.

A condition that does not apply is open; one that failed or timed out makes the result that.
Leaves out: `gate` and `veto`, which `gated_by` and `vetoed_by` build (`reward.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.part import knob, part
from guerdon.rewards.formula.reward import Conditional, Reward, as_reward, named, shown
from guerdon.rewards.formula.scores import Scores, numbers
from guerdon.rewards.formula.where import Where


@part
class bonus(Conditional):
    r"""$r + b\,[r \ge least]$: a base, and `more` on top of it only where the base was earned (`condition` is the bonus).

    >>> import guerdon as gd
    >>> right_and_brief = gd.bonus(gd.exact(), gd.matches("^4$"), more=0.5)
    >>> gd.score_samples(right_and_brief, [{"completion": "4", "answer": "4"}, {"completion": "4", "answer": "5"}]).whole
    [1.5, 0.0]
    """

    reward: Any
    condition: Any
    least: float = 0.5
    more: float = 1.0

    def decide(self, inner: Scores, condition: Scores, reason: Tensor, where: Where) -> Scores:
        earned = inner.valued & (inner.value >= where.now(self.least)) & condition.valued
        extra = torch.where(earned, condition.value * where.now(self.more), 0.0)
        counts = inner.valued & (inner.value >= where.now(self.least))
        return numbers(inner.value + extra, torch.where(counts, reason, inner.reason))

    def __str__(self) -> str:
        return f"({self.reward} + {shown(self.more)} * {self.condition} if {self.reward} >= {shown(self.least)})"


@part
class bounded(Conditional):
    r"""$\text{clip}(s, ref - \delta, ref + \delta)$: a shaped reward `reward` that may not leave the neighbourhood of a
    reference `condition`. Where the reference does not apply the shaped one stands alone.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.bounded(3 * gd.exact(), gd.exact(), delta=0.25), [{"completion": "4", "answer": "4"}]).whole
    [1.25]
    """

    reward: Any
    condition: Any
    delta: float = knob(default=0.1, ge=0.0)

    def decide(self, inner: Scores, condition: Scores, reason: Tensor, where: Where) -> Scores:
        delta = where.now(self.delta)
        near = torch.maximum(torch.minimum(inner.value, condition.value + delta), condition.value - delta)
        return numbers(torch.where(condition.valued, near, inner.value), reason)

    def __str__(self) -> str:
        return f"{self.reward} within {shown(self.delta)} of {self.condition}"


@part
class cascade(Reward):
    """Rewards in order, each counted only if all before it reached `least`: the short-term ones add up only as long as the
    ladder holds. What comes after a rung that was missed is not counted, even if it failed.

    >>> import guerdon as gd
    >>> ladder = gd.cascade([gd.matches("= 4"), gd.exact()])
    >>> gd.score_samples(ladder, [{"completion": "= 4", "answer": "= 4"}, {"completion": "4", "answer": "4"}]).whole
    [2.0, 0.0]
    """

    rungs: list[Any]
    least: float = 0.5

    def __post_init__(self) -> None:
        self.rungs = [as_reward(r) for r in self.rungs]

    @property
    def of(self) -> Mapping[str, Reward]:
        return named(self.rungs)

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        rungs: Sequence[Scores] = list(parts.values())
        size = len(rungs[0])
        holds = torch.ones(size, dtype=torch.bool)
        total, any_value = torch.zeros(size, dtype=torch.float64), torch.zeros(size, dtype=torch.bool)
        reason = torch.full((size,), int(Reason.NOT_APPLICABLE), dtype=torch.int8)
        for rung in rungs:
            total = total + torch.where(holds & rung.valued, rung.value, 0.0)
            any_value |= holds & rung.valued
            reason = torch.where(holds & rung.broken, rung.reason, reason)
            holds &= ~rung.broken & (~rung.valued | (rung.value >= where.now(self.least)))
        plain = torch.where(any_value, int(Reason.VALUE), reason).to(torch.int8)
        return numbers(total, torch.where(reason >= Reason.FAILED, reason, plain))

    def __str__(self) -> str:
        return f" then (>= {shown(self.least)}) ".join(map(str, self.rungs))
