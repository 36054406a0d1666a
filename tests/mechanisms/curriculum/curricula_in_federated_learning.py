"""Curricula in federated learning: clients of few classes each learn from their easy examples first, and are averaged."""

from __future__ import annotations

from itertools import chain

import numpy as np
import torch
from harness import Mechanism, World
from torch import nn

from guerdon.core.optim import sgd
from guerdon.core.seeds import derive, generator
from guerdon.recipes.curriculum.curricula_in_federated_learning import (
    Clients,
    dirichlet_split,
    paced,
    ranking,
    visible,
)
from guerdon.studies.classify import losses
from guerdon.studies.digits import Examples


def examples(x, y):
    return Examples(torch.tensor(x), torch.tensor(y))


def net(weight=((0.0, 0.0), (0.0, 0.0))):
    layer = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
    return layer


# by a network that is the more certain of class 0 the larger x is: losses fall with x
OWN = examples([[1.0, 0.0], [3.0, 0.0], [0.0, 0.0], [2.0, 0.0]], [0, 0, 0, 0])
CERTAIN = net(((1.0, 0.0), (0.0, 0.0)))


def order(how):
    return ranking(CERTAIN, OWN, how, torch.Generator().manual_seed(0)).tolist()


def dealt(labels, clients, alpha, by):
    """Rows by client, written as a loop over classes and clients with numpy's generator of the same seed."""
    draw, labels = np.random.default_rng(derive(by, "dirichlet")), np.array(labels)
    held = [[] for _ in range(clients)]
    for label in np.unique(labels):
        rows = draw.permutation(np.flatnonzero(labels == label))
        shares = draw.dirichlet([alpha] * clients)
        for client in range(clients):
            if len(held[client]) >= len(labels) / clients:
                shares[client] = 0.0
        if shares.sum() == 0:
            shares = np.array([float(len(own) < len(labels) / clients) for own in held])
        shares, begin = shares / shares.sum(), 0
        for client in range(clients):
            end = len(rows) if client == clients - 1 else int(shares[: client + 1].sum() * len(rows))
            held[client] += rows[begin:end].tolist()
            begin = end
    return held


def seen(steps, batch, count=10, **knobs):
    """The examples of each step, in order of their ranks; a pass that is shuffled is sorted."""
    ranked = torch.arange(count).flip(0)
    given = examples([[float(i)] for i in range(count)], list(range(count)))
    return [sorted(each.y.tolist()) for each in paced(given, ranked, steps, batch, generator(0), **knobs)]


def pulled(x, label, lr):
    """By hand, two classes of even chances after one step of gradient descent on an example."""
    gradient = torch.outer(torch.tensor([0.5, 0.5]) - torch.eye(2)[label], torch.tensor(x))
    return (-lr * gradient).tolist()


def averaged(**knobs):
    """The shared weights after a round of two clients and an empty one: one has an example, one three of another."""
    shared = net()
    every = examples([[2.0, 0.0]] + [[0.0, 1.0]] * 3, [0, 1, 1, 1])
    rows = [torch.tensor([0]), torch.tensor([], dtype=torch.long), torch.tensor([1, 2, 3])]
    some = Clients(every, rows, sgd(lr=0.1, momentum=0.0), **{"epochs": 1, **knobs})
    taken = some.round(shared, "none", 7)
    return [shared.weight.tolist(), taken]


SEVEN = examples(
    [[1.0, 0.5], [3.0, -1.0], [0.0, 2.0], [2.0, 2.0], [0.5, 0.5], [4.0, 1.0], [1.5, 0.0]], [0, 1, 0, 1, 0, 0, 1]
)


def alone(how, opt):
    """The weights after a round of a single client, and its steps."""
    shared = net(((1.0, 0.0), (0.0, 0.0)))
    taken = Clients(SEVEN, [torch.arange(7)], opt, epochs=1, batch=2).round(shared, how, 3)
    return [shared.weight.tolist(), taken]


def stepped(how):
    """By gradient descent on the batches of a client, which the first parts give."""
    local, draw = net(((1.0, 0.0), (0.0, 0.0))), generator(3, 0)
    ranked = ranking(local, SEVEN, how, draw)
    for batch in paced(SEVEN, ranked, 4, 2, draw, 1.0 if how == "none" else 0.2):
        (gradient,) = torch.autograd.grad(nn.functional.cross_entropy(local(batch.x), batch.y), local.weight)
        with torch.no_grad():
            local.weight -= 0.5 * gradient
    return local.weight.tolist()


def learned():
    """Accuracy after each of three rounds: from what is learned, and round by round by another draw."""
    shared, every = net(), examples([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    some = Clients(every, [torch.tensor([0]), torch.tensor([1])], sgd(lr=1.0, momentum=0.0), each_round=1, epochs=1)
    found = some.learn(shared, "curriculum", 3, every, 5)
    again, by_hand = net(), []
    for i in range(3):
        some.round(again, "curriculum", 5, i)
        by_hand.append(float((again(every.x).argmax(1) == every.y).double().mean()))
    return [found == by_hand, shared.weight.tolist() == again.weight.tolist(), found[-1]]


def early(how):
    """The mean loss, under the shared network, of what a client learns from in the first fifth of its steps."""
    x = [[0.1 * (i * 7 % 20), 0.0] for i in range(20)]
    own = examples(x, [0] * 20)
    ranked = ranking(CERTAIN, own, how, generator(1))
    batches = list(paced(own, ranked, 20, 2, generator(2), 1.0 if how == "none" else 0.2))[:4]
    return sum(float(losses(CERTAIN, each).mean()) for each in batches) / 4


A, B = pulled([2.0, 0.0], 0, 0.1), pulled([0.0, 1.0], 1, 0.1)
MEAN = [[(a + 3 * b) / 4 for a, b in zip(*pair, strict=True)] for pair in zip(A, B, strict=True)]
LABELS = [8] * 5 + [1] * 4 + [2] * 6 + [3] * 7

EVEN = [8] * 5 + [1] * 5 + [2] * 5 + [3] * 5
CHOSEN = "torch.randperm(len(able), generator=generator(*path, 'cli..."

mechanism = Mechanism(
    "curricula-in-federated-learning",
    source="sreevatsank1999/Curriculum-FL@8cd79cd7, src/client/client_fedavg_curr.py, lines 37 to 90: loss under the shared"
    " network, (N // batch + 1) * epochs steps, pacing; src/utils: Dirichlet; arXiv:2212.12712",
    numbers={
        "easy first": (lambda: order("curriculum"), [1, 3, 0, 2]),
        "hard first": (lambda: order("anti"), [2, 0, 3, 1]),
        "at random": (lambda: [sorted(order("random")), order("random") == order("none")], [[0, 1, 2, 3], True]),
        "a fifth at first, all from four fifths on": (
            lambda: [visible(step, 10, 100, 0.2) for step in (0, 2, 4, 8, 9)],
            [20, 40, 60, 100, 100],
        ),
        "at least one, by other shares": (
            lambda: [visible(0, 10, 3, 0.2), visible(1, 10, 100, 0.0, full_at=0.5), visible(9, 10, 7, 1.0)],
            [1, 20, 7],
        ),
        "a pass, then what is visible by then": (
            lambda: [sorted(chain(*seen(8, 2)[a:b])) for a, b in ((0, 1), (1, 3), (3, 6))],
            [[8, 9], [7, 8, 9], [5, 6, 7, 8, 9]],
        ),
        "at least a batch, and so many steps": (
            lambda: [seen(1, 4), len(seen(7, 3)), len(seen(3, 2, first=1.0))],
            [[[6, 7, 8, 9]], 7, 3],
        ),
        "all at once": (lambda: sorted(chain(*seen(5, 2, first=1.0))), list(range(10))),
        "dealt out class by class": (
            lambda: [each.tolist() for each in dirichlet_split(torch.tensor(LABELS), 3, 0.3, 4)],
            dealt(LABELS, 3, 0.3, 4),
        ),
        "all of a class to one client, to others once it has its part": (
            lambda: [[each.tolist() for each in dirichlet_split(torch.tensor(EVEN), 4, 1e-3, n)] for n in range(4)],
            [dealt(EVEN, 4, 1e-3, n) for n in range(4)],
        ),
        "averaged by examples; those without any are left out": (averaged, [MEAN, 2]),
        "one a round": (
            lambda: averaged(each_round=1)[0],
            [A, B][int(torch.randperm(2, generator=generator(7, "clients"))[0])],
        ),
        "a client's steps": (
            lambda: [alone(how, sgd(lr=0.5, momentum=0.0))[0] for how in ("curriculum", "anti", "random", "none")],
            [stepped(how) for how in ("curriculum", "anti", "random", "none")],
        ),
        "steps by passes and batches": (lambda: [averaged(epochs=3)[1], averaged(batch=2)[1]], [6, 3]),
        "round after round": (learned, [True, True, 1.0]),
    },
    world=World(
        says="of a client's examples some are easy for the shared network: it learns from those in its first steps",
        measure=early,
        on={"how": "curriculum"},
        off={"how": "random"},
        moves=-0.1,
    ),
    equal={
        "dirichlet_split: shares.sum() -> shares.mean()": "both are above 0, or neither",
        **dict.fromkeys(
            ("ranking: losses(net, own).argsort(...) without stable=", "ranking: True -> False"),
            "so few are sorted in a stable way anyhow",
        ),
        f"Clients.round: {CHOSEN} shuffled": "an average has no order",
        "Clients.round: 1.0 -> 2.0": "all there are",
    },
    without={
        "curricula_in_federated_learning": "the study around it; tests/recipes/test_studies.py trains its networks"
    },
)
