"""Expected gradients by enumeration, no sampling: what claims to be unbiased is, what is known to be biased is by so much.

Two decisions: stop, or go on and choose one of two. Every group of three tries is listed with its probability, credited,
and its gradient estimate (a mean over tracks of the sum over steps of A times the gradient of log pi) averaged.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.baselines import cross_baseline, role_baseline, weighted_baseline, whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.pass_at_k import best_of_k
from guerdon.credit.returns import redistribute, reward_to_go
from guerdon.credit.tree import prefix_gain
from guerdon.credit.turns import turn_baseline

TRIES = 3
LOGITS = torch.tensor([0.3, -0.2, 0.5, -0.4], dtype=torch.float64)  # stop, go; left, right
PATHS = [(0,), (1, 2), (1, 3)]  # the choices each try can be made of
PAID = {(0,): [1.0], (1, 2): [0.2, 3.0], (1, 3): [0.2, -1.5]}  # step by step
VALUE = {0: 0.7, 1: 0.7, 2: -0.3, 3: -0.3}  # a critic that is wrong, by the choice it stands before


def log_policy(logits):
    return torch.cat([torch.log_softmax(logits[:2], 0), torch.log_softmax(logits[2:], 0)])


def chance(path, logits=LOGITS):
    return torch.exp(sum(log_policy(logits)[c] for c in path))


SCORE = torch.autograd.functional.jacobian(log_policy, LOGITS)  # [choice, parameter]
GROUPS = list(itertools.product(PATHS, repeat=TRIES))
WEIGHT = [float(math.prod(chance(p) for p in group)) for group in GROUPS]


def exact(objective):
    logits = LOGITS.clone().requires_grad_()
    objective(logits).backward()
    return logits.grad


def expected_return(logits):
    return sum(chance(p, logits) * sum(PAID[p]) for p in PATHS)


def expected_best(k):
    def objective(logits):
        found = 0.0
        for paths in itertools.product(PATHS, repeat=k):
            found = found + math.prod(chance(p, logits) for p in paths) * max(sum(PAID[p]) for p in paths)
        return found

    return objective


def packed(groups):
    """Tries of one turn a choice, each group a task."""
    eps = []
    for number, group in enumerate(groups):
        for attempt, path in enumerate(group):
            turns = [segment([c], parent=i - 1) for i, c in enumerate(path)]
            eps.append(episode(*turns, name=f"t{number}", number=number, attempt=attempt))
    batch = pack(eps)
    paths = [p for group in groups for p in group]

    def column(level, values):
        return Column.full(level, torch.tensor(values, dtype=torch.float64))

    return batch.with_cols(
        {
            "reward": column("track", [sum(PAID[p]) for p in paths]),
            "process": column("step", [r for p in paths for r in PAID[p]]),
            "critic.value": column("step", [VALUE[c] for p in paths for c in p]),
            "critic.final": column("track", [99.0 for _ in paths]),
        }
    )


def expected_gradient(make, groups_at_once=True):
    """The average of the estimate over all groups; a part that looks across groups sees one at a time."""
    total = torch.zeros(4, dtype=torch.float64)
    listed = [range(len(GROUPS))] if groups_at_once else [[i] for i in range(len(GROUPS))]
    for chosen in listed:
        batch = packed([GROUPS[i] for i in chosen])
        for stage in make():
            batch = stage(batch, ExamplePlay())
        estimate = batch["advantage"].double()[:, None] * SCORE[batch.action] / TRIES
        weight = torch.tensor([WEIGHT[i] for i in chosen], dtype=torch.float64)
        total += (weight[batch.task[batch.seg]][:, None] * estimate).sum(0)
    return total


def as_advantage(name):
    """Returns without a baseline."""
    return [reward_to_go(name, gives_to="advantage")]


UNBIASED = {
    "nothing taken off": lambda: as_advantage("process"),
    "leave one out": lambda: [centre(std=False, others=True)],
    "leave one out, weighted by length": lambda: [weighted_baseline(others=True)],
    "a wrong critic, lambda 1": lambda: [gae("process", lam=1.0)],
    "a baseline by turn": lambda: [reward_to_go("process", per="turn"), turn_baseline()],
    "a baseline by step": lambda: [reward_to_go("process"), turn_baseline(per="step")],
    "a running baseline": lambda: [role_baseline(start=0.4)],
    "best of one": lambda: [best_of_k(k=1)],
    "predicted from the other tries": lambda: [cross_baseline(value="critic.value")],
}


@pytest.mark.parametrize("name", UNBIASED)
def test_unbiased(name):
    found = expected_gradient(UNBIASED[name], groups_at_once=name != "a running baseline")
    assert torch.allclose(found, exact(expected_return), atol=1e-6)


def test_best_of_two_is_the_gradient_of_the_best_of_two():
    assert torch.allclose(expected_gradient(lambda: [best_of_k(k=2)]), exact(expected_best(2)), atol=1e-6)


def test_the_own_reward_in_the_mean_shrinks_the_gradient_and_no_more():
    found = expected_gradient(lambda: [centre(std=False)])
    assert torch.allclose(found, (1 - 1 / TRIES) * exact(expected_return), atol=1e-6)


def test_a_prediction_from_the_own_try_takes_its_own_gradient_away():
    true = exact(expected_return)
    predicted = exact(lambda logits: sum(chance(p, logits) * sum(VALUE[c] for c in p) for p in PATHS))
    found = expected_gradient(lambda: [cross_baseline(value="critic.value", own=True)])
    assert torch.allclose(found, true - predicted, atol=1e-6) and not torch.allclose(found, true, atol=1e-2)


def bias(make, groups_at_once=True):
    """How far the expected gradient lies from the line of the true one, as a share of its own length."""
    found, true = expected_gradient(make, groups_at_once), exact(expected_return)
    along = (found @ true) / (true @ true) * true
    return float((found - along).norm() / found.norm())


BIASED = {  # sizes of the bias in direction, here; docs/credit.md shows them
    "divided by the spread": (lambda: [centre()], True, 0.139),
    "whitened over the steps": (lambda: [whiten("reward")], False, 0.239),
    "weighted by length, own included": (lambda: [weighted_baseline()], True, 0.050),
    "by turn among those still there": (
        lambda: [reward_to_go("process", per="turn"), centre("return", by="turn", std=False, others=True)],
        True,
        0.233,
    ),
    "a return spread evenly": (
        lambda: [redistribute(), reward_to_go("reward_steps", gives_to="advantage")],
        True,
        0.330,
    ),
    "gains along tracks that never branch": (lambda: [prefix_gain()], True, 0.855),
    "a wrong critic, lambda 0.5": (lambda: [gae("process", lam=0.5)], True, 0.574),
}


@pytest.mark.parametrize("name", BIASED)
def test_biased_by_so_much(name):
    make, at_once, size = BIASED[name]
    assert bias(make, at_once) == pytest.approx(size, abs=0.001)
