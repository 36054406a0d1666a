"""Who sees whom among runs of tokens, as lists of places that kernels read: tiles of each run, and what is on the other side.

Leaves out: the kernels (`kernels/run_attention.py`), what runs are (`attention.py`).

Axes: R runs, T tokens that are seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

TILE = 32  # tokens of a run that one program takes
Numbers = npt.NDArray[np.int64]


class Seen(NamedTuple):
    """Who sees whom: tiles of at most TILE tokens of a run, and for each the tokens on the other side.

    A tile is its first token, how many it has, the first entry of its list and how many that has. A query's list are the
    keys that its run sees up to the tile's last token; a key's are the queries of its own run, from the tile's first token
    on, and of the runs that follow it. Places count the tokens that are seen, of which the first, `silent`, ask nothing.
    """

    query_tiles: Tensor  # [tiles, 4], all of int32
    keys: Tensor
    key_tiles: Tensor  # [tiles, 4]
    queries: Tensor
    position: Tensor  # [T] of each token: later keys are not seen, nor are those outside of a window
    silent: int


def seen_by(
    length: Numbers,
    parent: Numbers,
    start: Numbers,
    before: Numbers,
    silent: int,
    keys: Callable[[Numbers], Numbers],
    device: torch.device,
) -> Seen:
    """Of runs [R] with their lengths, the runs they follow, where they start in the row and how many tokens they see before it;
    `keys` are the places of all that some runs see, one run's after another's."""
    asking = np.arange(silent, len(length))
    total = (length + before)[asking]
    at, within = _tiles(length[asking])
    first, runs = (np.cumsum(total) - total)[at], asking[at]
    count = np.minimum(length[runs] - within, TILE)
    asked = np.stack([start[runs] + within, count, first, before[runs] + within + count], 1)
    above, below = _descent(asking, parent)
    listed = np.bincount(above, length[below], len(length)).astype(np.int64)
    runs, within = _tiles(length)
    own = np.where(runs < silent, 0, within)  # later tokens of its own run; silent ones have none that ask
    first = (np.cumsum(listed) - listed)[runs] + own
    told = np.stack([start[runs] + within, np.minimum(length[runs] - within, TILE), first, listed[runs] - own], 1)
    position = np.repeat(before - start, length) + np.arange(length.sum())
    parts = [asked, keys(asking), told, ranges(start[below], length[below]), position]
    flat = np.concatenate([part.ravel() for part in parts]).astype(np.int32)
    moved = torch.split(torch.from_numpy(flat).to(device), [part.size for part in parts])  # one trip for all
    return Seen(moved[0].view(-1, 4), moved[1], moved[2].view(-1, 4), moved[3], moved[4], int(length[:silent].sum()))


def _descent(runs: Numbers, parent: Numbers) -> tuple[Numbers, Numbers]:
    """Every pair of a run that is seen and one of `runs` that sees it, itself among them, ordered by both."""
    above, below = [runs], [runs]
    while (up := parent[above[-1]]).size and (up >= 0).any():
        above.append(up[up >= 0])
        below.append(below[-1][up >= 0])
    pairs = np.concatenate(above), np.concatenate(below)
    order = np.lexsort(pairs[::-1])
    return pairs[0][order], pairs[1][order]


def _tiles(length: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Runs cut into tiles: which run each is of, and which of its tokens is its first."""
    tiles = -(-length // TILE)
    return np.repeat(np.arange(len(length)), tiles), ranges(np.zeros(len(length), np.int64), tiles) * TILE


def ranges(start: Numbers, length: Numbers) -> Numbers:
    """The whole numbers from each start on, as many as its length, one range after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(length) - length
    numbers: Numbers = np.repeat(start - before, length) + np.arange(length.sum())
    return numbers
