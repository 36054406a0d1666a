"""Rewards for ranked lists: how many of the relevant ids are found, and how far up.

What is relevant is the task's `relevant` (a key of its meta): ids, or ids with grades.
The ranking is `ranking` where a search put one there (a key of the meta), else the list in the completion.
Without anything relevant none of them applies; a completion without a list has found nothing, and earns 0.
Leaves out: searching, and whether a found text was used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_pattern, check_plain
from guerdon.rewards.text.overlap import items
from guerdon.text.answers import marked

Relevant = Mapping[Any, float] | Iterable[Any]


def grades(relevant: Relevant | None) -> dict[str, float]:
    """Ids with their grades, 1 for those without; only what is above 0 is relevant."""
    if isinstance(relevant, str):
        raise UserError(f"relevant is a list of ids, or a dict of ids and grades, not the text {relevant!r}")
    given = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant or (), 1.0)
    return {str(one).strip(): float(grade) for one, grade in given.items() if grade > 0}


class _Ranked(Leaf):
    """A list of ids against what is relevant. An id that stands there again counts once, at its first place."""

    k: int
    mark: str
    separator: str

    def __post_init__(self) -> None:
        check_plain(self)
        check_pattern(f"{self.name}.separator", self.separator)

    def __call__(
        self, completion: str = "", relevant: Relevant | None = None, ranking: Iterable[Any] | None = None
    ) -> float | None:
        wanted = grades(relevant)
        if not wanted:
            return None
        if ranking is None:
            text = marked(completion, self.mark) if self.mark else completion
            ranking = items(text or "", self.separator)
        ranked = [*dict.fromkeys(str(one).strip() for one in ranking)]
        return self.rate(ranked[: self.k] if self.k else ranked, wanted)

    def rate(self, ranked: list[str], wanted: Mapping[str, float]) -> float:
        raise NotImplementedError


@part
class recall(_Ranked):
    r"""$|\text{top } k \cap \text{relevant}| \,/\, |\text{relevant}|$; with `k=0` all of the list counts.

    A list of everything has recall 1: set `k`, or pay for precision too.

    Args:
        k: number of places that count; 0 counts all.
        mark: only what follows its last place counts.
        separator: pattern between ids.

    >>> import guerdon as gd
    >>> gd.recall(2)("d3, d1, d2", relevant=["d1", "d2"]), gd.recall(k=0)("d3, d1, d2", relevant=["d1", "d2"])
    (0.5, 1.0)
    """

    k: int = knob(default=10, ge=0)
    mark: str = ""
    separator: str = r"[,;\n]"

    def rate(self, ranked: list[str], wanted: Mapping[str, float]) -> float:
        return len({*ranked} & {*wanted}) / len(wanted)


@part
class ndcg(_Ranked):
    r"""$\mathrm{DCG} / \mathrm{IDCG}$ with $\mathrm{DCG} = \sum_{i=1}^{k} g_i / \log_2(i + 1)$: the grades of what was found,
    discounted by place, over those of the best order (Järvelin & Kekäläinen, ACM TOIS 2002).

    Gains are the grades themselves, as in scikit-learn's `ndcg_score`; for $2^g - 1$ give such grades.

    Args:
        k: number of places that count; 0 counts all.
        mark: only what follows its last place counts.
        separator: pattern between ids.

    >>> import guerdon as gd
    >>> round(gd.ndcg()("d2, d3, d1", relevant={"d1": 3, "d2": 1}), 4)
    0.6885
    """

    k: int = knob(default=10, ge=0)
    mark: str = ""
    separator: str = r"[,;\n]"

    def rate(self, ranked: list[str], wanted: Mapping[str, float]) -> float:
        best = sorted(wanted.values(), reverse=True)
        gained = _discounted([wanted.get(one, 0.0) for one in ranked])
        return gained / _discounted(best[: self.k] if self.k else best)


def _discounted(gains: list[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


@part
class reciprocal_rank(_Ranked):
    r"""$1 / \text{rank}$ of the first relevant id among the top `k`, 0 if none is; its mean is MRR (Voorhees, TREC-8 1999).

    Steep at the top and flat below it: from place 1 to 2 it loses a half, from 9 to 10 about a hundredth.

    Args:
        k: number of places that count; 0 counts all.
        mark: only what follows its last place counts.
        separator: pattern between ids.

    >>> import guerdon as gd
    >>> gd.reciprocal_rank()("d3, d1", relevant=["d1"]), gd.reciprocal_rank(1)("d3, d1", relevant=["d1"])
    (0.5, 0.0)
    """

    k: int = knob(default=10, ge=0)
    mark: str = ""
    separator: str = r"[,;\n]"

    def rate(self, ranked: list[str], wanted: Mapping[str, float]) -> float:
        rank = _first(ranked, wanted)
        return 1 / rank if rank else 0.0


@part
class rank_incentive(_Ranked):
    r"""Two straight lines over the rank $i$ of the first relevant id: $2 - \frac{i - 1}{near - 1}$ down to 1 at `near`, then
    $1 - \frac{i - near}{k - near}$ down to 0 at `k`; 0 beyond.

    A reward for every place gained, even far down where recall and MRR see nothing, as in the rank-incentive reward shaping of
    ConvSearch-R1 (Zhu et al. 2025, arXiv:2505.15776); that the pieces are these two lines is our choice. Give it a long
    list: what the search returned, in `ranking`.

    Args:
        k: place at which the second line reaches 0.
        near: place at which the first line ends.
        mark: only what follows its last place counts.
        separator: pattern between ids.

    >>> import guerdon as gd
    >>> listed = [f"d{i}" for i in range(1, 200)]
    >>> [gd.rank_incentive()(ranking=listed, relevant=[one]) for one in ("d1", "d10", "d55", "d100", "d101")]
    [2.0, 1.0, 0.5, 0.0, 0.0]
    """

    k: int = knob(default=100, ge=2)
    near: int = knob(default=10, ge=2)
    mark: str = ""
    separator: str = r"[,;\n]"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.near >= self.k:
            raise UserError(f"rank_incentive.near lies before k: less than {self.k}, not {self.near}")

    def rate(self, ranked: list[str], wanted: Mapping[str, float]) -> float:
        rank = _first(ranked, wanted)
        if rank == 0:
            return 0.0
        if rank <= self.near:
            return 2 - (rank - 1) / (self.near - 1)
        return 1 - (rank - self.near) / (self.k - self.near)


def _first(ranked: list[str], wanted: Mapping[str, float]) -> int:
    """The rank of the first that is relevant; 0 if none is."""
    return next((rank for rank, one in enumerate(ranked, start=1) if one in wanted), 0)
