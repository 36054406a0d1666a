"""Passes over a part of the examples: how large a part, and which.

The sizes and the drawing of cyclical curriculum learning (Kesgin & Amasyali 2022, arXiv:2202.05531), after the authors' code.
Leaves out: scores that change while the network learns.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from guerdon.core.seeds import generator
from guerdon.studies.digits import Examples


def cycle(start: float, end: float, alpha: float) -> Iterator[float]:
    """The share of the examples that each pass takes, without end: from `start` it grows by 1/alpha up to `end`, shrinks by
    alpha down to `start`, and so on."""
    share, grows = start, True
    while True:
        yield share
        grows = share == start or (grows and share != end)
        share = min(share / alpha, end) if grows else max(share * alpha, start)


def drawn(
    examples: Examples, scores: Tensor, shares: Iterator[float], samples: int, batch: int, *path: int | str
) -> Iterator[Examples]:
    """Batches of one pass after the other until so many samples are drawn, the last pass cut short. A pass draws its share
    without replacement, each example with a probability in proportion to its score, and shuffles it."""
    draw, left = generator(*path, "drawn"), samples
    while left:
        rows = torch.multinomial(scores, max(1, int(next(shares) * len(examples))), generator=draw)
        rows = rows[torch.randperm(len(rows), generator=draw)][:left]
        yield from (examples[chunk] for chunk in torch.split(rows, batch))
        left -= len(rows)
