"""Pairs of tracks from a number per track: what preference losses learn from.

Leaves out: preferences that come as such, from people or from a judge of two (`judges/compare.py`), and softened labels.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import torch

from guerdon.core.batch import Batch, Group, Pairs
from guerdon.core.field_columns import FieldColumns, Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play


@part
class paired(FieldColumns):
    r"""A stage: in each group of tracks of one role, $(i, j)$ with $v_i - v_j \ge$ `least` and $v_i > v_j$, where $v$ is a
    track column; the difference is the pair's margin, its label 1.

    `which="extremes"` takes the best against the worst, one pair a group at most: on-policy pairs of several tries (Guo
    et al. 2024, arXiv:2402.04792, have two tries). `which="all"` takes every ordered pair, as reward models are taught
    from rankings (Ouyang et al. 2022, arXiv:2203.02155): a group of n then weighs up to n(n-1)/2 pairs.

    Tracks without a value are in no pair. Equal ones make none; where several are the best or the worst, the one that
    was asked for first is taken, so the order of tracks in the batch changes nothing. Best against worst picks by the
    noise of `column` too: the more tries, the larger the share of a pair's margin that is luck. Notes `pairs`,
    `unpaired_share` (of groups: all equal, too close, or alone) and `alone_share` (of groups with fewer than two values).

    >>> import guerdon as gd
    >>> gd.select.paired("correct", which="all").needs, gd.select.paired().gives
    (('correct',), ('pairs',))
    """

    column: Needs = "reward"
    by: Group = "task"
    which: Literal["extremes", "all"] = "extremes"
    least: float = knob(default=0.0, ge=0.0)

    gives = ("pairs",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.column, "paired")
        value, least = column.value.tolist(), play.at(self.least)
        groups = self._groups(batch, column.missing.tolist())
        pairs: list[tuple[int, int]] = []
        lone = without = 0
        for tracks in groups:
            own = self._pairs(tracks, value, least)
            pairs += own
            lone += len(tracks) < 2
            without += not own
        share = 1 / max(len(groups), 1)
        play.log(pairs=float(len(pairs)), unpaired_share=without * share, alone_share=lone * share)
        better, worse = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(1)
        margin = (column.value[better] - column.value[worse]).float()
        return dataclasses.replace(batch, pairs=Pairs.of(better, worse, margin)).recount()

    def _groups(self, batch: Batch, missing: Sequence[bool]) -> list[list[int]]:
        """The valued tracks of each group, those asked for first first; a group without any is empty."""
        group, place = batch.group(self.by)[0].tolist(), _places(batch)
        groups: dict[int, list[int]] = defaultdict(list)
        for k in sorted(range(batch.K), key=lambda k: place[k]):
            groups[group[k]] += [] if missing[k] else [k]
        return list(groups.values())

    def _pairs(self, tracks: Sequence[int], value: Sequence[float], least: float) -> list[tuple[int, int]]:
        if self.which == "extremes" and tracks:  # min and max keep the first of equals
            tracks = [max(tracks, key=lambda k: value[k]), min(tracks, key=lambda k: value[k])]
        gaps = ((i, j, value[i] - value[j]) for i in tracks for j in tracks)
        return [(i, j) for i, j, gap in gaps if gap > 0 and gap >= least]


def _places(batch: Batch) -> list[tuple[int, int, int, int]]:
    """[K] what names each track in a run, wherever it stands in the batch."""
    rows = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    named = [(batch.episodes[e], last) for e, last in rows]
    return [(episode.step, episode.number, episode.attempt, last) for episode, last in named]
