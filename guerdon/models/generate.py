"""Batched sampling from a decoder: prompts in, tokens and their log-probs out.

One prefill for each distinct prompt, one decode call a token for all rows together, finished rows dropped at once. The
draws of a row depend on its own seed alone; its probabilities do too, up to the rounding of matrix products, whose order
of summation may change with the number of rows. A draw can therefore differ between batches only where its random number
falls within that rounding (about 1e-7) of the border between two tokens.

Axes: B rows still going, P prompts, T tokens, V vocabulary.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from guerdon.core.task import Sampling
from guerdon.models.cache import KVCache
from guerdon.models.decoder import Decoder, LayerWeights
from guerdon.models.sampling import choose, distribution

CACHE_BYTES = 4 << 30  # the most memory for keys and values; more rows than it holds are sampled in waves
PREFILL_TOKENS = 8192  # of one forward pass over prompts


@dataclass
class Row:
    """One completion as it grows. `is_over` is asked after every token; at `limit` tokens a row ends in any case."""

    prompt: Sequence[int]  # all that comes before what is sampled, given actions included
    sampling: Sampling
    seed: int
    limit: int
    is_over: Callable[[list[int]], bool]
    tokens: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)


def generate(net: Decoder, rows: Sequence[Row]) -> None:
    """Sample every row to its end, in place."""
    with torch.inference_mode():
        weights = net.layer_weights(packed=True)
        for wave in _waves(net, [row for row in rows if row.limit > 0]):
            _decode(net, weights, wave)


def _waves(net: Decoder, rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Neighbours stay together: they are likely to share a prompt."""
    c = net.config
    token_bytes = 2 * c.layers * c.kv_heads * c.head_dim * net.dtype.itemsize
    wave: list[Row] = []
    longest = 0
    for row in rows:
        longest = max(longest, len(row.prompt) + row.limit)
        if wave and (len(wave) + 1) * longest * token_bytes > CACHE_BYTES:
            yield wave
            wave, longest = [], len(row.prompt) + row.limit
        wave.append(row)
    if wave:
        yield wave


def _decode(net: Decoder, weights: Sequence[LayerWeights], rows: list[Row]) -> None:
    cache = net.cache(len(rows), max(len(row.prompt) + row.limit for row in rows))
    draws = [random.Random(row.seed) for row in rows]
    logits = _prefill(net, weights, rows, cache)  # [B, V]
    how = [row.sampling for row in rows]
    going = list(range(len(rows)))  # [B] which row stands where in the cache
    while True:
        logp = distribution(logits, how)
        chosen = choose(logp, [draws[i].random() for i in going])
        kept: list[int] = []
        for place, (i, token, lp) in enumerate(zip(going, *_listed(chosen, logp), strict=True)):
            row = rows[i]
            row.tokens.append(token)
            row.logp.append(lp)
            if len(row.tokens) < row.limit and not row.is_over(row.tokens):
                kept.append(place)
        if not kept:
            return
        if len(kept) < len(going):
            kept = close_ranks(kept)
            cache.keep(kept)
            going, how = [going[i] for i in kept], [how[i] for i in kept]
            chosen = chosen[torch.tensor(kept, device=chosen.device)]
        logits = net.logits(net(chosen[:, None], cache=cache, weights=weights)[:, 0])


def _listed(chosen: Tensor, logp: Tensor) -> tuple[list[int], list[float]]:
    return chosen.tolist(), logp.gather(1, chosen[:, None])[:, 0].tolist()


def close_ranks(kept: Sequence[int]) -> list[int]:
    """The same places, reordered so that as many as possible stay where they are: the last fill the holes."""
    n = len(kept)
    stay, move = {i for i in kept if i < n}, [i for i in kept if i >= n]
    return [i if i in stay else move.pop() for i in range(n)]


def _prefill(net: Decoder, weights: Sequence[LayerWeights], rows: Sequence[Row], cache: KVCache) -> Tensor:
    """[B, V] logits after each row's prompt. Rows with equal prompts share one pass."""
    places: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        places.setdefault(tuple(row.prompt), []).append(i)
    prompts = list(places)
    logits = torch.empty(len(rows), net.config.vocab, dtype=net.dtype, device=net.device)
    for chunk in alike([len(p) for p in prompts], PREFILL_TOKENS):
        lengths = [len(prompts[p]) for p in chunk]
        tokens = torch.zeros(len(chunk), max(lengths), dtype=torch.long)  # [P, T]
        for at, p in enumerate(chunk):
            tokens[at, : lengths[at]] = torch.tensor(prompts[p])
        here = [(i, at) for at, p in enumerate(chunk) for i in places[prompts[p]]]
        rows_of, source = [i for i, _ in here], [at for _, at in here]
        hidden = net(tokens.to(net.device), cache=cache.prompts(lengths, rows_of, source), weights=weights)
        last = hidden[torch.arange(len(chunk)), torch.tensor(lengths) - 1]
        logits[rows_of] = net.logits(last)[source]
    return logits


def alike(lengths: Sequence[int], most: int, slack: int = 256) -> list[list[int]]:
    """Split sequences into padded batches: longest first, at most `most` tokens each (or one sequence).

    A batch also ends when `slack` of its tokens are padding: that costs more than another call.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches: list[list[int]] = []
    width = waste = 0
    for i in order:
        gap = width - lengths[i]
        if not batches or (len(batches[-1]) + 1) * width > most or waste + gap > slack:
            batches.append([])
            width, waste, gap = lengths[i], 0, 0
        batches[-1].append(i)
        waste += gap
    return batches
