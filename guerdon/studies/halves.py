"""A set in two halves that are alike: as many of every kind in each, by lot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch


def even_halves(kinds: Sequence[str], draw: torch.Generator) -> list[bool]:
    """Whether each is in the first half. Of a kind with an odd number the first half has one less.

    >>> sum(even_halves(["easy"] * 4 + ["hard"] * 2, torch.Generator().manual_seed(0)))
    3
    """
    places = defaultdict[str, list[int]](list)
    for place, kind in enumerate(kinds):
        places[kind].append(place)
    first = set[int]()
    for each in places.values():
        order = torch.randperm(len(each), generator=draw).tolist()
        first |= {each[i] for i in order[: len(each) // 2]}
    return [place in first for place in range(len(kinds))]
