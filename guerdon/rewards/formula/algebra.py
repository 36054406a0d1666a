"""Formulas that no operator builds: named sums, extremes, group statistics, conditions, weights by a metric, rarity.

A condition that does not apply is open; one that failed or timed out makes the result that. Rarity weighs the items of a
checklist (unit tests, criteria) by how rarely the tries at a task have them.
Leaves out: `gate` and `veto`, which `gated_by` and `vetoed_by` build (`reward.py`), and whether an item holds, which the reward
inside reports in the parts of its `Score`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.rewards.formula.reward import Among, Around, Conditional, Reward, as_reward, blended, named, shown
from guerdon.rewards.formula.scores import Scores, Where, joined, numbers


def blend(*, renormalise: bool = False, **terms: Any) -> blended:
    """A weighted sum of rewards by name: `blend(exact=exact, brief=length(256).weight(0.1))`.

    Args:
        renormalise: terms that apply also count for the share of those that do not.
        terms: rewards by name.

    >>> import guerdon as gd
    >>> print(gd.blend(right=gd.exact(), brief=gd.length(256).weight(0.1)))
    exact + 0.1 * length
    """
    return blended(terms, renormalise)


@part
class extreme(Among):
    """The least or the largest of the parts that apply; `least(...)` and `most(...)` make it.

    >>> import guerdon as gd
    >>> print(gd.least(gd.exact(), gd.numeric()))
    min(exact, numeric)
    """

    parts: list[Any]
    which: Literal["min", "max"] = "min"

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        terms = list(parts.values())
        absent = math.inf if self.which == "min" else -math.inf
        values = torch.stack([torch.where(t.valued, t.value, absent) for t in terms])
        return numbers(values.amin(0) if self.which == "min" else values.amax(0), joined(terms))

    def __str__(self) -> str:
        return f"{self.which}({', '.join(map(str, self.parts))})"


def least(*parts: Any) -> extreme:
    """The smallest of several rewards: as good as its worst part. A part that does not apply is left out.

    Args:
        parts: the rewards.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.least(gd.exact(), 3 * gd.exact()), [{"completion": "4", "answer": "4"}]).whole
    [1.0]
    """
    return extreme(list(parts), "min")


def most(*parts: Any) -> extreme:
    """The largest of several rewards: as good as its best part. A part that does not apply is left out.

    Args:
        parts: the rewards.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.most(gd.exact(), 3 * gd.exact()), [{"completion": "4", "answer": "4"}]).whole
    [3.0]
    """
    return extreme(list(parts), "max")


@part
class normalised(Around):
    r"""$(r-\mu)/(\sigma+\epsilon)$ over the samples of the step or of each group that have a value.

    `centre` alone takes the mean off; `scale` divides. A group with one value, or without spread, is 0 when centred and
    stays as it is when not. Put it around a term to normalise each reward before summing, around the sum for after.

    Args:
        reward: the reward.
        over: compare within a group, or over the step.
        centre: subtract the mean.
        scale: divide by the deviation.

    >>> import guerdon as gd
    >>> centred = gd.normalised(gd.exact(), scale=False)
    >>> gd.score_samples(centred, [{"completion": x, "answer": "4"} for x in "4555"]).whole
    [0.75, -0.25, -0.25, -0.25]
    """

    reward: Any
    over: Literal["group", "step"] = "group"
    centre: bool = True
    scale: bool = True
    eps: float = knob(default=1e-4, ge=0.0)  # TRL's

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        group = where.group if self.over == "group" else torch.zeros_like(where.group)
        n = int(group.max()) + 1 if len(group) else 0
        spread = gather_up(inner.value, group, n, "std")[group]
        value = inner.value - gather_up(inner.value, group, n, "mean")[group] if self.centre else inner.value
        if self.scale:
            value = torch.where(spread > 0, value / (spread + self.eps), value)
        return numbers(value, inner.reason)

    def __str__(self) -> str:
        what = {(True, True): "normalised", (True, False): "centred", (False, True): "scaled"}
        return f"{what.get((self.centre, self.scale), 'plain')}({self.reward})"


@part
class flipped(Around):
    r"""$1 - r$ in place of $r$ for a share of the tries, or of whole groups at once: planted noise of a judge.

    Every step draws its own flips, whatever the answer. *Assumes* rewards from 0 to 1. A loss that is linear in rewards
    less their group's mean (`dr_grpo`) follows $1 - 2p$ times its own gradient on average, by either; within a group, flips of
    tries are noise, and a flip of the group turns every sign. Flips that follow the answer are a judge of the settings
    (`flipping_judge`).

    Args:
        reward: the reward.
        share: probability of a flip.
        by: flip each try by itself, or all tries of a group.

    >>> import guerdon as gd
    >>> said = [{"completion": x, "answer": "4"} for x in "4544"]
    >>> gd.score_samples(gd.rewards.flipped(gd.exact(), share=1.0), said).whole
    [0.0, 1.0, 0.0, 0.0]
    """

    reward: Any
    share: float = knob(default=0.2, ge=0.0, le=1.0)
    by: Literal["try", "group"] = "try"

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        group = torch.unique(where.group, return_inverse=True)[1]
        place = group if self.by == "group" else torch.arange(len(inner))
        drawn = torch.rand(len(inner), generator=where.generator("flipped", str(self)), dtype=torch.float64)
        turned = drawn[place] < where.now(self.share)
        return numbers(torch.where(turned, 1.0 - inner.value, inner.value), inner.reason)

    def __str__(self) -> str:
        return f"flipped({self.reward}, {shown(self.share)} by {self.by})"


@part
class bonus(Conditional):
    r"""$r + b\,[r \ge least]$: a base, and `more` on top of it only where the base was earned (`condition` is the bonus).

    Args:
        reward: the base.
        condition: the reward whose size decides.
        least: value of `condition` from which the bonus is paid.
        more: size of the bonus.

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

    Args:
        reward: the shaped reward.
        condition: the reference.
        delta: largest distance from it.

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

    Args:
        rungs: the rewards in order.
        least: value that each must reach for the next to count.

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


@part
class by_metric:
    """From `start` to `end` as the mean of a column in the step before goes from `low` to `high`; `start` before there is one.

    `brief.weight(by_metric("correct", start=0.0, end=0.2, low=0.5, high=0.9))` begins to ask for brevity when half of the
    answers are right.

    Args:
        metric: column whose mean is followed.
        start: value at `low`.
        end: value at `high`.
        low: mean at which the change begins.
        high: mean at which it ends.

    >>> import torch
    >>> import guerdon as gd
    >>> weight = gd.by_metric("correct", 0.0, 1.0, low=0.25, high=0.75)
    >>> gd.rewards.Where(torch.zeros(1, dtype=torch.long), metrics={"correct": 0.5}).now(weight)
    0.5
    """

    metric: str
    start: float
    end: float
    low: float = 0.0
    high: float = 1.0

    def at(self, step: int, steps: int) -> float:
        """Its value where only the step is known."""
        return self.start

    def follow(self, metrics: Mapping[str, float]) -> float:
        if self.metric not in metrics:
            return self.start
        share = (metrics[self.metric] - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))


@part
class by_rarity(Around):
    r"""$\sum_j w_j p_{ij}$ with $w_j = \frac{e^{-\alpha \rho_j}}{\hat N(\rho_j) + \delta}$: what sample $i$ has of a checklist,
    each item $j$ weighed by $\rho_j$, how often its group has it (VeRPO, Wang et al. 2026, arXiv:2601.03525).

    $\hat N(\rho_j) = \sum_{j'} e^{-(\rho_j - \rho_{j'})^2 / 2\sigma^2}$ counts the items that are about as easy. Checklists
    have many easy items, and their number would outweigh the few that still distinguish tries; divided by it, ten items
    that all pass weigh together as much as one. `alpha` then prefers the rare ones; an item that no try has does not count yet.
    What the paper sets them to was not found: the defaults are ours.

    Items are the `parts` of the inner reward's `Score`, 0 to 1 each. *Assumes* that the samples of a group have the same
    checklist. Weights follow the group, so a score of one step cannot be compared with one of another; alone in its group
    a sample has $\rho_j = p_{ij}$. One of whose items an outcome is missing has *failed*.

    Args:
        reward: a reward with `parts`.
        alpha: preference for rare items.
        sigma: width of the kernel that counts equally easy items.
        delta: added to that count.

    >>> import guerdon as gd
    >>> def ticked(completion):
    ...     return gd.Score(0.0, parts={item: float(item in completion) for item in "abc"})
    >>> tests = gd.reward(ticked, isolate=False)
    >>> tries = [{"completion": text} for text in ("ab", "abc", "ab", "ab")]
    >>> [round(x, 3) for x in gd.score_samples(gd.rewards.by_rarity(tests, alpha=1.0, sigma=0.1, delta=0.0), tries).whole]
    [0.368, 1.147, 0.368, 0.368]
    """

    reward: Any
    alpha: float = knob(default=1.0, ge=0.0)
    sigma: float = knob(default=0.1, gt=0.0)
    delta: float = knob(default=1e-6, ge=0.0)

    @property
    def name(self) -> str:
        return str(self.reward.name)

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        value, reason, detail = inner.value.clone(), inner.reason.clone(), dict(inner.detail)
        groups: dict[int, dict[int, dict[str, float]]] = defaultdict(dict)
        for i in torch.nonzero(inner.valued).flatten().tolist():
            items = self._items(inner.detail.get(i))
            if items is None:
                value[i], reason[i] = math.nan, int(Reason.FAILED)
                detail[i] = {"error": f"ValueError: an item of {self.reward.name} has no value"}
            else:
                groups[int(where.group[i])][i] = items
        for tries in groups.values():
            weight = self._weights(list(tries.values()))
            for i, items in tries.items():
                worth = {name: weight[name] * has for name, has in items.items()}
                value[i], detail[i] = math.fsum(worth.values()), {"parts": worth}
        return Scores(value, reason, {}, detail)

    def _items(self, detail: Any) -> dict[str, float] | None:
        """What a sample has of the checklist; None where that is not known of every item."""
        items = detail.get("parts") if isinstance(detail, dict) else None
        if not items:
            raise UserError(f"by_rarity weighs what a Score has as `parts`, and {self.reward.name} has none")
        return None if any(has is None for has in items.values()) else items

    def _weights(self, tries: Sequence[Mapping[str, float]]) -> dict[str, float]:
        had = defaultdict(list)
        for items in tries:
            for name, has in items.items():
                had[name].append(has)
        rate = torch.tensor([math.fsum(each) / len(each) for each in had.values()], dtype=torch.float64)
        alike = torch.exp(-((rate[:, None] - rate[None]) ** 2) / (2 * self.sigma**2)).sum(1)
        return dict(zip(had, (torch.exp(-self.alpha * rate) / (alike + self.delta)).tolist(), strict=True))

    def __str__(self) -> str:
        return f"by_rarity({self.reward})"
