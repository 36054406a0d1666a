"""Group-relative advantages against TRL's own lines, run on random rewards."""

from __future__ import annotations

import inspect
import textwrap
from types import SimpleNamespace

import pytest
import torch

from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.credit.baselines import whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import separately

pytestmark = pytest.mark.peers("trl")


def lines(trainer, first, last):
    """A stretch of a trainer's method, from one line to another, as code."""
    text = inspect.getsource(trainer)
    begin, end = text.index(first), text.index(last, text.index(first))
    return textwrap.dedent(text[text.rindex("\n", 0, begin) + 1 : text.index("\n", end)])


def theirs(trainer, first, rewards, weights=(1.0,), **settings):
    import trl
    from trl.trainer.utils import nanstd

    trainer = getattr(trl, trainer)

    tries_of = rewards.shape[1]
    scope = {
        "torch": torch,
        "nanstd": nanstd,
        "device": "cpu",
        "num_generations": tries_of,
        "rewards_per_func": rewards.reshape(-1, rewards.shape[-1]) if rewards.dim() == 3 else rewards.reshape(-1, 1),
        "rewards": rewards.reshape(-1) if rewards.dim() == 2 else None,
        "self": SimpleNamespace(reward_weights=torch.tensor(weights), reward_funcs=list(weights), **settings),
    }
    exec(lines(trainer, first, "advantages = torch.nan_to_num(advantages, nan=0.0)"), scope)
    return scope["advantages"]


def random_rewards(*shape, holes=0.15):
    generator = torch.Generator().manual_seed(11)
    made = torch.randn(*shape, generator=generator)
    made[torch.rand(*shape, generator=generator) < holes] = float("nan")
    return made


def ours(rewards):
    return example_tries([[None if r != r else r for r in group] for group in rewards.tolist()])


@pytest.mark.parametrize("scale", ["group", "none"])
def test_grpo(scale):
    rewards = random_rewards(16, 6)
    settings = {"multi_objective_aggregation": "sum_then_normalize", "scale_rewards": scale}
    want = theirs("GRPOTrainer", "unscorable_mask = torch.isnan", rewards, **settings)
    found = centre(std=scale == "group")(ours(rewards), ExamplePlay())["advantage"].nan_to_num()
    assert torch.allclose(found, want, atol=1e-5)


@pytest.mark.parametrize("normalise", [False, True])
def test_rloo(normalise):
    rewards = random_rewards(16, 6)
    want = theirs("RLOOTrainer", "grouped_rewards = rewards.view", rewards, normalize_advantages=normalise)
    batch = centre(std=False, others=True)(ours(rewards), ExamplePlay())
    batch = whiten(over="track", eps=1e-4)(batch, ExamplePlay()) if normalise else batch
    assert torch.allclose(batch["advantage"].nan_to_num(), want, atol=1e-5)


def test_rewards_normalised_apart():
    """TRL adds 0 for a reward that broke, as we do for one that does not apply."""
    rewards = random_rewards(16, 6, 2)
    settings = {"multi_objective_aggregation": "normalize_then_sum"}
    want = theirs("GRPOTrainer", "unscorable_mask = torch.isnan", rewards, (1.0, 0.3), **settings)
    batch = example_tries([[0.0] * 6] * 16)
    for name, value in zip("ab", rewards.reshape(-1, 2).T.contiguous(), strict=True):
        reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
        batch = batch.with_cols({name: Column("track", value, reason)})
    batch = whiten(over="track", eps=1e-4)(separately(("a", "b"), (1.0, 0.3))(batch, ExamplePlay()), ExamplePlay())
    assert torch.allclose(batch["advantage"].nan_to_num(), want, atol=1e-5)
