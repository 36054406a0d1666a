"""Decoding on a CPU reads the keys of a prompt once for all its tries: what rows see is what attention over all of it gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small import small_config, small_lm
from tolerances import assert_rounded

from guerdon.core.model import Request
from guerdon.core.task import Sampling
from guerdon.engine import answer
from guerdon.engine.cpu import RowCache
from guerdon.engine.decoding import Prompt
from guerdon.models.decoder import Decoder

ROWS, TOKENS = 7, 5  # rows of a cache, and tokens that each says


class Turned:
    """Queries, keys and values as they are given, side by side."""

    def __init__(self, heads, kv):
        self.parts = [heads, kv, kv]

    def __call__(self, qkv):
        return torch.split(qkv, self.parts, dim=1)


@pytest.fixture
def cache():
    torch.manual_seed(0)
    made = RowCache(Decoder(small_config(), torch.float64))
    made.reserve(ROWS, 40)
    return made


def begun(cache, prompts):
    """Keys and values [T, kv, D] of every row after prompts were put into it, all of layer 0."""
    _, _, kv, _, D = cache.keys.shape
    seen = {}
    for prompt in prompts:
        k, v = torch.randn(2, len(prompt.tokens), kv, D, dtype=torch.float64)
        trunk = cache.begin(prompt)
        if trunk >= 0:
            cache.trunk.put(0, trunk, k, v)
        else:
            for row in prompt.rows:
                cache.keys[0, row, :, : len(k)], cache.values[0, row, :, : len(k)] = (
                    k.transpose(0, 1),
                    v.transpose(0, 1),
                )
        seen |= dict.fromkeys(prompt.rows, (k, v))
    return seen


def said(cache, seen):
    """One token more in every row: what came of it, and what a plain softmax over all keys gives."""
    _, _, kv, _, D = cache.keys.shape
    h, B = 2 * kv, cache.extend(ROWS).rows
    qkv = torch.randn(B, h + 2 * kv, D, dtype=torch.float64)
    found = cache.attend(0, qkv, Turned(h, kv), 0.3, 0)
    cache.length[:ROWS] += 1
    for row in range(ROWS):
        q, k, v = torch.split(qkv[row], [h, kv, kv])
        keys, values = seen[row] = tuple(
            torch.cat([old, new[None]]) for old, new in zip(seen[row], (k, v), strict=True)
        )
        keys, values = (each.repeat_interleave(2, dim=1) for each in (keys, values))
        share = torch.softmax(0.3 * torch.einsum("hd,thd->ht", q, keys), dim=1)
        assert_rounded(found[row], torch.einsum("ht,thd->hd", share, values), terms=D + 3 * len(keys))


def test_what_a_row_sees_is_a_softmax_over_its_prompt_and_its_own(cache):
    seen = begun(cache, [Prompt([1] * 9, [0, 1, 2]), Prompt([2] * 20, [3]), Prompt([3] * 4, [4, 5], goes_on=True)])
    seen |= begun(cache, [Prompt([4] * 17, [6])])
    assert cache.of[:ROWS].tolist() == [0, 0, 0, 1, -1, -1, 2], "a later turn has no trunk"
    for _ in range(TOKENS):
        said(cache, seen)
    cache.swap(1, 5)
    seen[1], seen[5] = seen[5], seen[1]
    cache.settle(0)  # a next turn goes on in it
    assert cache.of[0] == -1 and cache.shared[0] == 0
    for _ in range(TOKENS):
        said(cache, seen)
    seen |= begun(cache, [Prompt([5] * 30, [3])])
    assert cache.of[3] == 1, "the place of a trunk that nobody follows any more is taken again"
    for _ in range(TOKENS):
        said(cache, seen)


def test_a_settled_past_is_copied_to_branches(cache):
    seen = begun(cache, [Prompt([1] * 9, list(range(ROWS)))])
    said(cache, seen)
    cache.begin(Prompt([2], [0, 1], past=10, after=0, goes_on=True))
    assert cache.of[:3].tolist() == [-1, -1, 0]
    keys = seen[0][0].transpose(0, 1)
    for row in (0, 1):
        assert torch.equal(cache.keys[0, row, :, :10], keys)


@pytest.mark.sampled(1, "tries")
@pytest.mark.parametrize("tries", [1, 3, 17])
def test_tries_at_a_prompt_are_what_each_is_alone(tries, tmp_path):
    model = small_lm(tmp_path)
    requests = [Request((), words, Sampling(max_tokens=9), n) for words in ("the sum of", "x") for n in range(tries)]
    together = answer(model, requests)
    for request, reply in zip(requests[:: max(1, tries - 1)], together[:: max(1, tries - 1)], strict=True):
        alone = answer(model, [request])[0]
        np.testing.assert_array_equal(alone.actions, reply.actions)
        np.testing.assert_array_equal(alone.logp, reply.logp)
