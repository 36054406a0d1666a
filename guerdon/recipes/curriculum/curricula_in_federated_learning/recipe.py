"""Curricula in federated learning: clients learn from their easy examples first, which should help where they differ much.

Paper: Vahidian et al. 2022, When Do Curricula Work in Federated Learning? (arXiv:2212.12712), and the authors' code
(github.com/sreevatsank1999/Curriculum-FL). Digits are dealt out to clients class by class in Dirichlet(alpha) shares, and
learned from by federated averaging. In a round each chosen client ranks its examples by their loss under the shared network
and learns from the front of the order, a fifth at first and all from 80 % of its steps on. Accuracy is the shared network's on
all kinds of digits, mean of the last ten rounds; gain is how much that is above random order with the same pacing.
Followed: split, scoring by the shared network, pacing, 10 local passes of batches of 10, SGD 0.01 with momentum 0.9.
Different: 20 clients, 4 a round, in place of 100 and 10, since there are 1,000 digits; 20 rounds in place of 100.
Leaves out: orders of clients, scoring by an expert or the local network, decay of rate and weights, algorithms besides FedAvg.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from guerdon.core.optim import sgd
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.recipes.curriculum.curricula_in_federated_learning.parts import Clients, Order, dirichlet_split
from guerdon.studies.classify import network
from guerdon.studies.digits import digits

NAME = "curricula-in-federated-learning"
SETTING: dict[str, Any] = {"model": "", "budget": 20, "unit": "steps"}  # rounds of equally many steps on equal clients
LAST = 10  # rounds: with few clients in each, accuracy goes up and down from one to the next


@recipe(
    "curricula-in-federated-learning",
    family="curriculum",
    paper="arXiv:2212.12712",
    claim=(
        Claim(
            says="Where clients differ much, easy examples first end better than any first.",
            baseline=f"{NAME} order=random",
            ablation=f"{NAME} order=none",
            metric="accuracy",
            **SETTING,
        ),
        Claim(
            says="Easy examples first gain more where clients differ much than where they are alike.",
            baseline=f"{NAME} alpha=100",
            metric="gain",
            **SETTING,
        ),
    ),
)
def curricula_in_federated_learning(
    order: Order = "curriculum",
    alpha: float = 0.05,  # the most different clients of the authors' scripts
    clients: int = 20,
    rounds: int = 20,
) -> Study:
    """Orders of examples on federated clients: a network on scikit-learn's digits."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        data = digits(seed)
        rows = dirichlet_split(data.train.y, clients, alpha, seed)
        some = Clients(data.train, rows, sgd(lr=0.01, momentum=0.9))
        accuracies = run.remember(order, lambda: some.learn(network(seed), order, rounds, data.test, seed))
        curve = [{"spent": i + 1, "value": value} for i, value in enumerate(accuracies)]
        result: dict[str, Any] = {"accuracy": fmean(accuracies[-LAST:]), "curve": curve}
        if order in ("curriculum", "anti"):  # the others are what gains are measured by
            usual = run.remember("random", lambda: some.learn(network(seed), "random", rounds, data.test, seed))
            result["gain"] = result["accuracy"] - fmean(usual[-LAST:])
        return result

    return Study(body)
