"""Curriculum Designer: which order to teach classes in, told beforehand from how alike they look.

Paper: Singh et al. 2022, Learning to Learn: How to Continuously Teach Humans and Machines (arXiv:2211.15470), and the authors'
code (github.com/ZhangLab-DeepNeuroCogLab/Learning2Learn). Five classes are learned one at a time, each seen once, in all 120
orders. The designer scores an order from the distances between the classes' mean images. `accuracy` is the mean final accuracy
of the tenth of orders with the highest scores, `agreement` the rank correlation of scores with final accuracies. Every seed
draws five digits. Followed: score, classes, all orders, one pass. Different: a small replay memory, without which every order
ends with one class known; mean images, not features of a network; each order once. Leaves out: people, learners without replay,
optimal-transport distances, the F-measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import permutations
from statistics import fmean
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.needs import Needs
from guerdon.core.optim import sgd
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import generator
from guerdon.core.statistics import ranks
from guerdon.studies.classify import accuracy, learn, network
from guerdon.studies.digits import CLASSES, Examples, digits

TAUGHT, BATCH, TOP = 5, 10, 12
NAME = "curriculum-designer"
ARMS: dict[str, Any] = {"baseline": f"{NAME} rank=random", "ablation": f"{NAME} rank=reversed", "model": ""}
ARMS |= {"budget": 500, "unit": "samples"}  # about as many as there are of five digits, for every order


@recipe(
    "curriculum-designer",
    family="curriculum",
    paper="arXiv:2211.15470",
    claim=(
        Claim(says="Orders that the designer ranks highest end better than random ones.", metric="accuracy", **ARMS),
        Claim(says="The designer's ranking agrees with what orders come to.", metric="agreement", effect=0.1, **ARMS),
    ),
    needs=Needs(world="images of digits, a class at a time"),
)
def curriculum_designer(
    rank: Literal["similarity", "reversed", "random"] = "similarity", keep: int = 5, lr: float = 0.05
) -> Study:
    """Orders of classes in online class-incremental learning: a network on scikit-learn's digits."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        data, draw = digits(seed), generator(seed, "orders")
        taught = torch.randperm(CLASSES, generator=draw)[:TAUGHT].tolist()
        exam = data.test[torch.isin(data.test.y, torch.tensor(taught))]
        orders = list(permutations(range(TAUGHT)))
        apart = distances(data.train, taught)
        scores = [similarity_score(order, apart) for order in orders]
        if rank != "similarity":
            scores = torch.rand(len(orders), generator=draw).tolist() if rank == "random" else [-s for s in scores]

        def learned(order: Sequence[int]) -> float:
            net = network(seed)
            batches = one_at_a_time(data.train, [taught[i] for i in order], BATCH, keep, seed)
            learn(net, batches, sgd(lr=lr, momentum=0.9), 1)
            return accuracy(net, exam)

        outcomes = [run.remember(order, partial(learned, order)) for order in orders]
        top = sorted(range(len(orders)), key=lambda i: -scores[i])[:TOP]
        return {"accuracy": fmean(outcomes[i] for i in top), "agreement": rank_agreement(scores, outcomes)}

    return Study(body)


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
    both = torch.stack([torch.from_numpy(ranks(each)).float() for each in (a, b)])
    both = both - both.mean(1, keepdim=True)
    lengths = both.norm(dim=1)
    return float(both[0] @ both[1] / lengths.prod()) if lengths.prod() > 0 else 0.0
