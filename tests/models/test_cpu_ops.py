"""The decoder's operations on a CPU: values and gradients are those of the plain formulas."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import gradcheck

from guerdon.models import cpu_ops
from guerdon.models.attention import Runs
from guerdon.models.cpu_ops import BLOCK, product, silu_gated, turned
from guerdon.models.logit_head import token_scores

CPU = torch.device("cpu")


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def plainly_turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]], dim=-1)


def plainly_gated(gate_up: Tensor) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up


ANGLES = (draw(5, 2, seed=8), draw(5, 2, seed=9))
CASES = {
    "product": (product, torch.matmul, (draw(5, 3), draw(3, 4, seed=1))),
    "with a bias": (product, lambda x, w, b: x @ w + b, (draw(5, 3), draw(3, 4, seed=1), draw(4, seed=2))),
    "gate": (silu_gated, plainly_gated, (draw(5, 6),)),
    "a closed gate": (silu_gated, plainly_gated, (draw(5, 6) * 40,)),
    "rotation": (lambda x: turned(x, *ANGLES), lambda x: plainly_turned(x, *ANGLES), (draw(5, 3, 4),)),
    "rotation of a part": (
        lambda x: turned(x[:, 1:], *ANGLES),
        lambda x: plainly_turned(x[:, 1:], *ANGLES),
        (draw(5, 3, 4),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_formula(name):
    ours, plain, given = CASES[name]
    with torch.no_grad():
        torch.testing.assert_close(ours(*given), plain(*given))
    given = tuple(x.clone().requires_grad_() for x in given)
    torch.testing.assert_close(ours(*given), plain(*given))
    assert gradcheck(ours, given)
    out = draw(*plain(*given).shape, seed=5)
    for a, b in zip(*(torch.autograd.grad(f(*given), given, out) for f in (ours, plain)), strict=True):
        torch.testing.assert_close(a, b)


def test_a_weight_that_is_not_trained_has_no_gradient_and_hands_one_on():
    x, weight = draw(5, 3).requires_grad_(), draw(3, 4, seed=1)
    product(x, weight).sum().backward()
    assert weight.grad is None and torch.allclose(x.grad, weight.sum(1).expand(5, 3))


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("rows", [16, BLOCK - 16, BLOCK, BLOCK + 16, 3 * BLOCK])
@torch.inference_mode()
def test_a_sampled_row_in_bfloat16_does_not_depend_on_the_others(rows, has, monkeypatch):
    monkeypatch.setattr(cpu_ops, "has_bfloat16", lambda: has)
    x, weight, bias = (draw(*shape, dtype=torch.bfloat16) for shape in ((3 * BLOCK, 96), (96, 40), (40,)))
    assert torch.equal(product(x[:rows], weight, bias), product(x, weight, bias)[:rows])
    # eight bits: the sum of 96 products in float32, rounded, and rounded once more with the bias
    want = x.double() @ weight.double() + bias.double()
    torch.testing.assert_close(product(x, weight, bias).double(), want, rtol=2**-7, atol=2**-7 * 96**0.5)


@pytest.mark.parametrize("name", ["product", "with a bias"])
def test_products_of_bfloat16_are_those_of_float32_rounded(name, monkeypatch):
    """With the processor's own instructions or without: each is off by a rounding of its sum, and with a bias by one more."""
    given = CASES[name][2]
    wanted = [x.bfloat16().double().requires_grad_() for x in given]
    want = CASES[name][1](*wanted)
    out = draw(*want.shape, seed=5, dtype=torch.bfloat16)
    want.backward(out.double())
    for has in (True, False):
        monkeypatch.setattr(cpu_ops, "has_bfloat16", lambda has=has: has)
        found = [x.bfloat16().requires_grad_() for x in given]
        made = product(*found)
        made.backward(out)
        assert made.dtype == torch.bfloat16
        for a, b in ((made, want), *((x.grad, y.grad) for x, y in zip(found, wanted, strict=True))):
            torch.testing.assert_close(a.double(), b, rtol=2**-7, atol=2**-6)


def test_attention_in_bfloat16_is_that_of_float32_rounded_once():
    runs = Runs.of([20, 30, 7], [-1, 0, 0], CPU)
    q, k, v = (draw(57, heads, 8, seed=heads, dtype=torch.bfloat16).requires_grad_() for heads in (4, 2, 2))
    seen = runs.attention(q, k, v, 0.3, 0)
    wide = [x.detach().float().requires_grad_() for x in (q, k, v)]
    want = runs.attention(*wide, 0.3, 0)
    assert seen.dtype == torch.bfloat16 and torch.equal(seen, want.bfloat16())
    out = draw(*seen.shape, seed=5, dtype=torch.bfloat16)
    narrow = torch.autograd.grad(seen, (q, k, v), out)
    for a, b in zip(narrow, torch.autograd.grad(want, wide, out.float()), strict=True):
        assert torch.equal(a, b.bfloat16())


STRETCHED = {
    "gate": (silu_gated, (draw(7, 6),)),
    "rotation": (lambda x: turned(x, draw(7, 2, seed=8), draw(7, 2, seed=9)), (draw(7, 3, 4),)),
    "scores": (
        lambda hidden, head: torch.stack(token_scores(hidden, head, torch.arange(7) % 5, draw(7, seed=4).abs() + 0.5)),
        (draw(7, 3), draw(5, 3, seed=1)),
    ),
}


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("numbers", [1, 13, 1 << 16])
@pytest.mark.parametrize("name", STRETCHED)
def test_rows_at_a_time_come_to_the_same(name, numbers, monkeypatch):
    """Values and gradients of operations that take a few rows at a time, of one row, of some and of all."""
    monkeypatch.setattr(cpu_ops, "NUMBERS", numbers)
    ours, given = STRETCHED[name]
    given = tuple(x.clone().requires_grad_() for x in given)
    made = ours(*given)
    assert gradcheck(ours, given)
    monkeypatch.undo()
    torch.testing.assert_close(made, ours(*given))


def test_rows_at_a_time_are_all_rows_once(monkeypatch):
    monkeypatch.setattr(cpu_ops, "NUMBERS", 10)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert cpu_ops.stretches(draw(7, 6)) == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert cpu_ops.stretches(draw(0, 6)) == []
