"""Picking rows: the gradient is the sum over the places a row was picked for, and the same every time."""

from __future__ import annotations

import os
import sys

import pytest
import torch

if not torch.cuda.is_available():
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("triton is already imported without its interpreter", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")

from guerdon.core.gradient_passes import exact
from guerdon.models.attention import Pick, Runs
from guerdon.models.kernels.pick import sum_uses

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def uses(index, rows):
    return Pick(torch.tensor(index, device=DEVICE)).uses(rows)


def test_by_hand():
    grad = torch.tensor([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0], [8.0, 80.0]], device=DEVICE)
    got = sum_uses(grad, *uses([2, 0, 2, 2], 4))
    assert got.tolist() == [[2.0, 20.0], [0.0, 0.0], [13.0, 130.0], [0.0, 0.0]]


def test_nothing_comes_back_from_padding():
    grad = torch.tensor([[1.0], [2.0], [4.0], [8.0]], device=DEVICE)
    pick = Pick(torch.tensor([[1, 0], [1, 0]], device=DEVICE), torch.tensor([0, 2], device=DEVICE))
    order, start = pick.uses(2)
    assert order.tolist() == [0, 2] and start.tolist() == [0, 0, 2]
    assert sum_uses(grad, order, start).tolist() == [[0.0], [5.0]]


@pytest.mark.parametrize("layout", ["plain", "expanded", "sliced", "transposed", "empty"])
def test_any_layout(layout):
    places, width, rows = (0 if layout == "empty" else 30), 7, 9
    index = torch.randint(0, rows, (places,), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    grad = torch.randn(max(places, 1) * 2, width, generator=torch.Generator().manual_seed(2)).to(DEVICE)
    grad = {
        "plain": grad[:places],
        "expanded": grad[:1].expand(places, width),
        "sliced": grad[::2][:places],
        "transposed": grad[:places].t().contiguous().t(),
        "empty": grad[:0],
    }[layout]
    want = torch.zeros(rows, width, dtype=torch.float64, device=DEVICE).index_add(0, index, grad.double())
    torch.testing.assert_close(sum_uses(grad, *Pick(index).uses(rows)), want.float())


@pytest.mark.skipif(DEVICE == "cpu", reason="on a CPU torch's own gradient is taken")
def test_the_gradient_is_the_same_every_time_and_right():
    index = torch.randint(0, 500, (40, 1000), device=DEVICE)
    pick, pull = Pick(index), torch.randn(40, 1000, 6, 32, device=DEVICE)
    found = []
    for _ in range(5):
        x = torch.randn(500, 6, 32, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(0)).requires_grad_()
        (pick(x) * pull).sum().backward()
        found.append(x.grad)
    assert all(torch.equal(found[0], other) for other in found)
    want = torch.zeros(500, 6, 32, device=DEVICE, dtype=torch.float64).index_add(
        0, index.flatten(), pull.double().flatten(0, 1)
    )
    torch.testing.assert_close(found[0].double(), want, rtol=1e-5, atol=1e-4)


@pytest.mark.skipif(DEVICE == "cpu", reason="on a CPU torch's own gradient is taken")
@pytest.mark.parametrize("long", [False, True])
def test_leaving_padding_out_changes_no_bit(long):
    """Nothing comes back from padding: the sums with it are the same."""
    lengths = [600, 530, 512] if long else [5, 40, 17, 3, 33] * 6
    parents = [-1] * len(lengths) if long else [-1, 0, 1, 0, -1] * 6
    parents = [p if p < 0 else p + n // 5 * 5 for n, p in enumerate(parents)]
    x = torch.randn(sum(lengths), 12, 32, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(3))
    pull = torch.randn(sum(lengths), 8, 32, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(4))
    gradients = []
    for padded in (False, True):
        runs, leaf = Runs.of(lengths, parents, torch.device(DEVICE)), x.clone().requires_grad_()
        if padded:
            assert runs._back is not None  # the way back is worked out first: it has no padding
            for block in runs._blocks:
                block.query, block.key = Pick(block.query.index), Pick(block.key.index)
        q, k, v = torch.split(leaf, [8, 2, 2], dim=1)
        with exact():
            (runs.attention(q, k, v, 32**-0.5, 0) * pull).sum().backward()
        gradients.append(leaf.grad)
    assert torch.equal(*gradients) and bool(gradients[0].any())
