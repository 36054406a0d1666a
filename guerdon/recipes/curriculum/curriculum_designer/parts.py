"""Orders in which classes are taught one at a time: how the Curriculum Designer ranks them, and how well a learner does.

Ranking follows the released code of Singh et al. 2022 (arXiv:2211.15470, github.com/ZhangLab-DeepNeuroCogLab/Learning2Learn).
The learner sees each class once, in small batches, and keeps a few examples of every class it met.
Leaves out: features of a pretrained network (distances are between mean images), optimal-transport distances, learners that
regularise or distil.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from guerdon.core.seeds import generator
from guerdon.studies.digits import Examples


def distances(examples: Examples, classes: Sequence[int]) -> Tensor:
    """Cosine distances between the mean images of classes, each row as shares of its sum."""
    means = torch.stack([examples.x[examples.y == c].double().mean(0) for c in classes])
    means = means / means.norm(dim=1, keepdim=True)
    apart: Tensor = (1.0 - means @ means.T).fill_diagonal_(0.0)
    return apart / apart.sum(1, keepdim=True)


def similarity_score(order: Sequence[int], apart: Tensor) -> float:
    """How good an order should be. The class that comes first should be about equally far from all others; from there inwards,
    each class should be far from the next one and close to the one that stands where it does counted from the end."""
    spread = apart.var(1, correction=0)
    score = 1.0 - spread[order[0]] / spread.sum()
    for i in range(len(order) // 2):
        score = score + apart[order[i], order[i + 1]] + 1.0 - apart[order[i], order[-1 - i]]
    return float(score)


def one_at_a_time(
    examples: Examples, order: Sequence[int], batch: int, keep: int, *path: int | str
) -> Iterator[Examples]:
    """One pass over the classes in this order, each batch with as many examples again from those kept of earlier classes,
    `keep` of each."""
    draw = generator(*path, "one at a time")
    kept: list[Tensor] = []
    for label in order:
        own = torch.nonzero(examples.y == label).flatten()
        own = own[torch.randperm(len(own), generator=draw)]
        for rows in torch.split(own, batch):
            again = torch.cat(kept) if kept else rows[:0]
            chosen = torch.randperm(len(again), generator=draw)[:batch]
            yield examples[torch.cat([rows, again[chosen]])]
        kept.append(own[:keep])


def rank_agreement(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's correlation, tied values sharing the mean of their ranks; 0 where one of the two says nothing."""
    ranks = torch.stack([_ranks(torch.tensor(each, dtype=torch.float64)) for each in (a, b)])
    ranks = ranks - ranks.mean(1, keepdim=True)
    lengths = ranks.norm(dim=1)
    return float(ranks[0] @ ranks[1] / lengths.prod()) if lengths.prod() > 0 else 0.0


def _ranks(values: Tensor) -> Tensor:
    below, equal = (values[None] < values[:, None]).sum(1), (values[None] == values[:, None]).sum(1)
    return below + (equal + 1) / 2.0
