"""Hashes of tensors: what they are of, that they are computed once, and that no write goes unseen."""

from __future__ import annotations

import hashlib

import pytest
import torch
from torch import nn

from guerdon.core import tensor_hashes
from guerdon.core.model import weights_hash
from guerdon.core.tensor_hashes import WORDS, chain_hash, frozen_hash, known_chain_hash, sums

SIZES = ((0,), (1,), (7,), (3, 5), (WORDS * 2,), (WORDS * 4 + 3,), (64, 300))
TYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool)


def tensor(size, dtype=torch.float32, seed=0):
    drawn = torch.randn(size, generator=torch.Generator().manual_seed(seed)) * 100
    return drawn.to(dtype)


def net(seed=0):
    made = nn.Sequential(nn.Linear(40, 60), nn.Linear(60, 3))
    with torch.no_grad():
        for n, weight in enumerate(made.parameters()):
            weight.copy_(tensor(weight.shape, seed=seed + n))
    return made


@pytest.fixture
def counted(monkeypatch):
    """The tensors that were hashed, in order; nothing is known from before."""
    monkeypatch.setattr(tensor_hashes, "_known", {})
    plain, seen = tensor_hashes.bytes_of, []

    def bytes_of(each):
        if each.dtype is not torch.int64:  # sums are
            seen.append(tuple(each.shape))
        return plain(each)

    monkeypatch.setattr(tensor_hashes, "bytes_of", bytes_of)
    return seen


def test_the_hash_of_a_net_is_that_of_its_names_types_shapes_and_bytes():
    made, digest = net(), hashlib.sha256()
    for name, each in sorted(made.state_dict().items()):
        digest.update(f"{name}:{each.dtype}:{tuple(each.shape)}".encode())
        digest.update(each.numpy().tobytes())
    assert weights_hash(made) == digest.hexdigest()[:16] == known_chain_hash(made.state_dict())


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sums_follow_from_the_bytes_alone(size, dtype):
    whole = tensor(size, dtype)
    apart = torch.cat([torch.zeros(1).to(dtype), whole.reshape(-1)])[1:].view(size)  # in the middle of other memory
    turned = whole.t().contiguous().t() if whole.dim() == 2 else whole
    assert sums([whole]) == sums([whole.clone()]) == sums([apart]) == sums([turned])
    assert sums([whole]) != sums([whole.reshape(1, *size)]), "the shape counts"


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_sums_see_every_single_write(dtype):
    whole = tensor((WORDS * 3 + 5,), dtype)
    before = sums([whole])
    for at in (0, 1, WORDS, len(whole) // 2, len(whole) - 1):
        changed = whole.clone()
        changed[at] = 1 if not changed[at] else 0
        assert sums([changed]) != before


def test_writes_that_small_factors_would_not_see():
    """What one word gains in threes another loses in ones: 1 x 3 - 3 x 1 = 0."""
    whole = torch.zeros(WORDS, dtype=torch.int64)
    changed = whole.clone()
    changed[0], changed[1] = 3, -1
    assert sums([changed]) != sums([whole])


WRITES = {
    "in place": lambda w: w.mul_(1.5),
    "through .data": lambda w: w.data.mul_(1.5),
    "through numpy": lambda w: w.detach().numpy().__setitem__(0, 7.0),
    "by a new tensor": lambda w: setattr(w, "data", w.data * 1.5),
    "rows change places": lambda w: w.data.copy_(w.data.flip(0)),
    "two neighbours change places": lambda w: w.data[:1, :4].copy_(w.data[:1, :4].roll(2, 1)),
}


@pytest.mark.parametrize("how", WRITES)
def test_no_write_goes_unseen(how):
    made = nn.Linear(1200, 8)
    before, frozen = weights_hash(made), frozen_hash(made.state_dict())
    assert (weights_hash(made), frozen_hash(made.state_dict())) == (before, frozen)
    with torch.no_grad():
        WRITES[how](made.weight)
    assert weights_hash(made) == chain_hash(made.state_dict()) != before
    assert frozen_hash(made.state_dict()) != frozen


def test_of_frozen_tensors_only_sums_are_hashed(counted):
    made = net()
    made[0].requires_grad_(False)
    first = weights_hash(made)
    assert sorted(counted) == [(3,), (3, 60)]
    counted.clear()
    assert weights_hash(made) == first and counted == []
    with torch.no_grad():
        made[1].weight.add_(1.0)
    assert weights_hash(made) != first and sorted(counted) == [(3,), (3, 60)], "only what is trained"


def test_a_frozen_hash_in_another_type():
    held = {"a": tensor((30, 40)), "b": tensor((7,), seed=1)}
    half = {name: each.bfloat16() for name, each in held.items()}
    assert frozen_hash(held, torch.bfloat16) == frozen_hash(half) != frozen_hash(held)
    assert frozen_hash(half, torch.float32) == frozen_hash({name: each.float() for name, each in half.items()})


def test_frozen_weights_count_by_name():
    a, b = tensor((4,)), tensor((4,), seed=1)
    assert frozen_hash({"x": a, "y": b}) != frozen_hash({"x": b, "y": a})
    assert frozen_hash({"x": a, "y": b}) == frozen_hash({"y": b, "x": a})
