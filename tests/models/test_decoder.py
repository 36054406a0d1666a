"""The decoder: equal to `transformers`, and the same number whether a token is decoded alone or read with the others."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from small import small_config

from guerdon.core.errors import UserError
from guerdon.models.decoder import Decoder
from guerdon.models.generate import alike, close_ranks
from guerdon.models.huggingface import config_from

SHAPES = {
    "every head its own key": {"kv_heads": 4},
    "grouped": {"kv_heads": 2},
    "one key for all": {"kv_heads": 1},
    "untied": {"tied": False},
    "wide heads": {"head_width": 12},
    "another base": {"rope_theta": 500000.0, "norm_eps": 1e-6},
}


def tokens(shape, seed=0):
    return torch.randint(0, 320, shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_logits_equal_transformers(shape):
    transformers = pytest.importorskip("transformers")
    config = small_config(**shape)
    net = Decoder(config).reset(3, 0.2)
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=config.vocab,
            hidden_size=config.hidden,
            intermediate_size=config.ff,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.kv_heads,
            head_dim=config.head_dim,
            rms_norm_eps=config.norm_eps,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
            tie_word_embeddings=config.tied,
        )
    )
    found = theirs.load_state_dict(net.state_dict(), strict=False)
    assert found.unexpected_keys == []
    assert found.missing_keys == (["lm_head.weight"] if config.tied else [])
    assert config_from(theirs.config.to_dict()) == dataclasses.replace(config, head_width=config.head_dim)
    seen = tokens((3, 17))
    with torch.no_grad():
        torch.testing.assert_close(net.logits(net(seen)), theirs(seen).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@torch.no_grad()
def test_decoding_is_reading(shape):
    """Prompts of different lengths, one shared by two rows, rows dropped on the way, matrices packed."""
    net = Decoder(small_config(**shape)).reset(3, 0.2)
    seen = tokens((3, 12))
    full = net.logits(net(seen))
    lengths, source = [5, 3, 4], [0, 1, 2, 1, 0]
    cache, packed = net.cache(5, 12), net.layer_weights(packed=True)
    net(seen[:, :5], cache=cache.prompts(lengths, range(5), source), weights=packed)
    for step in range(7):
        at = [lengths[s] + step for s in source]
        logits = net.logits(net(seen[source, at][:, None], cache=cache, weights=packed)[:, 0])
        torch.testing.assert_close(logits, full[source, at], atol=1e-5, rtol=1e-5)
        if step in (2, 4):
            kept = close_ranks([2, 3, 4] if step == 2 else [1])
            cache.keep(kept)
            source = [source[i] for i in kept]


def test_padding_on_the_right_changes_nothing_before_it():
    net = Decoder(small_config()).reset(1, 0.2)
    seen = tokens((2, 9))
    torch.testing.assert_close(net(seen)[:, :6], net(seen[:, :6]), atol=1e-6, rtol=1e-6)


def test_positions_can_be_given():
    net = Decoder(small_config()).reset(1, 0.2)
    seen = tokens((2, 9))
    torch.testing.assert_close(net(seen), net(seen, torch.arange(9) + 40), atol=1e-4, rtol=1e-4)  # only distances count
    assert not torch.allclose(net(seen), net(seen, torch.arange(9) * 2), atol=1e-2)


def test_fresh_weights_follow_the_seed():
    one, same, other = (Decoder(small_config()).reset(seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[k], same[k]) for k in one)
    assert not torch.equal(one["model.embed_tokens.weight"], other["model.embed_tokens.weight"])
    assert one["model.layers.0.mlp.up_proj.weight"].std().item() == pytest.approx(0.02, rel=0.1)


def test_the_last_fill_the_holes():
    assert close_ranks([0, 2, 3, 5]) == [0, 5, 2, 3]
    assert close_ranks([4]) == [4]
    assert close_ranks([0, 1]) == [0, 1]


def test_batches_of_similar_length():
    assert alike([3, 9, 1, 8], most=18, slack=256) == [[1, 3], [0, 2]]
    assert alike([500, 100, 90], most=10**6, slack=256) == [[0], [1, 2]]
    assert alike([50], most=10) == [[0]]
    assert alike([], most=10) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM models are not supported; LlamaForCausalLM is"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope_type 'llama3' is not supported"),
        ({"attention_bias": True}, "attention_bias True is not supported"),
        ({"hidden_size": None}, "does not say hidden_size"),
        ({"num_key_value_heads": 3}, "do not go with 3 key heads"),
    ],
)
def test_configs_we_cannot_read_are_refused(change, words):
    good = {
        "architectures": ["LlamaForCausalLM"], "vocab_size": 9, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 8, "rope_theta": 5e5,
    }  # fmt: skip
    assert config_from(good).rope_theta == 5e5
    with pytest.raises(UserError, match=words):
        config_from({**good, **change})
