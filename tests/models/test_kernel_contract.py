"""What every kernel must hold: however its inputs and gradients lie in memory, and even if there are none, it says what plain
torch says of the same numbers in float64, or refuses them in one line. On a GPU if there is one, else interpreted."""

from __future__ import annotations

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
pytest.importorskip("triton")

from guerdon.models.kernels.gate import gated  # noqa: E402
from guerdon.models.kernels.logp import grad_logits_, score_logits  # noqa: E402
from guerdon.models.kernels.matmul import steady_matmul  # noqa: E402
from guerdon.models.kernels.norm import add_rms_norm, rms_norm  # noqa: E402
from guerdon.models.kernels.paged_attention import paged_attention  # noqa: E402
from guerdon.models.kernels.pick import sum_uses  # noqa: E402
from guerdon.models.kernels.rope import rotate, rotate_and_store  # noqa: E402
from guerdon.models.kernels.row_places import note, places  # noqa: E402
from guerdon.models.kernels.sample import sample  # noqa: E402
from guerdon.models.logit_head import token_scores  # noqa: E402

# numpy, which interprets, warns where a GPU says nothing
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DEVICE = "cuda" if CUDA else "cpu"
ROWS = 5


# --- how tensors lie ----------------------------------------------------------------------------------------------------


def contiguous(x):
    return x.contiguous()


def apart(x):
    """Rows side by side each, in a wider tensor, from its second number on: no address is a round one."""
    wide = x.new_zeros(*x.shape[:-1], x.shape[-1] + 3)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


def sliced(x):
    """Every second number along every axis."""
    wide = x.new_zeros([2 * n for n in x.shape])
    every = tuple(slice(None, None, 2) for _ in x.shape)
    wide[every] = x
    return wide[every]


def transposed(x):
    """The first axis runs fastest; a vector is a column."""
    if x.ndim == 1:
        return torch.stack([x, x + 1], 1)[:, 0]
    axes = list(reversed(range(x.ndim)))
    return x.permute(axes).contiguous().permute(axes)


def expanded(x):
    """All rows are the first."""
    return x[:1].expand(x.shape)


def spread(x):
    """All numbers are the first: how the gradient of a sum lies."""
    return x.flatten()[:1].view([1 if n else 0 for n in x.shape]).expand(x.shape)


LAYOUTS = {f.__name__: f for f in (contiguous, apart, sliced, transposed, expanded, spread)}
layouts = pytest.mark.parametrize("lay", LAYOUTS.values(), ids=LAYOUTS.keys())
pulled = pytest.mark.parametrize("pull", LAYOUTS.values(), ids=LAYOUTS.keys())
some_or_none = pytest.mark.parametrize("rows", [ROWS, 0])


def test_the_layouts_are_what_they_say():
    x = torch.arange(24.0).view(4, 6)
    assert {name: f(x).stride() for name, f in LAYOUTS.items()} == {
        "contiguous": (6, 1), "apart": (9, 1), "sliced": (24, 2), "transposed": (1, 4), "expanded": (0, 1),
        "spread": (0, 0),
    }  # fmt: skip
    assert all(torch.equal(f(x), x) for f in (contiguous, apart, sliced, transposed))
    assert [f(x[0]).stride(0) for f in LAYOUTS.values()] == [1, 1, 2, 2, 0, 0]
    assert all(f(x[:0]).shape == (0, 6) for f in LAYOUTS.values())


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def whole(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


def close(got, want):
    torch.testing.assert_close(got.detach().double(), want.detach().double(), rtol=1e-4, atol=1e-5)


# --- kernels with gradients -------------------------------------------------------------------------------------------


def plain_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


def plain_add_norm(x, more, weight):
    return x + more, plain_norm(x + more, weight)


def plain_gate(x):
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def plain_turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


LEARNED = {  # name: (kernel, the same plainly, inputs for so many rows, how many of them have gradients)
    "rms_norm": (
        lambda x, w: rms_norm(x, w, 1e-5, False), plain_norm, lambda n: (draw(n, 33), draw(33, seed=1)), 2,
    ),
    "add_rms_norm": (
        lambda x, more, w: add_rms_norm(x, more, w, 1e-5, False), plain_add_norm,
        lambda n: (draw(n, 33), draw(n, 33, seed=1), draw(33, seed=2)), 3,
    ),
    "gated": (lambda x: gated(x, "silu"), plain_gate, lambda n: (draw(n, 14),), 1),
    "rotate": (rotate, plain_turn, lambda n: (draw(n, 3, 10), draw(n, 5, seed=1), draw(n, 5, seed=2)), 1),
}  # fmt: skip
learned = pytest.mark.parametrize("name", LEARNED)


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@learned
@layouts
@pulled
@some_or_none
def test_outputs_and_gradients_are_those_of_plain_torch(name, lay, pull, rows):
    fused, plain, make, count = LEARNED[name]
    given = [lay(x) for x in make(rows)]
    narrow = [x.detach().requires_grad_(i < count) for i, x in enumerate(given)]
    wide = [x.detach().double().requires_grad_(i < count) for i, x in enumerate(given)]
    got, want = as_tuple(fused(*narrow)), as_tuple(plain(*wide))
    pulls = [pull(draw(*y.shape, seed=90 + i)) for i, y in enumerate(got)]
    torch.autograd.backward(got, pulls)
    torch.autograd.backward(want, [p.double() for p in pulls])
    for g, w in zip(got, want, strict=True):
        close(g, w)
    for n, w in zip(narrow[:count], wide[:count], strict=True):
        close(n.grad, w.grad)


@learned
@layouts
def test_without_gradients_the_outputs_are_the_same(name, lay):
    fused, plain, make, _ = LEARNED[name]
    given = [lay(x) for x in make(ROWS)]
    with torch.no_grad():
        for g, w in zip(as_tuple(fused(*given)), as_tuple(plain(*(x.double() for x in given))), strict=True):
            close(g, w)


@learned
def test_one_output_alone_may_be_learned_from(name):
    fused, plain, make, _ = LEARNED[name]
    for which in range(len(as_tuple(plain(*(x.double() for x in make(ROWS)))))):
        narrow, wide = make(ROWS)[0].requires_grad_(), make(ROWS)[0].double().requires_grad_()
        as_tuple(fused(narrow, *make(ROWS)[1:]))[which].sum().backward()
        as_tuple(plain(wide, *(x.double() for x in make(ROWS)[1:])))[which].sum().backward()
        close(narrow.grad, wide.grad)


# --- log-probs --------------------------------------------------------------------------------------------------------

V = 7


def scored(rows):
    target = torch.arange(rows, device=DEVICE) * 3 % V
    return draw(rows, V), target, draw(rows, seed=1).exp()


def plain_scores(logits, target, cool):
    z = logits * cool[:, None]
    p = torch.log_softmax(z, 1)
    return torch.logsumexp(z, 1), p.gather(1, target[:, None])[:, 0], -(p.exp() * p).sum(1)


@layouts
@some_or_none
def test_score_logits(lay, rows):
    logits, target, cool = (lay(x) for x in scored(rows))
    if rows and lay in (sliced, transposed, spread):
        with pytest.raises(ValueError, match="the logits of a row must lie side by side"):
            score_logits(logits, target, cool)
        logits = contiguous(logits)
    for got, want in zip(
        score_logits(logits, target, cool), plain_scores(logits.double(), target, cool.double()), strict=True
    ):
        close(got, want)


@layouts
@pulled
@some_or_none
@pytest.mark.parametrize("entropy", [True, False])
def test_grad_logits(lay, pull, rows, entropy):
    logits, target, cool = scored(rows)
    target, cool = lay(target), lay(cool)
    logits = logits if lay in (sliced, transposed, spread, expanded) else lay(logits)
    by_logp, by_entropy = pull(draw(rows, seed=3)), pull(draw(rows, seed=4)) if entropy else None
    wide = logits.double().requires_grad_()
    lse, logp, H = plain_scores(wide, target, cool.double())
    (logp * by_logp + (H * by_entropy if entropy else 0.0)).sum().backward()
    stored = [lay(x.detach().float()) for x in (lse, H)]
    if lay in (expanded, spread):  # what was scored is one row's, which the others are not
        stored = [x.detach().float() for x in (lse, H)]
    got = grad_logits_(logits, target, cool, stored[0], by_logp, by_entropy, stored[1])
    assert got is logits
    close(got, wide.grad)


def test_logits_are_not_overwritten_where_rows_share_a_place():
    logits, target, cool = scored(ROWS)
    with pytest.raises(ValueError, match="a place of their own"):
        grad_logits_(expanded(logits), target, cool, cool, cool, None, cool)


def test_vectors_that_are_too_short_are_refused():
    logits, target, cool = scored(ROWS)
    with pytest.raises(ValueError, match=r"target must be of shape \(5,\), not \(4,\)"):
        score_logits(logits, target[1:], cool)


@layouts
@pulled
@some_or_none
def test_the_head_over_the_kernels(lay, pull, rows):
    """On a GPU these are the kernels' gradients, summed into hidden states and head; a second pass says the same."""
    hidden, head = lay(draw(rows, 6)), lay(draw(V, 6, seed=1))
    _, target, heat = (lay(x) for x in scored(rows))
    narrow = [x.detach().requires_grad_() for x in (hidden, head)]
    wide = [x.detach().double().requires_grad_() for x in (hidden, head)]
    got = token_scores(*narrow, target, heat)
    want = plain_scores(wide[0] @ wide[1].t(), target, 1.0 / heat.double())[1:]
    pulls = [pull(draw(rows, seed=3 + i)) for i in range(2)]
    for g, w in zip(got, want, strict=True):
        close(g, w)
    torch.autograd.backward(want, [p.double() for p in pulls])
    for _ in range(2):
        for x, w in zip(torch.autograd.grad(got, narrow, pulls, retain_graph=True), wide, strict=True):
            close(x, w.grad)


def test_the_gradient_of_a_sum_of_log_probs():
    """Which is one number, expanded: read as if it lay side by side, what came after it in memory would be taken for it."""
    hidden, head = draw(300, 6).requires_grad_(), draw(V, 6, seed=1)
    target, heat = torch.zeros(300, dtype=torch.long, device=DEVICE), torch.ones(300, device=DEVICE)
    token_scores(hidden, head, target, heat)[0].sum().backward()
    wide = hidden.detach().double().requires_grad_()
    torch.log_softmax(wide @ head.double().t(), 1)[:, 0].sum().backward()
    close(hidden.grad, wide.grad)


@layouts
@some_or_none
def test_sum_uses(lay, rows):
    """Places of one row after the other: row n has n of them."""
    count = torch.arange(rows, device=DEVICE)
    start = torch.cat([whole(0), count.cumsum(0)])
    places = int(start[-1])
    grad, order = lay(draw(places, 6)), torch.arange(places, device=DEVICE).flip(0)
    order = lay(order) if lay not in (expanded, spread) else order  # of which one number would be no order
    got = sum_uses(grad, order, lay(start) if lay not in (expanded, spread) else start)
    row = torch.repeat_interleave(count)
    close(got, torch.zeros(rows, 6, device=DEVICE).double().index_add_(0, row, grad[order].double()))


# --- decoding ---------------------------------------------------------------------------------------------------------


@layouts
@some_or_none
@pytest.mark.parametrize("biased", [True, False])
def test_steady_matmul(lay, rows, biased):
    x, weight, bias = lay(draw(rows, 20)), lay(draw(20, 18, seed=1)), lay(draw(18, seed=2)) if biased else None
    close(steady_matmul(x, weight, bias), x.double() @ weight.double() + (bias.double() if biased else 0.0))


def test_a_weight_of_another_width_is_refused():
    with pytest.raises(ValueError, match=r"rows of 20 numbers cannot be multiplied with a weight of shape \(18, 20\)"):
        steady_matmul(draw(ROWS, 20), draw(18, 20))


@layouts
@some_or_none
def test_sample(lay, rows):
    logits, seed = lay(draw(rows, 50)), lay(torch.arange(rows, device=DEVICE) * 77 + 5)
    position = lay(torch.arange(rows, device=DEVICE, dtype=torch.int32))
    heat = lay(torch.linspace(0.0, 2.0, rows, device=DEVICE))
    token, logp = sample(logits, seed, position, heat, 2)
    again = sample(*(x.contiguous() for x in (logits, seed, position, heat)), 1)
    assert torch.equal(token, again[0])
    close(logp, again[1])
    greedy = heat == 0
    assert torch.equal(token[greedy], logits[greedy].contiguous().argmax(1))
    want = torch.log_softmax(logits.double() / torch.where(greedy, 1.0, heat.double())[:, None], 1)
    close(logp, torch.where(greedy, 0.0, want.gather(1, token[:, None])[:, 0]))


def turned(rows, h=3, kv=1, D=8):
    qkv, slot = draw(rows, h + 2 * kv, D), torch.arange(rows, device=DEVICE) * 2 - 1  # the first stores nothing
    position = torch.arange(rows, device=DEVICE, dtype=torch.int32) + 1
    return qkv, draw(9, D // 2, seed=1), draw(9, D // 2, seed=2), position, slot, draw(D, seed=3), draw(D, seed=4)


@layouts
@some_or_none
def test_rotate_and_store(lay, rows):
    qkv, cos, sin, position, slot, q_norm, k_norm = (lay(x) for x in turned(rows))
    keys, values = draw(12, 1, 8, seed=5), draw(12, 1, 8, seed=6)
    want_keys, want_values = keys.double(), values.double()
    q = rotate_and_store(qkv, cos, sin, position, keys, values, slot, q_norm, k_norm, 1e-5, False, 3, 1)
    at = position.long()
    normed = [plain_norm(x, w.double()) for x, w in ((qkv[:, :3].double(), q_norm), (qkv[:, 3:4].double(), k_norm))]
    turn_q, turn_k = (plain_turn(x, cos[at].double(), sin[at].double()) for x in normed)
    for row, place in enumerate(slot.tolist()):
        if place >= 0:
            want_keys[place], want_values[place] = turn_k[row], qkv[row, 4:].double()
    close(q, torch.where(slot[:, None, None] >= 0, turn_q, 0.0))
    close(keys, want_keys)
    close(values, want_values)


@layouts
def test_a_cache_is_written_and_read_where_it_lies(lay):
    if lay is contiguous:
        return
    qkv, cos, sin, position, slot, *_ = turned(2)
    keys, values = lay(draw(12, 1, 8)), draw(12, 1, 8)
    table = whole([0], [1], dtype=torch.int32)
    if lay(keys).is_contiguous():
        pytest.skip("as good as contiguous")
    for pair in ((keys, values), (values, keys)):
        with pytest.raises(ValueError, match=r"the cache of .* must be contiguous, not of strides"):
            rotate_and_store(qkv, cos, sin, position, *pair, slot, None, None, 1e-5, False, 3, 1)
        with pytest.raises(ValueError, match=r"the cache of .* must be contiguous, not of strides"):
            paged_attention(qkv[:, :3], *pair, table, position, 4, 0.5, 0, 4)


@layouts
@some_or_none
@pytest.mark.parametrize("longest", [12, 600])  # one program a row, and several whose results are put together
def test_paged_attention(lay, rows, longest):
    h, kv, D, page, pages = 4, 2, 16, 4, 3
    q = lay(draw(rows, h, D))
    table = lay(torch.arange(rows * pages, device=DEVICE, dtype=torch.int32).flip(0).view(rows, pages))
    length = lay(torch.arange(rows, device=DEVICE, dtype=torch.int32) * 2)
    keys, values = (draw(max(rows, 1) * pages * page, kv, D, seed=s) for s in (1, 2))
    got = paged_attention(q, keys, values, table, length, page, 0.3, 0, longest)
    want = torch.zeros(rows, h, D, dtype=torch.float64, device=DEVICE)
    for row, known in enumerate(length.tolist()):
        n = torch.arange(known, device=DEVICE)
        slot = table[row].long()[n // page] * page + n % page
        k, v = (x[slot].double().repeat_interleave(h // kv, 1) for x in (keys, values))
        weight = torch.softmax(torch.einsum("hd,nhd->hn", q[row].double(), k) * 0.3, 1)
        want[row] = torch.einsum("hn,nhd->hd", weight, v)
    close(got, want)


@layouts
@some_or_none
def test_places(lay, rows):
    position, stop = (lay(torch.arange(rows, device=DEVICE) * 2 + more) for more in (0, 1))
    table = lay(torch.arange(rows * 3, device=DEVICE, dtype=torch.int32).flip(0).view(rows, 3))
    slot, length = places(position, stop, table, 4)
    own = table.long().gather(1, position[:, None] // 4)[:, 0] if rows else slot
    assert torch.equal(slot, own * 4 + position % 4) and length.tolist() == (position + 1).tolist()
    still, none = places(position, lay(position.clone()), table, 4)
    assert (still == -1).all() and not none.any()


@layouts
@some_or_none
def test_note(lay, rows):
    token, logp = lay(torch.arange(rows, device=DEVICE) + 40), lay(draw(rows))
    tokens, logps = torch.zeros(3, rows + 2, dtype=torch.int64, device=DEVICE), torch.zeros(3, rows + 2, device=DEVICE)
    latest, position = whole(*range(rows)), whole(*range(rows))
    stop = lay(position + torch.arange(rows, device=DEVICE) % 2)
    goes_on = (position < stop).long()
    note(token, logp, lay(whole(1)), tokens, logps, latest, position, stop)
    assert torch.equal(tokens[1, :rows], token) and torch.equal(logps[1, :rows], logp)
    assert not tokens[::2].any() and not logps[::2].any() and not tokens[1, rows:].any()
    assert torch.equal(latest, token) and torch.equal(position, torch.arange(rows, device=DEVICE) + goes_on)


@layouts
def test_what_note_writes_to_is_refused_unless_it_lies_side_by_side(lay):
    tokens, logps = torch.zeros(3, ROWS, dtype=torch.int64, device=DEVICE), torch.zeros(3, ROWS, device=DEVICE)
    vector, tick = torch.arange(ROWS, device=DEVICE), whole(1)
    written = {"tokens": tokens, "logps": logps, "latest": vector.clone(), "position": vector.clone()}
    for name in written:
        given = {**written, name: lay(written[name])}
        if given[name].is_contiguous():
            continue
        with pytest.raises(ValueError, match=f"{name} must be contiguous, not of strides"):
            note(vector, draw(ROWS), tick, *given.values(), vector)
    with pytest.raises(ValueError, match="a line of 4 tokens does not hold the 5"):
        note(vector, draw(ROWS), tick, tokens[:, 1:].clone(), logps[:, 1:].clone(), vector, vector.clone(), vector)
