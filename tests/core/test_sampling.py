"""From logits to choices: what is kept, how likely it is, and that draws follow it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from guerdon.core.task import Sampling
from guerdon.models.sampling import choose, distribution

PROBS = [0.1, 0.4, 0.05, 0.3, 0.15]


def kept(how, probs=PROBS):
    return distribution(torch.tensor([probs]).log(), [how]).exp()[0].tolist()


@pytest.mark.parametrize(
    ("how", "want"),
    [
        (Sampling(), PROBS),
        (Sampling(temperature=0.0), [0, 1, 0, 0, 0]),
        (Sampling(top_k=2), [0, 4 / 7, 0, 3 / 7, 0]),
        (Sampling(top_k=1), [0, 1, 0, 0, 0]),
        (Sampling(top_k=99), PROBS),
        (Sampling(top_p=0.6), [0, 4 / 7, 0, 3 / 7, 0]),
        (Sampling(top_p=0.75), [0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85]),
        (Sampling(top_p=0.01), [0, 1, 0, 0, 0]),
        (Sampling(min_p=0.3), [0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85]),
        (Sampling(min_p=1.0), [0, 1, 0, 0, 0]),
        (Sampling(top_k=3, min_p=0.5), [0, 4 / 7, 0, 3 / 7, 0]),
        (Sampling(temperature=0.5), [p * p / sum(q * q for q in PROBS) for p in PROBS]),
    ],
)
def test_what_is_kept_by_hand(how, want):
    assert kept(how) == pytest.approx(want, abs=1e-6)


def test_greedy_takes_the_first_of_equals():
    assert kept(Sampling(temperature=0.0), [0.2, 0.4, 0.4]) == [0, 1, 0]


def test_each_row_is_sampled_its_own_way():
    rows = torch.tensor([PROBS] * 3).log()
    found = distribution(rows, [Sampling(), Sampling(top_k=1), Sampling(temperature=2.0)])
    for row, how in zip(found, [Sampling(), Sampling(top_k=1), Sampling(temperature=2.0)], strict=True):
        assert torch.equal(row, distribution(rows[:1], [how])[0])


@given(st.integers(0, 999), st.integers(0, 6), st.floats(0.05, 1.0), st.floats(0.0, 1.0))
def test_what_is_left_is_a_distribution_that_keeps_the_best(seed, top_k, top_p, min_p):
    logits = torch.randn(1, 6, generator=torch.Generator().manual_seed(seed))
    found = distribution(logits, [Sampling(top_k=top_k, top_p=top_p, min_p=min_p)])[0]
    assert float(found.exp().sum()) == pytest.approx(1.0, abs=1e-5)
    assert found.argmax() == logits.argmax()
    left = ~torch.isinf(found)
    ratio = (found - logits[0])[left]
    assert torch.allclose(ratio, ratio[0].expand_as(ratio), atol=1e-5), "what is kept keeps its proportions"
    assert logits[0][left].min() >= logits[0][~left].max() if bool((~left).any()) else True


def test_the_choice_is_where_the_number_falls():
    logp = torch.tensor([[0.25, 0.5, 0.25]] * 6).log()
    assert choose(logp, [0.0, 0.2, 0.26, 0.74, 0.76, 0.9999999]).tolist() == [0, 0, 1, 1, 2, 2]


def test_what_has_no_chance_is_never_chosen():
    logp = torch.tensor([[-math.inf, 0.0, -math.inf]] * 4)
    assert choose(logp, [0.0, 0.5, 1 - 2**-53, 0.999]).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("how", [Sampling(), Sampling(temperature=0.7), Sampling(top_k=3), Sampling(top_p=0.8)])
def test_frequencies_follow_the_probabilities(how):
    draws = 20_000
    logits = torch.tensor([PROBS]).log().expand(draws, -1)
    logp = distribution(logits[:1], [how]).expand(draws, -1)
    numbers = np.random.default_rng(11).random(draws).tolist()
    counts = np.bincount(choose(logp, numbers).numpy(), minlength=5)
    expected = logp[0].double().exp().numpy()
    possible = expected > 0
    assert counts[~possible].sum() == 0
    share = expected[possible] / expected[possible].sum()
    assert chisquare(counts[possible], share * draws).pvalue > 0.001
