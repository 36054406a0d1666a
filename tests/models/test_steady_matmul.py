"""A product whose rows do not know each other: right, and the same to the last bit in any company."""

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

from guerdon.models.kernels import matmul
from guerdon.models.kernels.gate import gated
from guerdon.models.kernels.matmul import FLOAT, HALF, steady_gated, steady_matmul

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LARGE = torch.cuda.is_available()  # interpreted programs cost milliseconds
SHAPES = (
    [(576, 960), (1536, 576), (8192, 2048), (576, 49152), (704, 256), (100, 70)] if LARGE else [(40, 30), (70, 100)]
)
ROWS = [1, 15, 16, 17, 64, 100, 512, 3000] if LARGE else [1, 17, 70]
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16] if LARGE else [torch.float32])


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


@dtypes
@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_is_the_same_in_any_company(shape, dtype):
    K, N = shape
    most = max(ROWS)
    x, weight = draw(most, K, dtype=dtype), draw(K, N, dtype=dtype, seed=1)
    whole = steady_matmul(x, weight)
    right = x.double() @ weight.double()
    limit = 1e-5 if dtype == torch.float32 else 1e-2
    assert float((whole.double() - right).norm() / right.norm()) < limit
    for rows in ROWS:
        assert torch.equal(steady_matmul(x[:rows], weight), whole[:rows])
        assert torch.equal(steady_matmul(x[most - rows :], weight), whole[most - rows :])


@dtypes
def test_layouts_and_bias(dtype):
    x, weight, bias = draw(20, 48, dtype=dtype), draw(48, 33, dtype=dtype, seed=1), draw(33, dtype=dtype, seed=2)
    want = (x.double() @ weight.double() + bias.double()).to(dtype)
    sliced, spread = draw(20, 96, dtype=dtype)[:, ::2], torch.empty(66, device=DEVICE, dtype=dtype)
    sliced.copy_(x)
    spread[::2] = bias
    got = [
        steady_matmul(x, weight, bias),
        steady_matmul(x, weight.t().contiguous().t(), bias),
        steady_matmul(x.t().contiguous().t(), weight, bias),
        steady_matmul(sliced, weight, spread[::2]),
    ]
    for each in got:
        torch.testing.assert_close(each, want, rtol=2e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-4)
        assert torch.equal(each, got[0])
    one = draw(1, 48, dtype=dtype).expand(5, 48)
    assert torch.equal(steady_matmul(one, weight), steady_matmul(one.contiguous(), weight))
    assert steady_matmul(x[:0], weight).shape == (0, 33)


@pytest.mark.skipif(not LARGE, reason="the interpreter adds up in numpy's order")
@dtypes
@pytest.mark.parametrize("lies", ["as it is multiplied with", "transposed"])
@pytest.mark.parametrize("shape", [(576, 960), (8192, 2048), (704, 256), (100, 70)])
def test_no_tile_changes_a_bit(shape, lies, dtype, monkeypatch):
    """Tiles follow from the number of rows, so they must not matter."""
    K, N = shape
    x, weight = draw(300, K, dtype=dtype), draw(K, N, dtype=dtype, seed=1)
    weight = weight if lies != "transposed" else weight.t().contiguous().t()
    spans = matmul.spans_of(K, N, dtype)
    tiles = [tile for _, tile in (FLOAT if dtype == torch.float32 else HALF)]
    tiles = [tile for tile in tiles if tile.columns <= 128 or (lies != "transposed" and spans == 1)]
    tiles += [tile._replace(summed=summed) for tile in tiles for summed in (16, 64) if summed < tile.summed]
    found = []
    for tile in tiles:
        for programs in {1, spans}:
            monkeypatch.setattr(matmul, "tile_of", lambda *_, ways=(tile, programs): ways)
            found.append(steady_matmul(x, weight))
    assert all(torch.equal(each, found[0]) for each in found)


def test_tiles_grow_with_the_rows_and_spans_have_programs_of_their_own_where_tiles_are_few():
    rows = [1, 16, 64, 128, 256, 512, 1024, 4096]
    for dtype in (torch.float32, torch.bfloat16):
        spans = matmul.spans_of(8192, 512, dtype)
        ways = [matmul.tile_of(M, 512, 8192, dtype, False, 1, spans) for M in rows]
        areas = [tile.rows * tile.columns for tile, _ in ways]
        assert areas == sorted(areas) and areas[0] < areas[-1]
        assert ways[0][1] == spans > 1 == ways[-1][1]
    assert matmul.tile_of(512, 70, 24, torch.bfloat16, False, 1)[0][:3] == (64, 32, 32)
    assert matmul.span_of(8192, 4) == 2048 and matmul.span_of(704, 2) == 384 and matmul.span_of(100, 1) == 128


@dtypes
@pytest.mark.parametrize("kind", ["silu", "gelu_tanh"])
def test_a_gate_inside_of_the_product_rounds_as_one_after_it(kind, dtype):
    for rows, K, N in [(300, 576, 1536), (5, 48, 33)] if LARGE else [(17, 40, 30)]:
        x, weight, bias = (
            draw(rows, K, dtype=dtype) / 9,  # gates that the interpreter's exponential holds
            draw(K, 2 * N, dtype=dtype, seed=1),
            draw(2 * N, dtype=dtype, seed=2),
        )
        for with_bias in (None, bias):
            assert torch.equal(
                steady_gated(x, weight, with_bias, kind), gated(steady_matmul(x, weight, with_bias), kind)
            )
    with pytest.raises(ValueError, match="must be of shape"):
        steady_gated(x, weight[:, 1:], None, kind)
