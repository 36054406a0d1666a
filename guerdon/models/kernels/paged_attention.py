"""Attention of one new token a row over its cached keys and values, which lie scattered in pages.

A row costs what its own length costs, and its result depends on no other row, to the last bit:
it is split every `SPAN` tokens, whatever the others are.
Leaves out: attention over whole prompts, who owns which page.

Axes: B rows, h query heads, kv key heads, D width of a head, N pages of a row, S splits.
In the kernels G is the padded number of queries that share a key head and C the power of two that holds D.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.jit import in_place, kernel, laid, power_of_two

SPAN = 1024  # tokens of a row that one program looks at; a multiple of those it reads at a time
BLOCK = 32  # tokens that a program reads at a time
MERGED = 16  # splits that are put together at a time
PLAIN = (
    8  # queries of a key head, at most, that float32 is multiplied for one by one: it has no tensor cores to pad for
)


def paged_attention(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    table: Tensor,
    length: Tensor,
    page: int,
    scale: float,
    window: int,
    longest: int,
) -> Tensor:
    """What each row's newest token, q [B, h, D], sees: [B, h, D]. A row of length 0 gets zeros.

    Row b's token n is at slot table[b, n // page] * page + n % page of keys and values [slots, kv, D], for n < length[b];
    the newest is the last. With a window a token sees itself and window - 1 before it; 0 is no window. No row has more than
    `longest` tokens, which changes no result. The cache must be contiguous; all else may lie in any way.
    """
    B, h, D = q.shape
    slots, kv, splits = len(keys), keys.shape[1], max(1, -(-longest // SPAN))
    q, table, length = q.contiguous(), laid("table", table, B, table.shape[1]), laid("length", length, B)
    in_place("the cache of keys", keys, slots, kv, D)
    in_place("the cache of values", values, slots, kv, D)
    out = torch.empty_like(q)
    partial = out if splits == 1 else torch.empty((B, h, splits, D), dtype=torch.float32, device=q.device)
    lse = torch.empty((B, h, splits) if splits > 1 else (0,), dtype=torch.float32, device=q.device)
    C, G = max(16, power_of_two(D)), power_of_two(h // kv)  # 16 is the least that tensor cores sum over
    dot = q.dtype != torch.float32 or G > PLAIN
    _attend[(B, kv, splits)](
        q, keys, values, table, length, out, partial, lse, table.shape[1], scale * 1.4426950408889634, window, kv, splits,
        GROUP=h // kv, G=max(16, G) if dot else G, D=D, C=C, PAGE=page, WHOLE=splits == 1, SPAN=SPAN, DOT=dot,
        BLOCK=min(SPAN, BLOCK if dot else 16), num_warps=4 if dot and q.dtype == torch.float32 else 1, num_stages=2,
    )  # fmt: skip
    if splits > 1:
        _merge[(B, h)](partial, lse, length, out, h, splits, D=D, C=C, S=MERGED, SPAN=SPAN, num_warps=2)
    return out


@kernel
def _slots(
    table: tl.tensor, start: tl.tensor, n: tl.tensor, seen: tl.tensor, PAGE: tl.constexpr, BLOCK: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """Where tokens n = start ... start + BLOCK - 1 are kept."""
    if PAGE % BLOCK == 0:  # the whole block is in one page, which is looked up once
        return tl.load(table + start // PAGE).to(tl.int64) * PAGE + n % PAGE
    else:
        return tl.load(table + n // PAGE, mask=seen, other=0).to(tl.int64) * PAGE + n % PAGE


@kernel
def _attend(
    q: tl.tensor, keys: tl.tensor, values: tl.tensor, table: tl.tensor, length: tl.tensor, out: tl.tensor,
    partial: tl.tensor, lse: tl.tensor, N: tl.tensor, scale: tl.tensor, window: tl.tensor, kv: tl.tensor,
    splits: tl.tensor, GROUP: tl.constexpr, G: tl.constexpr, D: tl.constexpr, C: tl.constexpr, PAGE: tl.constexpr,
    WHOLE: tl.constexpr, SPAN: tl.constexpr, DOT: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """Online softmax in powers of two over one split of one row's tokens, for the queries of one key head. A row of one split
    is done then; others are for `_merge`.

    In half precision the queries go through tensor cores, padded to the 16 rows these take, even when they are 3. By hand,
    one key of width 64 costs 128 conversions to float32, 3 * 128 multiply-adds and the shuffles that add up across threads,
    some 700 thread operations on 256 bytes: at an H200's bandwidth that is half of all it can issue, in a loop that should
    only wait for memory. Padded products take a tenth of its tensor cores, and convert and shuffle nothing.
    """
    row, head, part = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    known = tl.load(length + row)
    first = tl.where(window > 0, tl.maximum(known - window, 0), 0)
    # blocks start at multiples of BLOCK, so that none crosses a page that BLOCK divides
    begin = tl.maximum(part * SPAN, first // BLOCK * BLOCK)
    end = tl.minimum((part + 1) * SPAN, known)

    member, d = tl.arange(0, G), tl.arange(0, C)
    inside = (member[:, None] < GROUP) & (d[None, :] < D)
    heads = (row * kv + head) * GROUP + member  # rows of [B h]
    query = tl.load(q + heads[:, None] * D + d[None, :], mask=inside, other=0.0)
    most = tl.full((G,), float("-inf"), tl.float32)
    mass = tl.zeros((G,), tl.float32)
    seen = tl.zeros((G, C), tl.float32)
    for start in range(begin, end, BLOCK):
        n = start + tl.arange(0, BLOCK)
        valid = (n >= first) & (n < end)
        slot = _slots(table + row * N, start, n, valid, PAGE, BLOCK)
        at = (slot[:, None] * kv + head) * D + d[None, :]
        there = valid[:, None] & (d[None, :] < D)
        key = tl.load(keys + at, mask=there, other=0.0)
        if DOT:
            score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        else:
            score = tl.sum(query[:, None, :] * key[None, :, :], 2) * scale
        score = tl.where(valid[None, :], score, float("-inf"))  # each block holds a valid token, so `most` is finite
        top = tl.maximum(most, tl.max(score, 1))
        fade, p = tl.exp2(most - top), tl.exp2(score - top[:, None])
        value = tl.load(values + at, mask=there, other=0.0)
        if DOT:
            seen = seen * fade[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        else:
            seen = seen * fade[:, None] + tl.sum(p[:, :, None] * value[None, :, :], 1)
        mass = mass * fade + tl.sum(p, 1)
        most = top

    some = tl.where(mass > 0, mass, 1.0)  # a split without tokens has seen nothing, which is 0 / 1
    mean, target = seen / some[:, None], out + heads[:, None] * D + d[None, :]
    if WHOLE:
        tl.store(target, mean.to(out.dtype.element_ty), mask=inside)
    else:
        tl.store(target, mean.to(out.dtype.element_ty), mask=inside & (known <= SPAN) & (part == 0))
        target = partial + (heads[:, None] * splits + part) * D + d[None, :]
        tl.store(target, mean, mask=inside & (known > SPAN))
        total = tl.where(mass > 0, most + tl.log2(some), float("-inf"))
        tl.store(lse + heads * splits + part, total, mask=(member < GROUP) & (known > SPAN))


@kernel
def _merge(
    partial: tl.tensor, lse: tl.tensor, length: tl.tensor, out: tl.tensor, h: tl.tensor, splits: tl.tensor,
    D: tl.constexpr, C: tl.constexpr, S: tl.constexpr, SPAN: tl.constexpr,
) -> None:  # fmt: skip
    """The mean of a head's splits, each weighed with its share of the softmax. Those without tokens weigh nothing, so that
    how many of them follow changes no bit."""
    row = tl.program_id(0).to(tl.int64)
    if tl.load(length + row) > SPAN:
        head = row * h + tl.program_id(1)
        part, d = tl.arange(0, S), tl.arange(0, C)
        top = tl.full((), float("-inf"), tl.float32)
        for start in range(0, splits, S):
            here = start + part < splits
            total_of = tl.load(lse + head * splits + start + part, mask=here, other=float("-inf"))
            top = tl.maximum(top, tl.max(total_of, 0))
        base = tl.where(top == float("-inf"), 0.0, top)
        mass, seen = tl.zeros((S,), tl.float32), tl.zeros((S, C), tl.float32)
        for start in range(0, splits, S):
            here = start + part < splits
            weight = tl.exp2(tl.load(lse + head * splits + start + part, mask=here, other=float("-inf")) - base)
            at = partial + (head * splits + start + part[:, None]) * D + d[None, :]
            seen += tl.load(at, mask=here[:, None] & (d[None, :] < D), other=0.0) * weight[:, None]
            mass += weight
        total = tl.sum(mass, 0)
        mean = tl.sum(seen, 0) / tl.where(total > 0, total, 1.0)
        tl.store(out + head * D + d, mean.to(out.dtype.element_ty), mask=d < D)
