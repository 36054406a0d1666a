"""Optimisers: the same bits as torch's own, state and all, without torch's compiler."""

from __future__ import annotations

import copy

import pytest
import torch
from started import modules_after
from torch import Tensor, nn

import guerdon as gd

ADAMW = gd.adam(beta1=0.8, beta2=0.95, eps=1e-6, weight_decay=0.1)
PAIRS = {
    "adam": (
        ADAMW,
        lambda w: torch.optim.AdamW(w, lr=0.0, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, fused=True),
    ),
    "sgd": (gd.sgd(), lambda w: torch.optim.SGD(w, lr=0.0)),
    "momentum": (gd.sgd(momentum=0.9), lambda w: torch.optim.SGD(w, lr=0.0, momentum=0.9)),
}


def fresh() -> list[nn.Parameter]:
    dice = torch.Generator().manual_seed(3)
    return [nn.Parameter(torch.randn(shape, generator=dice)) for shape in ((7, 33), (129,), (2, 3, 5))]


def step(optimiser: torch.optim.Optimizer, weights: list[nn.Parameter], n: int) -> None:
    """One step by gradients that depend on n alone; the last weight has none at odd steps."""
    dice = torch.Generator().manual_seed(100 + n)
    optimiser.zero_grad()
    for i, weight in enumerate(weights):
        gradient = torch.randn(weight.shape, generator=dice)
        if n % 2 == 0 or i < len(weights) - 1:
            weight.grad = gradient
    for group in optimiser.param_groups:
        group["lr"] = 0.1 / (n + 1)
    optimiser.step()


def bits(optimiser: torch.optim.Optimizer, weights: list[nn.Parameter]) -> list[Tensor]:
    state = optimiser.state_dict()["state"]
    kept = [value for number in sorted(state) for _, value in sorted(state[number].items()) if value is not None]
    return [*(w.detach() for w in weights), *kept]


@pytest.mark.parametrize("name", PAIRS)
def test_every_step_has_the_bits_of_torchs_own(name):
    part, make = PAIRS[name]
    ours, theirs = fresh(), fresh()
    mine, torchs = part.build(ours), make(theirs)
    for n in range(5):
        step(mine, ours, n)
        step(torchs, theirs, n)
        pairs = list(zip(bits(mine, ours), bits(torchs, theirs), strict=True))
        assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in pairs)
    assert mine.state_dict()["param_groups"] == torchs.state_dict()["param_groups"]


@pytest.mark.parametrize("name", PAIRS)
def test_a_state_of_torchs_is_gone_on_from_with_the_same_bits(name):
    part, make = PAIRS[name]
    ours, theirs = fresh(), fresh()
    torchs = make(theirs)
    for n in range(3):
        step(torchs, theirs, n)
    mine = part.build(ours)
    mine.load_state_dict(copy.deepcopy(torchs.state_dict()))  # it would else be shared
    with torch.no_grad():
        for a, b in zip(ours, theirs, strict=True):
            a.copy_(b)
    for n in range(3, 6):
        step(mine, ours, n)
        step(torchs, theirs, n)
    assert all(torch.equal(a, b) for a, b in zip(bits(mine, ours), bits(torchs, theirs), strict=True))


@pytest.mark.slow
def test_a_training_does_not_import_torchs_compiler(tmp_path):
    words = "train grpo --task successor --model tabular --steps 2 --eval-tasks 0 --set prompts=2 --set tries=4"
    imported = modules_after(words.split(), tmp_path)
    assert "torch.optim" in imported and "torch._dynamo" not in imported
