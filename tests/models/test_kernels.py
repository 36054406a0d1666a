"""Fused kernels against the same thing written plainly in torch, in float64. On a GPU if there is one, else interpreted."""

from __future__ import annotations

import math
import os
import sys

import pytest
import torch
import torch.nn.functional as F

CUDA = torch.cuda.is_available()
if not CUDA:
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("triton was imported to compile, and there is no GPU", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

from guerdon.models.kernels import paged_attention as attention  # noqa: E402
from guerdon.models.kernels.gate import gated  # noqa: E402
from guerdon.models.kernels.logp import grad_logits_, score_logits  # noqa: E402
from guerdon.models.kernels.norm import add_rms_norm, rms_norm  # noqa: E402
from guerdon.models.kernels.paged_attention import paged_attention  # noqa: E402
from guerdon.models.kernels.rope import rotate, rotate_and_store  # noqa: E402
from guerdon.models.kernels.row_places import note  # noqa: E402
from guerdon.models.kernels.row_places import places as next_places  # noqa: E402
from guerdon.models.kernels.sample import gumbel, sample  # noqa: E402

compiled = pytest.mark.skipif(not CUDA, reason="too slow to interpret, or rounded otherwise")

# numpy, which interprets, warns where a GPU says nothing: of exp(-inf), and of products that Philox lets overflow
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DEVICE = "cuda" if CUDA else "cpu"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16} if CUDA else {"float32": torch.float32}
dtypes = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES.keys())

# A bfloat16 is off by up to 2 ** -9 of its value each time it is rounded, and no kernel rounds a number more than three times
# on its way, which 2 ** -7 covers with room.
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2**-7}


def draw(*shape, dtype=torch.float32, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * scale).to(dtype).to(DEVICE)


def integers(values, dtype):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


def close(got, want):
    """Within what the type of `got` allows, measured by the largest number there is."""
    got, want = got.detach(), want.detach()
    tolerance = TOLERANCE[got.dtype]
    assert got.shape == want.shape
    largest = max(float(want.abs().max()), 1.0) if want.numel() else 1.0
    torch.testing.assert_close(got.double(), want.double(), rtol=tolerance, atol=tolerance * largest)


def check(fused, plain, inputs, dtype):
    """Outputs and gradients of `fused` against `plain` run on the same numbers in float64."""
    narrow = [x.clone().requires_grad_() for x in inputs]
    wide = [x.double().requires_grad_() for x in inputs]
    got, want = fused(*narrow), plain(*wide)
    got, want = (got, want) if isinstance(got, tuple) else ((got,), (want,))
    pulls = [draw(*y.shape, dtype=dtype, seed=90 + i) for i, y in enumerate(got)]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == dtype
        close(g, w)
    torch.autograd.backward(got, pulls)
    torch.autograd.backward(want, [p.double() for p in pulls])
    for n, w in zip(narrow, wide, strict=True):
        close(n.grad, w.grad)


def plain_norm(x, weight, eps, plus_one):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (weight + 1 if plus_one else weight)


# --- norm


@dtypes
@pytest.mark.parametrize("plus_one", [False, True])
@pytest.mark.parametrize("shape", [(5, 576), (1, 7), (37, 33), (3, 1536)])
def test_rms_norm(shape, plus_one, dtype):
    x, weight = draw(*shape, dtype=dtype), draw(shape[1], dtype=dtype, seed=1)
    check(
        lambda a, w: rms_norm(a, w, 1e-5, plus_one), lambda a, w: plain_norm(a, w, 1e-5, plus_one), [x, weight], dtype
    )


@dtypes
@pytest.mark.parametrize("plus_one", [False, True])
@pytest.mark.parametrize("shape", [(4, 576), (9, 33)])
def test_add_rms_norm(shape, plus_one, dtype):
    x, residual = draw(*shape, dtype=dtype), draw(*shape, dtype=dtype, seed=2)
    weight = draw(shape[1], dtype=dtype, seed=1)

    def plain(a, b, w):
        total = a + b + ((x + residual).double() - x.double() - residual.double())  # as rounded: the norm is of that
        return total, plain_norm(total, w, 1e-6, plus_one)

    check(lambda a, b, w: add_rms_norm(a, b, w, 1e-6, plus_one), plain, [x, residual, weight], dtype)


@compiled
def test_rms_norm_rounds_where_hugging_face_rounds():
    x, weight = draw(16, 576, dtype=torch.bfloat16), draw(576, dtype=torch.bfloat16, seed=1)
    wide = x.float()
    unit = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
    llama, gemma = weight * unit.to(torch.bfloat16), (unit * (1 + weight.float())).to(torch.bfloat16)
    # not every one: a reciprocal root that differs in its last bit moves a few products over a rounding edge
    assert (rms_norm(x, weight, 1e-5, False) == llama).float().mean() > 0.99
    assert (rms_norm(x, weight, 1e-5, True) == gemma).float().mean() > 0.99


@compiled
def test_programs_of_the_norm_share_many_rows():
    x, weight = draw(3000, 2100), draw(2100, seed=1)
    check(
        lambda a, w: rms_norm(a, w, 1e-5, False), lambda a, w: plain_norm(a, w, 1e-5, False), [x, weight], torch.float32
    )


def test_a_program_of_the_norm_takes_several_rows_and_a_frozen_weight_gets_no_gradient(monkeypatch):
    monkeypatch.setattr("guerdon.models.kernels.norm.PROGRAMS", 3)
    x, frozen = draw(41, 200).requires_grad_(), draw(200, seed=1)
    pull = draw(41, 200, seed=2)
    weight = frozen.clone().requires_grad_()
    rms_norm(x, weight, 1e-5, False).backward(pull)
    first, x.grad = x.grad, None
    rms_norm(x, frozen, 1e-5, False).backward(pull)
    close(x.grad, first)
    assert frozen.grad is None
    wide = weight.detach().double().requires_grad_()
    plain_norm(x.detach().double(), wide, 1e-5, False).backward(pull.double())
    close(weight.grad, wide.grad)


# --- gate


@dtypes
@pytest.mark.parametrize("kind", ["silu", "gelu_tanh"])
@pytest.mark.parametrize("M, width", [(3, 1536), (4, 5)])
def test_gated(M, width, kind, dtype):
    act = F.silu if kind == "silu" else lambda g: F.gelu(g, approximate="tanh")

    def plain(x):
        return act(x[:, :width]) * x[:, width:]

    check(lambda x: gated(x, kind), plain, [draw(M, 2 * width, dtype=dtype, scale=3.0)], dtype)


def test_gated_refuses_other_activations():
    with pytest.raises(ValueError, match="silu, gelu_tanh"):
        gated(draw(2, 4), "relu")


# --- rope


def angles(P, D):
    turn = torch.arange(P)[:, None] / 100.0 ** (torch.arange(0, D, 2) / D)
    return turn.cos().to(DEVICE), turn.sin().to(DEVICE)


def plain_turn(x, cos, sin):
    """[M, H, D] by [M, D / 2]."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos[:, None].double(), sin[:, None].double()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


@dtypes
@pytest.mark.parametrize("H, D", [(12, 64), (3, 96), (5, 10)])
def test_rotate_a_slice_of_heads(H, D, dtype):
    cos, sin = angles(4, D)
    check(
        lambda x: rotate(x[:, 1:H], cos, sin), lambda x: plain_turn(x[:, 1:H], cos, sin), [draw(4, H, D, dtype=dtype)], dtype
    )  # fmt: skip


def test_rotate_gives_contiguous_heads():
    cos, sin = angles(4, 64)
    qkv = draw(4, 6, 64)
    assert rotate(qkv[:, :3], cos, sin).is_contiguous()
    across = draw(4, 64, 6).transpose(1, 2)
    close(rotate(across, cos, sin), plain_turn(across.double(), cos, sin))


@dtypes
@pytest.mark.parametrize("norms", [(False, False), (True, True), (False, True)])
@pytest.mark.parametrize("plus_one", [False, True])
def test_rotate_and_store(norms, plus_one, dtype):
    h, kv, D, slots = 6, 2, 96, 7
    cos, sin = angles(9, D)
    qkv = draw(3, h + 2 * kv, D, dtype=dtype)
    weights = [draw(D, dtype=dtype, seed=i) if wanted else None for i, wanted in enumerate(norms)]
    position, slot = integers([4, 8, 0], torch.int32), integers([5, -1, 2], torch.int64)
    keys, values = draw(slots, kv, D, dtype=dtype, seed=5), draw(slots, kv, D, dtype=dtype, seed=6)
    keys_before, values_before = keys.clone(), values.clone()
    q = rotate_and_store(qkv, cos, sin, position, keys, values, slot, *weights, 1e-6, plus_one, h, kv)

    parts = [qkv[:, :h].double(), qkv[:, h : h + kv].double()]
    for i, weight in enumerate(weights):
        if weight is not None:
            parts[i] = plain_norm(parts[i], weight.double(), 1e-6, plus_one)
    at = position.long()
    turned_q, turned_k = (plain_turn(part, cos[at], sin[at]) for part in parts)
    close(q[[0, 2]], turned_q[[0, 2]])
    assert not q[1].any()
    close(keys[[5, 2]], turned_k[[0, 2]])
    assert torch.equal(values[[5, 2]], qkv[[0, 2], h + kv :])
    untouched = [0, 1, 3, 4, 6]
    assert torch.equal(keys[untouched], keys_before[untouched])
    assert torch.equal(values[untouched], values_before[untouched])


@pytest.mark.parametrize("norm", [False, True])
def test_a_row_that_stores_nothing_looks_up_no_angle(norm):
    h, kv, D = 2, 1, 32
    tables = angles(5, D)
    for table in tables:
        table[4:] = math.nan  # what lies behind a table of 4 positions
    weight = draw(D, seed=1) if norm else None
    qkv, keys = draw(3, h + 2 * kv, D), draw(4, kv, D, seed=5)
    position, slot = integers([3, 4, 0], torch.int64), integers([1, -1, 2], torch.int64)  # the second is at its end
    cos, sin = (table[:4] for table in tables)
    q = rotate_and_store(qkv, cos, sin, position, keys, keys.clone(), slot, weight, weight, 1e-6, False, h, kv)
    assert not q[1].any() and q[[0, 2]].isfinite().all() and keys.isfinite().all()


def test_rotate_and_store_needs_a_cache_it_can_write():
    cos, sin = angles(3, 32)
    across = draw(2, 4, 32).transpose(0, 1)
    zero = integers([0], torch.int32)
    with pytest.raises(ValueError, match="contiguous"):
        rotate_and_store(draw(1, 6, 32), cos, sin, zero, across, across, zero.long(), None, None, 1e-6, False, 2, 2)


# --- attention


def cache(lengths, kv, D, page, dtype):
    """Keys, values and a page table: pages in scattered order, and NaN in every slot that no token is in."""
    N = max(-(-max(lengths) // page), 1)
    order = torch.randperm(len(lengths) * N, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    table = order.view(len(lengths), N).int()
    slots = len(order) * page
    keys, values = draw(slots, kv, D, dtype=dtype, seed=7), draw(slots, kv, D, dtype=dtype, seed=8)
    empty = torch.ones(slots, dtype=torch.bool, device=DEVICE)
    for row, length in enumerate(lengths):
        empty[places(table[row], length, page)] = False
    keys[empty], values[empty] = math.nan, math.nan
    return keys, values, table


def places(pages, length, page):
    n = torch.arange(length, device=DEVICE)
    return pages.long()[n // page] * page + n % page


def plain_attention(q, keys, values, table, lengths, page, scale, window):
    out = torch.zeros_like(q, dtype=torch.float64)
    group = q.shape[1] // keys.shape[1]
    for row, length in enumerate(lengths):
        slot = places(table[row], length, page)[-window if window else 0 :]
        k, v = (t[slot].double().repeat_interleave(group, dim=1) for t in (keys, values))
        weight = torch.softmax(torch.einsum("hd,nhd->hn", q[row].double(), k) * scale, dim=1)
        out[row] = torch.einsum("hn,nhd->hd", weight, v)
    return out


@dtypes
@pytest.mark.parametrize("span", [256, 64])
@pytest.mark.parametrize("window", [0, 1, 20])
@pytest.mark.parametrize("page", [16, 64, 5])
def test_paged_attention(page, window, span, dtype, monkeypatch):
    monkeypatch.setattr(attention, "SPAN", span)
    lengths, h, kv, D = [0, 1, 15, 16, 17, 64, 65, 130], 6, 2, 64
    keys, values, table = cache(lengths, kv, D, page, dtype)
    q, length = draw(len(lengths), h, D, dtype=dtype), integers(lengths, torch.int32)
    got = paged_attention(q, keys, values, table, length, page, D**-0.5, window, longest=130)
    assert got.dtype == dtype
    close(got, plain_attention(q, keys, values, table, lengths, page, D**-0.5, window))
    assert not got[0].any()


@dtypes
@pytest.mark.parametrize("h, kv, D", [(2, 2, 32), (4, 2, 96), (17, 1, 128), (2, 1, 256)])
def test_paged_attention_of_other_heads(h, kv, D, dtype, monkeypatch):
    monkeypatch.setattr(attention, "SPAN", 64)
    lengths = [3, 70]
    keys, values, table = cache(lengths, kv, D, 32, dtype)
    q, length = draw(2, h, D, dtype=dtype), integers(lengths, torch.int32)
    got = [paged_attention(q, keys, values, table, length, 32, 0.1, 0, longest) for longest in (70, 4000)]
    close(got[0], plain_attention(q, keys, values, table, lengths, 32, 0.1, 0))
    assert torch.equal(got[1], got[0])  # how many splits there are beyond a row's own changes no bit


def test_a_rows_attention_does_not_depend_on_its_neighbours():
    lengths = [130, 7]
    keys, values, table = cache(lengths, 2, 64, 16, torch.float32)
    q, length = draw(2, 6, 64), integers(lengths, torch.int32)
    together = paged_attention(q, keys, values, table, length, 16, 0.125, 0, 130)
    for row in range(2):
        one = slice(row, row + 1)
        alone = paged_attention(q[one], keys, values, table[one], length[one], 16, 0.125, 0, lengths[row])
        assert torch.equal(alone[0], together[row])


def test_paged_attention_needs_a_contiguous_cache():
    across = draw(2, 16, 32).transpose(0, 1)
    with pytest.raises(ValueError, match="contiguous"):
        zero = integers([[0]], torch.int32)
        paged_attention(draw(1, 2, 32), across, across, zero, zero[0], 16, 1.0, 0, 1)


# --- sample

DRAWS = 20_000
TOKENS = 8
ODDS = torch.tensor([1.0, 2.0, 0.0, 4.0, 0.5, 0.1, 3.0, 1.0], dtype=torch.float64)  # and token 2 never


@triton.jit
def make_noise(out, seed, position, start, C: tl.constexpr):
    shift = tl.program_id(0) * C
    tl.store(out + shift + tl.arange(0, C), gumbel(tl.load(seed), tl.load(position), start + shift, C))


def noise(seed, position, start, size):
    out, C = torch.empty(size, device=DEVICE), min(size, 4096)
    make_noise[(size // C,)](out, integers([seed], torch.int64), integers([position], torch.int32), start, C=C)
    return out.cpu()


def settings(B, temperature=1.0):
    """Seeds, positions and temperatures of B rows."""
    seed = torch.arange(B, device=DEVICE) * 7919 - (1 << 40)
    return seed, torch.full((B,), 11, device=DEVICE).int(), torch.full((B,), temperature, device=DEVICE)


def fits(tokens, p):
    """Pearson's test at 1 %, which is 16.81 for the 6 degrees of freedom of 7 tokens; the eighth is never drawn."""
    counts, some = torch.bincount(tokens, minlength=TOKENS).double(), p > 0
    want = p * len(tokens)
    assert counts[~some].sum() == 0
    assert ((counts - want)[some].square() / want[some]).sum() < 16.81


def test_the_noise_is_gumbel_and_picks_tokens_by_their_odds():
    g = noise(seed=12345678901234, position=17, start=0, size=1 << 18)
    assert torch.isfinite(g).all()
    at = torch.exp(
        -torch.exp(-g.double().sort().values)
    )  # the distribution at each number: as even as its rank, if Gumbel
    gap = (at - torch.arange(0.5, len(g), dtype=torch.float64) / len(g)).abs().max()
    assert gap * math.sqrt(len(g)) < 1.63  # Kolmogorov and Smirnov's bound at 1 %
    picks = (g.view(-1, TOKENS)[:DRAWS] + ODDS.log()).argmax(1)
    fits(picks, ODDS / ODDS.sum())


def test_noise_is_a_function_of_seed_position_and_token():
    whole = noise(5, 3, 0, 64)
    assert torch.equal(noise(5, 3, 32, 16), whole[32:48])
    others = [noise(6, 3, 0, 64), noise(5, 4, 0, 64), noise(5 + (1 << 32), 3, 0, 64), noise(-5, 3, 0, 64)]
    assert not any((other == whole).any() for other in others)
    flat = torch.stack([whole, *others]).flatten()
    assert len(flat.unique()) == len(flat)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_sample_is_the_best_of_tempered_logits_and_noise(temperature):
    """So the distribution of draws is that of the test above."""
    logits = draw(4, 50)
    seed, position, heat = settings(4, temperature)
    token, _ = sample(logits, seed, position, heat, splits=1)
    for row in range(4):
        score = logits[row].cpu() / temperature + noise(int(seed[row]), int(position[row]), 0, 64)[:50]
        assert token[row] == score.argmax()


@compiled
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_sample_draws_by_the_odds(temperature):
    logits = ODDS.log().float().to(DEVICE).expand(DRAWS, TOKENS).contiguous()
    token, _ = sample(logits, *settings(DRAWS, temperature), splits=1)
    fits(token.cpu(), torch.softmax(ODDS.log() / temperature, 0))


@dtypes
@pytest.mark.parametrize("V", [1, 3, 9001])
def test_sample_is_the_same_for_any_split_and_batch(V, dtype):
    logits = draw(5, V, dtype=dtype, scale=2.0)
    seed, position, temperature = settings(5, 0.7)
    token, logp = sample(logits, seed, position, temperature, splits=1)
    close(logp, torch.log_softmax(logits.double() / 0.7, 1).gather(1, token[:, None])[:, 0])
    many, many_logp = sample(logits, seed, position, temperature, splits=5)
    assert torch.equal(many, token)
    close(many_logp, logp)
    for row in (1, 4):
        one = slice(row, row + 1)
        alone, alone_logp = sample(logits[one], seed[one], position[one], temperature[one], splits=1)
        assert alone == token[row]
        close(alone_logp, logp[one])
    if V == 9001:
        other, _ = sample(logits, seed, position + 1, temperature, splits=1)
        assert (other != token).any()


def test_temperature_zero_is_the_first_of_the_most_likely():
    logits = draw(4, 9001)
    logits[0, [8500, 40, 4100]] = 9.0
    logits[1, 9000] = 9.0
    logits[2] = -math.inf
    logits[2, 5] = -3.0
    seed, position, temperature = settings(4, 0.0)
    temperature[3] = 1.0
    for splits in (1, 2):
        token, logp = sample(logits, seed, position, temperature, splits=splits)
        assert token[:3].tolist() == [40, 9000, 5]
        assert logp[:3].tolist() == [0.0, 0.0, 0.0] and logp[3] < 0


def test_sample_never_draws_what_is_ruled_out():
    logits = torch.full((3, 9001), -math.inf, device=DEVICE)
    logits[0, 7], logits[1, 8999], logits[2, [3, 5000]] = 0.0, -50.0, 2.0
    token, logp = sample(logits, *settings(3), splits=3)
    assert token[:2].tolist() == [7, 8999] and int(token[2]) in (3, 5000)
    close(logp, torch.tensor([0.0, 0.0, -math.log(2)], device=DEVICE))


# --- logp


def plain_score(logits, target, cool):
    p = torch.log_softmax(logits * cool[:, None], 1)
    return p.gather(1, target[:, None])[:, 0], -(p.exp() * p).sum(1)


@dtypes
@pytest.mark.parametrize("V, entropy", [(9001, True), (9001, False), (5, True)])
def test_score_logits_and_its_gradient(V, entropy, dtype):
    N = 3
    logits, target = draw(N, V, dtype=dtype, scale=3.0), integers([0, V - 1, V // 2], torch.int64)
    cool, logp_grad = torch.tensor([1.0, 0.5, 2.0], device=DEVICE), draw(N, seed=1)
    entropy_grad = draw(N, seed=2) if entropy else None
    wide = logits.double().requires_grad_()
    want = plain_score(wide, target, cool.double())
    lse, logp, H = score_logits(logits, target, cool)
    close(lse, torch.logsumexp(wide * cool[:, None], 1))
    close(logp, want[0])
    close(H, want[1])

    (logp_grad * want[0] + (0.0 if entropy_grad is None else entropy_grad) * want[1]).sum().backward()
    got = grad_logits_(logits, target, cool, lse, logp_grad, entropy_grad, H)
    assert got is logits
    close(got, wide.grad)


def test_ruled_out_tokens_have_no_gradient_and_no_entropy():
    logits = draw(2, 6)
    logits[:, 2:4] = -math.inf
    kept = [0, 1, 4, 5]
    target, cool = integers([0, 5], torch.int64), torch.ones(2, device=DEVICE)
    wide = logits[:, kept].double().requires_grad_()
    want = plain_score(wide, integers([0, 3], torch.int64), cool.double())
    lse, logp, H = score_logits(logits, target, cool)
    close(logp, want[0])
    close(H, want[1])
    (want[0] + want[1]).sum().backward()
    got = grad_logits_(logits, target, cool, lse, torch.ones_like(lse), torch.ones_like(lse), H)
    close(got[:, kept], wide.grad)
    assert not got[:, 2:4].any()


def test_logits_of_a_row_lie_side_by_side():
    with pytest.raises(ValueError, match="side by side"):
        score_logits(draw(6, 2).t(), integers([0, 1], torch.int64), torch.ones(2, device=DEVICE))


# --- bookkeeping of rows


def test_the_next_token_goes_to_the_row_s_own_page_and_a_stopped_row_nowhere():
    position, stop = integers([5, 4, 0, 7], torch.int64), integers([9, 4, 1, 8], torch.int64)
    table = integers([[3, 1, 0], [2, 9, 0], [7, 0, 0], [4, 5, 0]], torch.int32)
    slot, length = next_places(position, stop, table, 4)
    assert slot.tolist() == [1 * 4 + 1, -1, 7 * 4, 5 * 4 + 3]
    assert length.tolist() == [6, 0, 1, 8]


def test_what_was_drawn_is_noted_and_a_stopped_row_stands_still():
    token, logp = integers([8, 6, 7], torch.int64), draw(3)
    tokens, logps = integers([[0] * 4] * 3, torch.int64), draw(3, 4, seed=1)
    others = logps.clone()
    latest, position, stop = (integers(x, torch.int64) for x in ([1, 1, 1, 1], [3, 5, 2, 9], [4, 5, 8, 99]))
    note(token, logp, integers([1], torch.int64), tokens, logps, latest, position, stop)
    assert tokens.tolist() == [[0] * 4, [8, 6, 7, 0], [0] * 4]
    assert torch.equal(logps[1, :3], logp) and torch.equal(logps[0], others[0]) and logps[1, 3] == others[1, 3]
    assert latest.tolist() == [8, 6, 7, 1]
    assert position.tolist() == [4, 5, 3, 9]
