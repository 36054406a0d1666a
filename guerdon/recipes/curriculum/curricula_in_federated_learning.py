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

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from guerdon.core.needs import Needs
from guerdon.core.optim import sgd
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import derive, generator
from guerdon.studies.classify import Opt, accuracy, learn, losses, network
from guerdon.studies.digits import Examples, digits

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
    needs=Needs(world="images of digits, held by clients"),
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


Order = Literal["curriculum", "anti", "random", "none"]


def dirichlet_split(labels: Tensor, clients: int, alpha: float, *path: int | str) -> list[Tensor]:
    """Rows by client: each class is dealt out in shares drawn from Dirichlet(alpha), none to a client that has its equal part
    of all rows already (Li et al. 2021, arXiv:2102.02079). A small alpha leaves each client few classes, and some nothing."""
    draw = np.random.default_rng(derive(*path, "dirichlet"))
    held: list[list[int]] = [[] for _ in range(clients)]
    for label in sorted(set(labels.tolist())):
        rows = draw.permutation(torch.nonzero(labels == label).flatten().numpy())
        room = np.array([len(own) < len(labels) / clients for own in held])
        shares = draw.dirichlet([alpha] * clients) * room
        shares = shares / shares.sum() if shares.sum() > 0 else room / room.sum()
        ends = (np.cumsum(shares)[:-1] * len(rows)).astype(int)
        for own, part in zip(held, np.split(rows, ends), strict=True):
            own.extend(part.tolist())
    return [torch.tensor(own, dtype=torch.long) for own in held]


def visible(step: int, steps: int, count: int, first: float, full_at: float = 0.8) -> int:
    """How many examples, from the front of an order, a client learns from at a step: a share `first` of them to begin with,
    all from `full_at` of its steps on, in a straight line between."""
    return max(1, min(count, int(count * (first + (1.0 - first) * step / (full_at * steps)))))


def paced(
    examples: Examples, ranked: Tensor, steps: int, batch: int, draw: torch.Generator, first: float = 0.2
) -> Iterator[Examples]:
    """So many batches: pass after pass over the examples that are visible by then, shuffled, a batch of them at least."""
    step = 0
    while step < steps:
        seen = ranked[: max(visible(step, steps, len(ranked), first), batch)]
        for rows in torch.split(seen[torch.randperm(len(seen), generator=draw)], batch)[: steps - step]:
            yield examples[rows]
            step += 1


def ranking(net: nn.Module, own: Examples, order: Order, draw: torch.Generator) -> Tensor:
    """A client's examples by how hard the shared network finds them: easy first, hard first, or in any order."""
    if order in ("random", "none"):
        return torch.randperm(len(own), generator=draw)
    ranked = losses(net, own).argsort(stable=True)
    return ranked.flip(0) if order == "anti" else ranked


@dataclass(frozen=True)
class Clients:
    """The clients of one federation. Each has a share of the examples; every round some of them take as many steps as `epochs`
    passes over all of theirs would."""

    examples: Examples
    rows: Sequence[Tensor]
    opt: Opt
    each_round: int = 4
    epochs: int = 10  # epochs, batch: what the authors' scripts run
    batch: int = 10

    def learn(self, net: nn.Module, order: Order, rounds: int, test: Examples, *path: int | str) -> list[float]:
        """So many rounds, and the shared network's accuracy on `test` after each."""
        accuracies = []
        for i in range(rounds):
            self.round(net, order, *path, i)
            accuracies.append(accuracy(net, test))
        return accuracies

    def round(self, net: nn.Module, order: Order, *path: int | str) -> int:
        """Have some clients learn from their own examples and average what they made, by how many they have. Steps taken."""
        able = [i for i, rows in enumerate(self.rows) if len(rows)]
        chosen = torch.randperm(len(able), generator=generator(*path, "clients"))[: self.each_round].tolist()
        trained: list[tuple[int, dict[str, Tensor]]] = []
        taken = 0
        for client in (able[i] for i in chosen):
            own = self.examples[self.rows[client]]
            steps = (len(own) // self.batch + 1) * self.epochs
            local, draw = copy.deepcopy(net), generator(*path, client)
            ranked = ranking(net, own, order, draw)
            first = 1.0 if order == "none" else 0.2  # with full_at=0.8, the pacing of the authors' scripts
            learn(local, paced(own, ranked, steps, self.batch, draw, first), self.opt, steps)
            trained.append((len(own), local.state_dict()))
            taken += steps
        total = sum(n for n, _ in trained)
        net.load_state_dict({k: torch.stack([n / total * w[k] for n, w in trained]).sum(0) for k in net.state_dict()})
        return taken
