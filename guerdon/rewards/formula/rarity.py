"""Items of a checklist (unit tests, criteria) weighed by how rarely the tries at a task have them.

Leaves out: what the items are and whether they hold, which the reward inside tells in the parts of its `Score`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.formula.reward import Around
from guerdon.rewards.formula.scores import Scores
from guerdon.rewards.formula.where import Where


@part
class by_rarity(Around):
    r"""$\sum_j w_j p_{ij}$ with $w_j = \frac{e^{-\alpha \rho_j}}{\hat N(\rho_j) + \delta}$: what sample $i$ has of a checklist,
    each item $j$ weighed by $\rho_j$, how often its group has it (VeRPO, Wang et al. 2026, arXiv:2601.03525).

    $\hat N(\rho_j) = \sum_{j'} e^{-(\rho_j - \rho_{j'})^2 / 2\sigma^2}$ counts the items that are about as easy. Checklists
    have many easy items, and their sheer number would outweigh the few that still tell tries apart; divided by it, ten items
    that all pass weigh together as much as one. `alpha` then prefers the rare ones; an item that nobody has says nothing yet.
    What the paper sets them to was not found: the defaults are ours.

    Items are the `parts` of the inner reward's `Score`, 0 to 1 each. *Assumes* that the samples of a group have the same
    checklist. Weights follow the group, so a score of one step cannot be compared with one of another; alone in its group
    a sample has $\rho_j = p_{ij}$. One of whose items an outcome is missing has *failed*.

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
