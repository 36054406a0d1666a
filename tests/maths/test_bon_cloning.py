"""What imitating the best of N comes to: OREAL's theory (arXiv:2502.06781) on a bandit with three arms, exactly."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import guerdon as gd
from guerdon.core.example import ExamplePlay, example_tries

START = (0.5, 0.3, 0.2)
RIGHT = (0.0, 1.0, 1.0)


def cloned(n):
    """The arms that the best of n tries are, over every group of n with its chance."""
    share = [0.0] * 3
    for arms in itertools.product(range(3), repeat=n):
        batch = example_tries([[RIGHT[arm] for arm in arms]], arm=[float(arm) for arm in arms])
        best = gd.select.best("reward")(batch, ExamplePlay())
        share[int(best["arm"])] += math.prod(START[arm] for arm in arms)
    return share


def optimum(beta):
    """The policy that maximises the reward less beta times its KL from the start."""
    weight = [p * math.exp(r / beta) for p, r in zip(START, RIGHT, strict=True)]
    return [w / sum(weight) for w in weight]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_best_of_n_is_the_optimum_under_a_kl(n):
    """At the beta whose optimum is right as often, arm by arm."""
    p = sum(chance * right for chance, right in zip(START, RIGHT, strict=True))
    solved = 1 - (1 - p) ** n
    odds = solved / (1 - solved) * (1 - p) / p
    target = optimum(1 / math.log(odds)) if n > 1 else list(START)
    assert cloned(n) == pytest.approx(target)


@pytest.mark.slow
def test_imitation_of_the_best_of_n_arrives_there():
    batch = example_tries([[1.0] * 3], arm=[0.0, 1.0, 2.0], share=[3 * s for s in cloned(4)])
    logits = torch.zeros(3, requires_grad=True)
    loss = gd.losses.weighed(gd.losses.sft(), by="share")
    optimiser = torch.optim.LBFGS([logits], max_iter=100)

    def closure():
        optimiser.zero_grad()
        value = loss(batch, {"logp": torch.log_softmax(logits, 0)})[0]
        value.backward()
        return value

    optimiser.step(closure)
    assert torch.softmax(logits, 0).tolist() == pytest.approx(cloned(4), abs=1e-4)
