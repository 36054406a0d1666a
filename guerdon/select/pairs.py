"""Pairs for preference losses: of tracks by a number, of sibling steps of a tree by their outcomes, of changed copies.

Leaves out: preferences that come as such, from people or from a judge of two (`judges/compare.py`), and the
value of a segment by other means than its tracks: any column will do.

Axes: S steps, G segments, K tracks; of a new batch's steps and segments it is known which old ones they were.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group, Pairs
from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.field_columns import FieldColumns, Needs
from guerdon.core.levels import expand, gather_up, starts
from guerdon.core.pack import cat, pack, places, unpack
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play

Which = Literal["extremes", "all"]


@part
class paired(FieldColumns):
    r"""A stage: in each group of tracks of one role, $(i, j)$ with $v_i - v_j \ge$ `least` and $v_i > v_j$, where $v$ is a
    track column; the difference is the pair's margin, its label 1.

    `which="extremes"` takes the best against the worst, one pair a group at most: on-policy pairs of several tries (Guo
    et al. 2024, arXiv:2402.04792, have two tries). `which="all"` takes every ordered pair, as reward models are taught
    from rankings (Ouyang et al. 2022, arXiv:2203.02155): a group of n then weighs up to n(n-1)/2 pairs.

    Tracks without a value are in no pair. Equal ones make none; where several are the best or the worst, the one that
    was asked for first is taken, so the order of tracks in the batch changes nothing. Best against worst picks by the
    noise of `column` too: the more tries, the larger the share of a pair's margin that is luck. With `told` a task's own
    `meta["label"]` and `meta["margin"]`, where it has them, are those of its pairs. With `soft` $=s$ a pair's label is
    $\sigma(s(v_i - v_j))$, what Bradley and Terry's model says of scores $sv$; `which="all"` then takes equal ones too, with
    the label 1/2. Notes `pairs`, `unpaired_share` (of groups: all equal, too close, or alone) and `alone_share` (of groups
    with fewer than two values).

    Args:
        column: column that is compared.
        by: what a group is.
        which: the best against the worst, or all pairs.
        least: least difference of a pair.
        told: use the labels and margins that tasks bring.
        soft: scale of the values whose difference makes a pair's label; 0 for labels of 1.

    >>> import guerdon as gd
    >>> gd.select.paired("correct", which="all").needs, gd.select.paired().gives
    (('correct',), ('pairs',))
    """

    column: Needs = "reward"
    by: Group = "task"
    which: Which = "extremes"
    least: float = knob(default=0.0, ge=0.0)
    told: bool = knob(default=False, absent=False)
    soft: float = knob(default=0.0, ge=0.0, absent=0.0)

    gives = ("pairs",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.column, "paired")
        value, least = column.value.tolist(), play.at(self.least)
        groups = valued_groups(batch, self.by, column.missing.tolist())
        pairs: list[tuple[int, int]] = []
        lone = without = 0
        for tracks in groups:
            own = ordered_pairs(tracks, value, self.which, least, ties=self.soft > 0)
            pairs += own
            lone += len(tracks) < 2
            without += not own
        share = 1 / max(len(groups), 1)
        play.log(pairs=float(len(pairs)), unpaired_share=without * share, alone_share=lone * share)
        better, worse = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(1)
        margin = (column.value[better] - column.value[worse]).float()
        label = torch.sigmoid(self.soft * margin) if self.soft else torch.ones(len(better))
        if self.told:
            of = batch.episode[batch.leaf[better]].tolist()
            metas = [batch.episodes[episode].ask.task.meta for episode in of]
            label = torch.tensor(
                [float(meta.get("label", sure)) for meta, sure in zip(metas, label.tolist(), strict=True)]
            )
            margin = torch.tensor(
                [float(meta.get("margin", gap)) for meta, gap in zip(metas, margin.tolist(), strict=True)]
            )
        return dataclasses.replace(batch, pairs=Pairs.of(better, worse, margin, label)).recount()


def valued_groups(batch: Batch, by: Group, missing: Sequence[bool]) -> list[list[int]]:
    """The valued tracks of each group, those asked for first first; a group without any is empty."""
    group, place = batch.group(by)[0].tolist(), _places(batch)
    groups: dict[int, list[int]] = defaultdict(list)
    for k in sorted(range(batch.K), key=lambda k: place[k]):
        groups[group[k]] += [] if missing[k] else [k]
    return list(groups.values())


def ordered_pairs(
    tracks: Sequence[int], value: Sequence[float], which: Which, least: float, ties: bool = False
) -> list[tuple[int, int]]:
    """The better and the worse of each pair: the best against the worst, or all that differ, with `ties` the equal ones too."""
    if which == "extremes" and tracks:  # min and max keep the first of equals
        tracks, ties = [max(tracks, key=lambda k: value[k]), min(tracks, key=lambda k: value[k])], False
    places = {k: place for place, k in enumerate(tracks)}
    gaps = ((i, j, value[i] - value[j]) for i in tracks for j in tracks)
    apart = ((i, j, gap) for i, j, gap in gaps if gap > 0 or (ties and gap == 0 and places[i] < places[j]))
    return [(i, j) for i, j, gap in apart if gap >= least]


@part
class changed_copies(FieldColumns):
    """Preference pairs of answers and changed copies of them: (y, change(y)) for each answer y with `column` >= `least`.

    The copy is teacher-forced as an answer to the same prompt and joins the batch, so that losses over pairs read both. Pairs
    that the batch has stay. An answer that `change` gives None for, or returns as it was, makes no pair; nor does one of more
    than one turn. Copies have no score; their tokens count as generated. *Biased*: what is learned is what distinguishes an
    answer from its changes, right or wrong.

    Args:
        change: a function of an answer's text that returns the copy's text, or None.
        better: which of the two is preferred, "original" or "copy"; "neither" makes ties, pairs with label 1/2.
        column: a number per track that decides which answers are copied.
        least: the smallest number with which an answer is copied.

    Logs `copies`, and `unchanged_share` of the answers that could have been copied.

    >>> import guerdon as gd
    >>> gd.select.changed_copies(str.swapcase).gives, gd.select.changed_copies(str.swapcase).needs
    (('pairs',), ('correct',))
    """

    change: Callable[[str], str | None]
    better: Literal["original", "copy", "neither"] = "original"
    column: Needs = "correct"
    least: float = 1.0

    gives = ("pairs",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value, local = batch.track_column(self.column, label(self)).value.tolist(), places(batch)
        copies, originals, able = list[Episode](), list[int](), 0
        for k, g in enumerate(batch.leaf.tolist()):
            episode = batch.episodes[int(batch.episode[g])]
            was = episode.segments[local[g]]
            if was.parent >= 0 or episode.failed or not value[k] >= self.least:
                continue
            able += 1
            if (text := self.change(was.text)) is not None and text != was.text:
                attempt = episode.ask.n + episode.attempt * len(episode.segments) + local[g]  # no other try's
                copies.append(episode.but(segments=(_copied(episode, was, text, play),), attempt=attempt))
                originals.append(k)
        play.log(copies=float(len(copies)), unchanged_share=1 - len(copies) / max(able, 1))
        first, second = torch.tensor(originals, dtype=torch.long), batch.K + torch.arange(len(copies))
        better, worse = (second, first) if self.better == "copy" else (first, second)
        sure = torch.full((len(copies),), 0.5 if self.better == "neither" else 1.0)
        both = cat([batch, pack(copies)]) if copies else batch
        old = batch.pairs or Pairs.of(first[:0], first[:0])
        pairs = Pairs.of(
            torch.cat([old.better, better]),
            torch.cat([old.worse, worse]),
            torch.cat([old.margin, 2 * sure - 1]),
            torch.cat([old.label, sure]),
        )
        return dataclasses.replace(both, pairs=pairs).recount()


def _copied(episode: Episode, was: Segment, text: str, play: Play) -> Segment:
    """Another text as an answer to what the segment answers; it was not sampled."""
    model = play.models[episode.ask.seated(play.seats)[was.role]]
    reply = model.teacher_force(was.view, text)
    model.meter.tokens += len(reply.actions)
    return Segment(was.role, was.view, reply.context, reply.actions, reply.logp, text, sampling=was.sampling)


def _places(batch: Batch) -> list[tuple[int, int, int, int]]:
    """[K] what names each track in a run, wherever it stands in the batch."""
    rows = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    named = [(batch.episodes[e], last) for e, last in rows]
    return [(episode.step, episode.number, episode.attempt, last) for episode, last in named]


@part
class step_pairs(FieldColumns):
    r"""The step preferences of trees, for `Learn(on=...)`: of the segments that continue from one place of an episode, $(a, b)$
    with $V(a) - V(b) \ge$ `least` and $V(a) > V(b)$, where $V$ is a column per segment, or the mean of one per track over the
    tracks through the segment. The difference is the pair's margin, its label 1.

    Each set of siblings that makes a pair becomes an episode of its own: the trunk that leads to them, and them; what came
    after is left out. A track ends at a sibling. The trunk's steps stand in both tracks of a pair, so in `dpo` they cancel, and
    what is learned is the step: Step-DPO (Lai et al. 2024, arXiv:2406.18629), with values in place of a judge's word. A loss
    over lists takes the siblings of an episode for one list (`list_ranking`).

    Siblings that did the same are one, worth the mean over the tracks through any of them: they differ by luck alone, and would
    teach nothing. `which="extremes"` takes the best sibling against the worst and leaves the others out, `"all"` every ordered
    pair. A set of which all are equal, or fewer than two have a value, makes none. Of a column per track a new track has the
    mean over the tracks through its last segment; columns per step and segment stay as they are.

    Biased where values are means of few tracks: the best of several is partly luck, the more the deeper in a tree. Logs
    `step_pairs`, and `unpaired_siblings`, the share of sets that make none.

    Args:
        column: column that is compared.
        least: least difference of a pair.
        which: the best against the worst, or all pairs.

    >>> import guerdon as gd
    >>> gd.select.step_pairs("correct", least=0.25).needs, gd.select.step_pairs().gives
    (('correct',), ('pairs',))
    """

    column: Needs = "reward"
    least: float = knob(default=0.0, ge=0.0)
    which: Literal["extremes", "all"] = "all"

    gives = ("pairs",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        one_G = _one_of_the_same(batch)
        value = _of_segments(batch, batch.cols[self.column], one_G).tolist()
        sets, least = _siblings(batch, one_G), play.at(self.least)
        pairs: list[tuple[int, int]] = []  # segments of `batch`
        kept: list[list[int]] = []
        for siblings in sets:
            own = self._pairs([g for g in siblings if value[g] == value[g]], value, least)
            pairs += own
            if own:
                kept.append([g for g in siblings if any(g in pair for pair in own)])
        play.log(step_pairs=float(len(pairs)), unpaired_siblings=1 - len(kept) / max(len(sets), 1))
        made, track_of = _pruned(batch, kept, one_G)
        better, worse = ([track_of[pair[side]] for pair in pairs] for side in (0, 1))
        margin = torch.tensor([value[a] - value[b] for a, b in pairs])
        ends = torch.tensor([better, worse], dtype=torch.long).reshape(2, -1)
        return dataclasses.replace(made, pairs=Pairs.of(ends[0], ends[1], margin)).recount()

    def _pairs(self, siblings: Sequence[int], value: Sequence[float], least: float) -> list[tuple[int, int]]:
        if self.which == "extremes" and siblings:  # max and min keep the first of equals
            siblings = [max(siblings, key=lambda g: value[g]), min(siblings, key=lambda g: value[g])]
        gaps = ((a, b, value[a] - value[b]) for a in siblings for b in siblings)
        return [(a, b) for a, b, gap in gaps if gap > 0 and gap >= least]


def _one_of_the_same(batch: Batch) -> Tensor:
    """[G] the first of the siblings that were shown and did what each did."""
    first: dict[tuple[int, int, int, bytes, bytes], int] = {}
    actions = torch.split(batch.action, batch.length.tolist())
    contexts = torch.split(batch.context, batch.context_length.tolist())
    one = []
    for g, place in enumerate(_sibling_places(batch)):
        one.append(first.setdefault((*place, contexts[g].numpy().tobytes(), actions[g].numpy().tobytes()), g))
    return torch.tensor(one, dtype=torch.long)


def _of_segments(batch: Batch, column: Column, one_G: Tensor) -> Tensor:
    """[G] the mean of what siblings that did the same have: their own numbers, or the means of their steps'; or the mean over
    the tracks through them."""
    value = column.value.double()
    if column.level == "track":
        return gather_up(value[batch.path_track], one_G[batch.path_seg], batch.G, "mean")
    own_G = value if column.level == "segment" else batch.up(value, "segment", by="mean")
    return gather_up(own_G, one_G, batch.G, "mean")


def _sibling_places(batch: Batch) -> list[tuple[int, int, int]]:
    """[G] the place each segment continues from, and its role."""
    return list(zip(batch.parent.tolist(), batch.episode.tolist(), batch.role.tolist(), strict=True))


def _siblings(batch: Batch, one_G: Tensor) -> list[list[int]]:
    """The segments of a role that continue one segment, or begin one episode, without duplicates, where there
    are two or more segments."""
    sets: dict[tuple[int, int, int], list[int]] = {}
    for g, place in enumerate(_sibling_places(batch)):
        sets.setdefault(place, []).append(g)
    one = one_G.tolist()
    return [[g for g in siblings if one[g] == g] for siblings in sets.values() if len(siblings) > 1]


def _pruned(batch: Batch, sets: Sequence[Sequence[int]], one_G: Tensor) -> tuple[Batch, dict[int, int]]:
    """An episode for each set of siblings, of the segments that lead to them and themselves; and the track that ends at
    each."""
    whole, local = unpack(batch), places(batch)
    episodes, old_g = [], list[int]()
    for siblings in sets:
        trunk: list[int] = []
        at = int(batch.parent[siblings[0]])
        while at >= 0:
            trunk.insert(0, at)
            at = int(batch.parent[at])
        source = whole[int(batch.episode[siblings[0]])]
        segments: list[Segment] = []
        for place, g in enumerate((*trunk, *siblings)):
            parent = min(place, len(trunk)) - 1
            segments.append(source.segments[local[g]].but(parent=parent))
        episodes.append(source.but(segments=tuple(segments)))
        old_g += [*trunk, *siblings]
    made, index_g = pack(episodes), torch.tensor(old_g, dtype=torch.long)
    index_s = expand(index_g, starts(batch.length), batch.length)
    muted = batch.muted[index_s]
    taught = (batch.weight > 0)[index_s]
    made = dataclasses.replace(made, muted=muted, weight=torch.where(taught, made.weight, 0.0))
    ends = index_g[made.leaf]
    cols = {name: _taken(batch, column, index_s, index_g, ends, one_G) for name, column in batch.cols.items()}
    return made.with_cols(cols), {g: k for k, g in enumerate(ends.tolist())}


def _taken(batch: Batch, column: Column, index_s: Tensor, index_g: Tensor, ends: Tensor, one_G: Tensor) -> Column:
    if column.level == "step":
        return column.take(index_s)
    if column.level == "segment":
        return column.take(index_g)
    through = one_G[batch.path_seg]
    value = gather_up(column.value[batch.path_track], through, batch.G, "mean")[ends]
    reason = gather_up(column.reason.double()[batch.path_track], through, batch.G, "max")[ends]
    return Column("track", value, torch.where(value.isnan(), reason, 0.0).to(torch.int8))
