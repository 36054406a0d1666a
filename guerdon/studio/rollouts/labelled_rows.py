"""Labels that people gave, as a filter: which rows have one, by (step, episode, segment), and how many of each sort."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.errors import unknown
from guerdon.runs.labels import KINDS, places_of, read_labels
from guerdon.studio.rollouts.matched_rows import MatchedRows
from guerdon.studio.rollouts.rollout_filters import RolloutFilter
from guerdon.studio.rollouts.rollout_index import RolloutIndex

ANY, NONE = "any", "none"
Labelled = Mapping[str, Sequence[tuple[str, tuple[int, str, int]]]]  # of each run: kinds and places


def labelled(indexes: Sequence[RolloutIndex]) -> Labelled:
    """Labels of samples of some runs, those of pairs among them."""
    books = {index.shelved.id: read_labels(index.shelved.path) for index in indexes}
    return {id: [(row["kind"], place) for row in book.labels for place in places_of(row)] for id, book in books.items()}


def with_labels(asked: RolloutFilter, wanted: Sequence[str], given: Labelled) -> RolloutFilter:
    """A filter that lets through what has one of these labels, `any` at all, or `none`."""
    for name in wanted:
        if name not in (*KINDS, ANY, NONE):
            raise unknown("label", name, [*KINDS, ANY, NONE])
    if not wanted:
        return asked
    is_none = NONE in wanted
    kinds = KINDS if is_none or ANY in wanted else wanted
    keys = {id: frozenset(place for kind, place in each if kind in kinds) for id, each in given.items()}
    return dataclasses.replace(asked, keys=keys, without=is_none)


def label_counts(matched: MatchedRows, given: Labelled) -> list[list[Any]]:
    """[label, how many of the rows that were let through have it], the most frequent first."""
    runs = [index.shelved.id for index in matched.indexes]
    every = sorted({(runs.index(id), *place, kind) for id, each in given.items() for kind, place in each})
    if not every:
        return []
    columns = [list(each) for each in zip(*every, strict=True)]
    said = "SELECT unnest(?) AS of, unnest(?) AS step, unnest(?) AS episode, unnest(?) AS segment, unnest(?) AS kind"
    same = "run = of AND k0 = step AND k1 = episode AND k2 = segment"
    counted = f"SELECT kind, count(*) AS n FROM matched JOIN ({said}) ON {same} GROUP BY 1 ORDER BY n DESC, 1"
    return [list(row) for row in matched.ask(counted, ["step", "episode", "segment"], columns)]
