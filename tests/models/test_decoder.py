"""The decoder: a token gets the same number wherever it stands in the row. That it equals `transformers`: test_families."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from small import small_config
from tolerances import LM_TERMS, assert_rounded, decoder_terms

from guerdon.models.attention import Runs
from guerdon.models.config import Rope
from guerdon.models.decoder import Decoder

CPU = torch.device("cpu")
SHAPES = {
    "every head its own key": {"kv_heads": 4},
    "grouped": {"kv_heads": 2},
    "one key for all": {"kv_heads": 1},
    "untied": {"tied": False},
    "wide heads": {"head_width": 12},
    "another base": {"rope": Rope(500000.0), "norm_eps": 1e-6},
    "biases": {"qkv_bias": True, "out_bias": True, "mlp_bias": True},
    "qk-norm": {"qk_norm": True},
    "a window": {"window": 4, "windowed": (True, False)},
    "as Gemma": {
        "window": 4, "windowed": (True, False), "window_rope": Rope(100.0), "qk_norm": True, "after_norms": True,
        "norm_plus_one": True, "gate": "gelu_tanh", "embed_scale": 5.0, "attention_scale": 0.2,
    },
}  # fmt: skip


def tokens(count, seed=0):
    return torch.randint(0, 320, (count,), generator=torch.Generator().manual_seed(seed))


def net_of(shape, seed=3):
    """With norms and biases away from where they start, so that each of them counts."""
    net = Decoder(small_config(**shape)).reset(seed, 0.2)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in net.parameters():
            if weight.ndim == 1:
                weight += 0.2 * torch.randn(weight.shape, generator=generator)
    return net


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@torch.no_grad()
def test_what_follows_a_shared_start_is_read_as_if_it_stood_alone(shape):
    """A trunk of 9 tokens, two branches on it, a twig on the second, and a stranger."""
    net = net_of(shape)
    trunk, left, right, twig, other = (tokens(n, n) for n in (9, 5, 7, 3, 11))
    row = torch.cat([trunk, left, right, twig, other])
    found = net(row, Runs.of([9, 5, 7, 3, 11], [-1, 0, 0, 2, -1], CPU)).split([9, 5, 7, 3, 11])
    for path, last in [
        ((trunk,), 0),
        ((trunk, left), 1),
        ((trunk, right), 2),
        ((trunk, right, twig), 3),
        ((other,), 4),
    ]:
        whole = torch.cat(path)
        alone = net(whole, Runs.apart([len(whole)], CPU))
        assert_rounded(found[last], alone[-len(path[-1]) :], LM_TERMS)


@torch.no_grad()
def test_runs_of_all_lengths_do_not_see_each_other():
    net = net_of({})
    lengths = [1, 40, 3, 17, 16, 700, 2, 33]
    parts = [tokens(n, i) for i, n in enumerate(lengths)]
    found = net(torch.cat(parts), Runs.apart(lengths, CPU)).split(lengths)
    for part, seen in zip(parts, found, strict=True):
        assert_rounded(seen, net(part, Runs.apart([len(part)], CPU)), decoder_terms(net.config, len(part)))


@torch.no_grad()
def test_a_window_ends_what_is_seen():
    """Two layers that see 4 tokens each: the seventh token back is out of reach of the last."""
    net = net_of({"window": 4, "windowed": (True, True)})
    row = tokens(12)
    last = net(row, Runs.apart([12], CPU))[-1]
    for back, reached in [(7, False), (6, True)]:
        other = row.clone()
        other[-1 - back] = (other[-1 - back] + 1) % 320
        assert torch.equal(net(other, Runs.apart([12], CPU))[-1], last) is not reached


class Later(Runs):
    """The same runs, forty positions further on."""

    @property
    def position(self):
        return super().position + 40


@torch.no_grad()
def test_only_distances_count():
    net = net_of({})
    row = tokens(9)
    here, there = (net(row, runs.apart([9], CPU)) for runs in (Runs, Later))
    torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)


def test_computing_a_layer_again_gives_the_same_gradient():
    net, row = net_of(SHAPES["as Gemma"]), tokens(20)
    grads = []
    for net.recompute in (False, True):
        net.zero_grad()
        net.logits(net(row, Runs.of([12, 8], [-1, 0], CPU))).square().mean().backward()
        grads.append({name: weight.grad.clone() for name, weight in net.named_parameters()})
    assert all(torch.equal(grads[0][name], grads[1][name]) for name in grads[0])


def test_fresh_weights_follow_the_seed():
    one, same, other = (Decoder(small_config()).reset(seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[k], same[k]) for k in one)
    assert not torch.equal(one["embed"], other["embed"])
    assert one["layers.0.gate_up"].std().item() == pytest.approx(0.02, rel=0.1)
    assert (one["norm"] == 1).all()


def test_fresh_norms_change_nothing():
    """Whichever way a family writes a norm of one."""
    net = Decoder(small_config(norm_plus_one=True, qkv_bias=True)).reset(0)
    assert (net.norm == 0).all() and (net.blocks[0].qkv_bias == 0).all()


def test_layers_know_their_window_and_positions():
    config = small_config(layers=3, window=8, windowed=(True, False, True), window_rope=Rope(5.0))
    assert [config.window_of(i) for i in range(3)] == [8, 0, 8]
    assert [config.rope_of(i).theta for i in range(3)] == [5.0, 10000.0, 5.0]
    assert dataclasses.replace(config, window_rope=None).rope_of(0).theta == 10000.0


def test_a_run_sees_what_the_runs_before_it_saw_and_had():
    lengths, parents = [4, 2, 3, 1, 2, 5], [-1, 0, 0, 2, 3, -1]
    runs = Runs.of(lengths, parents, CPU)
    start = [sum(lengths[:r]) for r in range(6)]

    def seen(r):
        before = seen(parents[r]) if parents[r] >= 0 else []
        return [*before, *range(start[r], start[r] + lengths[r])]

    for chosen in ([0], [4, 1, 5], [3, 3], list(range(6))):
        assert runs.keys(np.array(chosen)).tolist() == [place for r in chosen for place in seen(r)]
    assert runs.before.tolist() == [len(seen(r)) - lengths[r] for r in range(6)]
