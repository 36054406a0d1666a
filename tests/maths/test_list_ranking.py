"""A loss over lists: by hand, against a computation that shares no line with it, and by what it must equal."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.losses.pair import dpo, list_ranking
from guerdon.select.pairs import step_pairs


def lists(*worths):
    """A list for each, behind a trunk of one step; siblings of two steps."""
    eps = [
        episode(segment([0]), *(segment([i, i], parent=0) for i in range(len(w))), number=n)
        for n, w in enumerate(worths)
    ]
    batch = pack(eps)
    flat = torch.tensor([x for w in worths for x in w]).double()
    batch = batch.with_cols(
        {"reward": Column.full("track", flat), "reference.logp": Column.full("step", torch.zeros(batch.S))}
    )
    return step_pairs()(batch, ExamplePlay())


def noise(*size):
    return torch.randn(*size, generator=torch.Generator().manual_seed(4)).double()


def test_two_answers_by_hand():
    """Behind by 0.2, so ranked 2 and 1: the gains of 1 and 0 differ by 1, the discounts by 1 - 1 / log2(3)."""
    batch = lists([1.0, 0.0])
    loss, noted = list_ranking(0.1, adapt=0.0)(batch, {"logp": torch.tensor([5.0, 0.5, 0.5, 1.0, 2.0]).double()})
    weight = 1 - 1 / math.log2(3)
    assert float(noted["lambda"]) == pytest.approx(weight)
    assert float(loss) == pytest.approx(weight * math.log1p(math.exp(0.2)))
    assert float(noted["margin"]) == pytest.approx(-0.2) and float(noted["accuracy"]) == 0.0


def reference(worth, score, hidden, adapt):
    """One list in plain Python: [(loss, lambda)] of its pairs; scores and hidden states of the siblings' own segments."""
    place = {
        i: 1 + sum((score[j], worth[j]) > (score[i], worth[i]) for j in range(len(worth))) for i in range(len(worth))
    }
    made = []
    for i, vi in enumerate(worth):
        for j, vj in enumerate(worth):
            if vi > vj:
                swap = abs(2**vi - 2**vj) * abs(1 / np.log2(1 + place[i]) - 1 / np.log2(1 + place[j]))
                cosine = hidden[i] @ hidden[j] / np.linalg.norm(hidden[i]) / np.linalg.norm(hidden[j])
                margin = (1 + adapt * cosine) * (score[i] - score[j])
                made.append(swap * np.logaddexp(0, -margin))
    return made


@pytest.mark.parametrize("adapt", [0.0, 1.0, -0.5])
def test_lists_of_graded_values_against_plain_python(adapt):
    worths = [[0.25, 1.0, 0.5, 0.75], [0.0, 1.0, 0.5]]
    batch = lists(*worths)
    logp, hidden = noise(batch.S), noise(batch.S, 6)
    loss, _ = list_ranking(0.3, adapt=adapt)(batch, {"logp": logp, "hidden": hidden})
    losses, at = [], 0
    for worth in worths:
        rows = [np.arange(at + 1 + 2 * i, at + 3 + 2 * i) for i in range(len(worth))]
        score = [0.3 * float(logp[r].sum()) for r in rows]
        losses += reference(worth, score, [hidden[r].mean(0).numpy() for r in rows], adapt)
        at += 1 + 2 * len(worth)
    assert len(losses) == 6 + 3
    assert float(loss) == pytest.approx(sum(losses) / 9, rel=1e-6)


def test_without_weights_it_is_dpo_over_all_pairs():
    batch = lists([0.0, 0.5, 1.0], [1.0, 0.0])
    live = {"logp": noise(batch.S)}
    plain, _ = dpo(0.2)(batch, live)
    assert float(list_ranking(0.2, lambdas=False, adapt=0.0)(batch, live)[0]) == pytest.approx(float(plain))


def test_at_the_start_the_better_is_pulled_up_whatever_the_order():
    """All scores are 0: ranked by worth, so that something is learned; and tracks in another order learn the same."""
    grads = {}
    for order in ([0.0, 1.0, 0.5], [0.5, 0.0, 1.0]):
        batch = lists(order)
        logp = torch.zeros(batch.S, requires_grad=True)
        list_ranking(0.1, adapt=0.0)(batch, {"logp": logp})[0].backward()
        grads[tuple(order)] = {v: float(logp.grad[1 + 2 * i]) for i, v in enumerate(order)}
        assert logp.grad[0] == 0.0  # the trunk
    one, other = grads.values()
    assert one == pytest.approx(other) and one[1.0] < 0 < one[0.0]


def margin_of(hidden, adapt):
    """Of two answers 0.2 apart, by hidden states of their steps."""
    logp = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.0], requires_grad=True)
    state = torch.tensor(hidden).requires_grad_()
    loss, noted = list_ranking(0.1, adapt=adapt)(lists([1.0, 0.0]), {"logp": logp, "hidden": state})
    loss.backward()
    assert state.grad is None, "the weight has no gradient"
    return float(noted["margin"])


def test_a_step_weighs_one_and_its_cosine_as_in_the_released_loss():
    """loss.py, line 25: cosine + 1. States alike weigh 2, (3, 4) by (1, 0) 1.6, at right angles 1, opposite 0."""
    trunk, first = [1.0, 1.0], [[1.0, 0.0], [3.0, 0.0]]  # the mean of a step's states is compared
    by_hand = {(5.0, 0.0): 2.0, (3.0, 4.0): 1.6, (0.0, 7.0): 1.0, (-2.0, 0.0): 0.0}
    for other, weight in by_hand.items():
        hidden = [trunk, *first, list(other), list(other)]
        assert margin_of(hidden, 1.0) == pytest.approx(0.2 * weight, abs=1e-6)
        assert margin_of(hidden, -1.0) == pytest.approx(0.2 * (2 - weight), abs=1e-6)  # telling steps weigh more
