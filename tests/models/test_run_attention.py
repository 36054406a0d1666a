"""Float32 attention over runs, with gradients: right for any tree, the same to the last bit in any company."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import torch
from tolerances import assert_rounded

if not torch.cuda.is_available():
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("triton is already imported without its interpreter", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")

from guerdon.models.attention import Runs
from guerdon.models.kernels.run_attention import run_attention

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TREES = {
    "alone": ([5], [-1], 0),
    "a tile and one": ([33], [-1], 0),
    "apart": ([3, 40, 1], [-1, -1, -1], 0),
    "tries": ([35, 7, 40, 1], [-1, 0, 0, 0], 0),
    "deep, out of order": ([4, 3, 34, 2, 5, 6], [-1, -1, 0, 1, 2, 0], 0),
    "after what is known": ([36, 2, 5, 3, 7], [-1, -1, 0, 1, -1], 2),
    "empty runs": ([4, 0, 3], [-1, 0, 1], 0),
}


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def sees(length, parent, silent, window):
    """[F, T] token by token, by walking up."""
    run = np.repeat(np.arange(len(length)), length)
    start = np.cumsum(length) - length
    before = {}
    for r, p in enumerate(parent):
        before[r] = 0 if p < 0 else before[p] + length[p]
    position = [before[r] + t - start[r] for t, r in enumerate(run)]
    line = {}
    for r, p in enumerate(parent):
        line[r] = {r} | (line[p] if p >= 0 else set())
    known = sum(length[:silent])
    return torch.tensor(
        [
            [run[b] in line[run[a]] and 0 <= position[a] - position[b] < (window or 10**9) for b in range(len(run))]
            for a in range(known, len(run))
        ]
    )


def plain(q, k, v, visible, scale):
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    score = torch.einsum("fhd,thd->hft", q, k) * scale
    p = score.masked_fill(~visible, float("-inf")).softmax(-1)
    return torch.einsum("hft,thd->fhd", p, v)


@pytest.mark.parametrize("window", [0, 1, 6])
@pytest.mark.parametrize("h, kv, D", [(4, 2, 8), (3, 3, 20), (2, 1, 32)])
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_what_is_seen_and_its_gradients_are_those_of_a_mask(tree, h, kv, D, window):
    length, parent, silent = tree
    T = sum(length)
    F = T - sum(length[:silent])
    q, k, v, g = draw(F, h, D), draw(T, kv, D, seed=1), draw(T, kv, D, seed=2), draw(F, h, D, seed=3)
    exact = [x.double().cpu().requires_grad_() for x in (q, k, v)]
    want = plain(*exact, sees(length, parent, silent, window), 0.3)
    want.backward(g.double().cpu())
    given = [x.clone().requires_grad_() for x in (q, k, v)]
    got = run_attention(*given, Runs.of(length, parent, DEVICE, silent).seen, 0.3, window)
    got.backward(g)
    terms = T * D * h // kv
    assert_rounded(got.cpu(), want.float(), terms)
    for mine, right in zip(given, exact, strict=True):
        assert_rounded(mine.grad.cpu(), right.grad.float(), terms)


def test_neither_company_nor_layout_changes_a_bit():
    q, k, v, g = draw(47, 4, 16), draw(47, 2, 16, seed=1), draw(47, 2, 16, seed=2), draw(47, 4, 16, seed=3)
    runs, tries = Runs.of([35, 7, 5], [-1, 0, 0], DEVICE), Runs.of([35, 7], [-1, 0], DEVICE)

    def both(runs, n, q, k, v):
        given = [x[:n].detach().requires_grad_() for x in (q, k, v)]
        out = run_attention(*given, runs.seen, 0.25, 0)
        out.backward(g[:n])
        return out, given[0].grad

    whole, some = both(runs, 47, q, k, v), both(tries, 42, q, k, v)
    assert all(torch.equal(a[:42], b) for a, b in zip(whole, some, strict=True))
    spread = [torch.empty(47, x.shape[1], 32, device=DEVICE)[..., ::2].copy_(x) for x in (q, k, v)]
    assert torch.equal(both(runs, 47, *spread)[0], whole[0])


def test_shapes_that_do_not_belong_together_are_refused():
    q, k = draw(5, 4, 16), draw(6, 2, 16)
    with pytest.raises(ValueError, match="cannot see keys"):
        run_attention(q, k, k, Runs.apart([5], DEVICE).seen, 1.0, 0)
