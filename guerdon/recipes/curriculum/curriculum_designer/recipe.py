"""Curriculum Designer: which order to teach classes in, told beforehand from how alike they look.

Paper: Singh et al. 2022, Learning to Learn: How to Continuously Teach Humans and Machines (arXiv:2211.15470), and the authors'
code (github.com/ZhangLab-DeepNeuroCogLab/Learning2Learn). Five classes are learned one at a time, each seen once, in all 120
orders. The designer scores an order from the distances between the classes' mean images (`parts.py`). Accuracy
is the mean final accuracy on all five of the tenth of orders that it ranks highest, agreement the rank correlation of its
scores with what all orders came to. Every seed draws its own five digits. Followed: score, classes, all orders, one pass.
Different: a small replay memory, without which any order ends in knowing one class; mean images in place of a network's
features; every order is run once. Leaves out: people, learners without replay, optimal-transport distances, the F-measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import permutations
from statistics import fmean
from typing import Any, Literal

import torch

from guerdon.core.optim import sgd
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import generator
from guerdon.recipes.curriculum.curriculum_designer.parts import (
    distances,
    one_at_a_time,
    rank_agreement,
    similarity_score,
)
from guerdon.studies.classify import accuracy, learn, network
from guerdon.studies.digits import CLASSES, digits

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
