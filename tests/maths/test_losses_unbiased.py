"""Which policy losses have the gradient of the expected reward, summed over every track of a small tree of choices.

Two choices of three actions each: nine tracks, four situations, a reward for every track. A loss that is linear in the
advantage has its expectation when each track's advantage is multiplied by its chance to be sampled; nothing is drawn.
"""

from __future__ import annotations

import itertools
import statistics

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.losses.policy import clipped, reweighted, truncated

ACTIONS = 3
PATHS = list(itertools.product(range(ACTIONS), repeat=2))


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


REWARD = draw(1, len(PATHS))
HERE, SAMPLER = draw(2, 1 + ACTIONS, ACTIONS), draw(2, 1 + ACTIONS, ACTIONS) + 0.7 * draw(3, 1 + ACTIONS, ACTIONS)


def step_logp(logits):
    """[9, 2] the log-prob of each choice of each track: one situation at first, then one for each first action."""
    table = torch.log_softmax(logits, 1)
    return torch.stack([torch.stack([table[0, a], table[1 + a, b]]) for a, b in PATHS])


def right(logits, reward=REWARD):
    """The gradient of minus the expected reward."""
    logits = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(-(step_logp(logits).sum(1).exp() * reward).sum(), logits)
    return found


def expected(loss, sampler, read=None, logits=HERE, baseline=0.0, reward=REWARD):
    """The expected gradient of a loss whose tracks `sampler` drew, `read` being what the learner read before its update."""
    drawn = step_logp(sampler).detach()
    chance = drawn.sum(1).exp()
    eps = [episode(segment(list(path), logp=drawn[i].numpy()), attempt=i) for i, path in enumerate(PATHS)]
    advantage = (len(PATHS) * chance * (reward - baseline)).repeat_interleave(2)
    batch = pack(eps).with_cols({"advantage": Column.full("step", advantage)})
    if read is not None:
        batch = batch.with_cols({"policy.logp": Column.full("step", step_logp(read).detach().flatten())})
    logits = logits.clone().requires_grad_()
    logp = step_logp(logits).flatten()
    made, _ = loss(batch, {"logp": logp, "entropy": torch.zeros_like(logp)})
    (found,) = torch.autograd.grad(made, logits)
    return found


def bias(found, want):
    return float((found - want).norm() / want.norm())


ONE_TRACK = {"mean": "constant", "constant": 1.0}  # a sum over steps, the mean over tracks: the policy gradient itself


@pytest.mark.parametrize("loss", [clipped(**ONE_TRACK), reweighted(**ONE_TRACK)], ids=str)
@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_on_policy_the_gradient_is_right_with_any_baseline(loss, baseline):
    assert bias(expected(loss, HERE, baseline=baseline), right(HERE)) < 1e-6  # log-probs are kept in float32


@pytest.mark.parametrize("mean", ["step", "track"])
def test_on_policy_means_scale_it_where_tracks_are_equally_long(mean):
    assert bias(2 * expected(clipped(mean=mean), HERE), right(HERE)) < 1e-6


def test_on_policy_a_tracks_ratio_is_right_up_to_its_length():
    assert bias(2 * expected(clipped(ratio="track"), HERE), right(HERE)) < 1e-6


def test_with_the_whole_tracks_weight_another_sampler_changes_nothing():
    loss = reweighted(old=truncated(1e9, level="track"), **ONE_TRACK)
    assert bias(expected(loss, SAMPLER, read=HERE), right(HERE)) < 1e-6


@pytest.mark.parametrize(
    ("loss", "size"),
    [
        (reweighted(high=1e9, **ONE_TRACK), 0.35),  # each step's own ratio: what came before it is not corrected
        (reweighted(old=truncated(1e9), **ONE_TRACK), 0.35),
        (reweighted(low=0.0, high=0.0, **ONE_TRACK), 0.59),  # not corrected at all
        (clipped(**ONE_TRACK), 0.74),  # where the clip bites a step pulls no more
    ],
    ids=str,
)
@pytest.mark.slow
def test_how_biased_the_others_are_with_another_sampler(loss, size):
    """The median over 100 samplers whose logits are off by a normal draw times 0.7."""
    found = []
    for seed in range(100):
        here, reward = draw(1000 + seed, 1 + ACTIONS, ACTIONS), draw(5000 + seed, len(PATHS))
        sampler = here + 0.7 * draw(3000 + seed, 1 + ACTIONS, ACTIONS)
        read = here if loss.old is not None else None
        found.append(bias(expected(loss, sampler, read, here, reward=reward), right(here, reward)))
    assert statistics.median(found) == pytest.approx(size, abs=0.01)
