"""Episodes to a Batch and back, and batches put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch, Count, Pairs
from guerdon.core.column import Column, Per, Reason
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.one_turn import OneTurn, steps_in

END_NUMBER = {end: n for n, end in enumerate(ENDS)}


def pack(episodes: Iterable[Episode]) -> Batch:
    """Flatten episodes. Asks and tasks are numbered by first appearance; roles alphabetically.

    Args:
        episodes: the episodes.

    >>> import guerdon as gd
    >>> turn = gd.Segment("policy", "2 + 2 =", context=[5, 6], actions=[4, 1], logp=[-0.1, -0.2], text="4")
    >>> gd.pack([gd.Episode(gd.Ask(gd.Task("7", "2 + 2 =", "4")), (turn,))]).action.tolist()
    [4, 1]
    """
    if isinstance(episodes, OneTurn):
        return _packed(episodes)
    eps = tuple(episodes)
    segments = [s for ep in eps for s in ep.segments]
    role = [s.role for s in segments]
    roles = tuple(sorted(set(role)))
    number = {role: n for n, role in enumerate(roles)}
    count = np.array([len(ep.segments) for ep in eps], np.int64)
    first = np.cumsum(count) - count
    episode = np.repeat(np.arange(len(eps)), count)
    own_parent = np.array([s.parent for s in segments], np.int64)
    parent = np.where(own_parent >= 0, own_parent + first[episode], -1)
    leaf, path_track, path_seg = _tracks(role, parent.tolist())
    seg = _runs([len(s.actions) for s in segments])
    shared = torch.bincount(path_seg, minlength=len(segments))
    weight = shared[seg].float()
    for g, s in enumerate(segments):
        if s.given:
            start = int(torch.searchsorted(seg, g))
            weight[start : start + s.given] = 0.0
    return Batch(
        episodes=eps,
        roles=roles,
        count=Count(0.0, 0),
        action=_actions(segments),
        seg=seg,
        logp=_join([s.logp for s in segments], np.float32),
        weight=weight,
        muted=torch.zeros(len(seg), dtype=torch.bool),
        parent=torch.from_numpy(parent),
        role=_ints([number[name] for name in role]),
        episode=torch.from_numpy(episode),
        place=torch.from_numpy(np.arange(len(segments)) - first[episode]),
        version=_ints([s.version for s in segments]),
        temperature=torch.tensor([float(s.sampling.temperature) for s in segments], dtype=torch.float32),
        end=_ints([END_NUMBER[End.FAILED if ep.failed else s.end] for ep in eps for s in ep.segments]),
        context=_contexts(segments),
        context_seg=_runs([len(s.context) for s in segments]),
        leaf=leaf,
        path_track=path_track,
        path_seg=path_seg,
        ask_E=_ints(_numbered((ep.step, ep.number) for ep in eps)),
        task_E=_ints(_numbered(ep.task.key for ep in eps)),
    ).recount()


def _packed(tries: OneTurn) -> Batch:
    """Columns as a Batch: a segment and a track for each try."""
    size, asked = len(tries), tries.asked
    each = torch.arange(size)
    seg = _runs(tries.length.tolist())
    weight = torch.ones(len(seg))
    of = tries.ask_E.tolist()
    contexts = [asked[a].context for a in of]
    heat = [float(one.sampling.temperature) for one in asked]
    task = _numbered(one.ask.task.key for one in asked)
    return Batch(
        episodes=tries,
        roles=(tries.role,),
        count=Count(float(len(seg)), size),
        action=torch.from_numpy(tries.action.copy()),
        seg=seg,
        logp=torch.from_numpy(tries.logp.copy()),
        weight=weight,
        muted=torch.zeros(len(seg), dtype=torch.bool),
        parent=torch.full((size,), -1),
        role=torch.zeros(size, dtype=torch.long),
        episode=each,
        place=torch.zeros(size, dtype=torch.long),
        version=torch.full((size,), tries.version),
        temperature=torch.tensor([heat[a] for a in of], dtype=torch.float32),
        end=_ints([END_NUMBER[end] for end in tries.end]),
        context=_join(contexts, np.int64),
        context_seg=_runs([len(context) for context in contexts]),
        leaf=each.clone(),
        path_track=each.clone(),
        path_seg=each.clone(),
        ask_E=torch.from_numpy(tries.ask_E.copy()),
        task_E=_ints(task)[tries.ask_E],
    )


def unpack(batch: Batch) -> list[Episode]:
    """The episodes again, their actions and log-probs read back from the flat tensors.

    Segments that a selection dropped are gone; parents are renumbered among those that are left.

    Args:
        batch: the batch.

    >>> import guerdon as gd
    >>> turn = gd.Segment("policy", "2 + 2 =", context=[5, 6], actions=[4, 1], logp=[-0.1, -0.2], text="4")
    >>> [episode] = gd.unpack(gd.pack([gd.Episode(gd.Ask(gd.Task("7", "2 + 2 =", "4")), (turn,))]))
    >>> episode.segments[0].same(turn)
    True
    """
    at = torch.cumsum(batch.length, 0).tolist()
    begin = [0, *at[:-1]] if at else []
    c_at = torch.cumsum(batch.context_length, 0).tolist()
    action, logp, context = batch.action.numpy(), batch.logp.numpy(), batch.context.numpy()
    rows: dict[int, list[Segment]] = {e: [] for e in range(len(batch.episodes))}
    local: list[int] = []
    for g in range(batch.G):
        e, parent = int(batch.episode[g]), int(batch.parent[g])
        source = batch.episodes[e].segments[int(batch.place[g])]
        local.append(len(rows[e]))
        rows[e].append(
            source.but(
                actions=action[begin[g] : at[g]].astype(source.actions.dtype, copy=True),
                logp=logp[begin[g] : at[g]].copy(),
                context=context[c_at[g] - int(batch.context_length[g]) : c_at[g]].copy(),
                parent=local[parent] if parent >= 0 else -1,
            )
        )
    return [ep.but(segments=tuple(rows[e])) for e, ep in enumerate(batch.episodes)]


def cat(batches: Sequence[Batch]) -> Batch:
    """One batch after another. A column that one of them does not have is *not applicable* there."""
    if len(batches) == 1:
        return batches[0]
    whole = pack([ep for b in batches for ep in unpack(b)])
    offset = {level: np.cumsum([0] + [b.size(level) for b in batches]) for level in get_args(Per)}
    if any(int(at[-1]) != whole.size(level) for level, at in offset.items()):
        raise ValueError("batches that share episodes cannot be put together")
    names = {name: col for b in batches for name, col in b.cols.items()}
    cols = {}
    for name, like in names.items():
        level = like.level
        parts = [b.cols.get(name) or Column.empty(level, b.size(level), like=like.value) for b in batches]
        for other in parts:
            if other.level != level:
                raise ValueError(f"column {name!r} is per {other.level} in one batch and per {level} in another")
        detail = {int(offset[level][i]) + k: d for i, c in enumerate(parts) for k, d in c.detail.items()}
        value = torch.cat([c.value for c in parts])
        cols[name] = Column(level, value, torch.cat([c.reason for c in parts]), detail)
    weight, muted = torch.cat([b.weight for b in batches]), torch.cat([b.muted for b in batches])
    joined = dataclasses.replace(whole, cols=cols, weight=weight, muted=muted)
    paired = [(int(offset["track"][i]), b.pairs) for i, b in enumerate(batches) if b.pairs is not None]
    if paired:
        pairs = Pairs(
            torch.cat([p.better + o for o, p in paired]),
            torch.cat([p.worse + o for o, p in paired]),
            torch.cat([p.margin for _, p in paired]),
            torch.cat([p.label for _, p in paired]),
        )
        joined = dataclasses.replace(joined, pairs=pairs)
    return joined.recount()


def of_episodes(batch: Batch, wanted: Tensor) -> Batch:
    """Some episodes ([E] mask), as if there had been no others. Segments that a selection dropped are gone."""
    rows = batch.take(wanted[batch.episode][batch.leaf])
    whole = pack(ep for ep, kept in zip(unpack(rows), wanted.tolist(), strict=True) if kept)
    own = {name: getattr(rows, name) for name in ("weight", "muted", "cols", "pairs")}
    return dataclasses.replace(whole, **own).recount()


def played_at(batch: Batch, step: int) -> Batch:
    """What was played in a step: without what a memory of earlier ones has joined to it."""
    steps = steps_in(batch.episodes)
    if steps.count(step) == len(steps):
        return batch
    return of_episodes(batch, torch.tensor([each == step for each in steps], dtype=torch.bool))


def attach(batch: Batch, calls: Mapping[int, Sequence[Segment]]) -> Batch:
    """Hang segments below tracks: `calls[k]` (a judge's turn, a rewrite) becomes children of track k's last segment.

    The new segments play another role than the track they hang below, so no track of the batch changes; columns are
    *not applicable* on the new ones.
    """
    whole = unpack(batch)
    old = [len(ep.segments) for ep in whole]
    at = places(batch)
    for k, segments in calls.items():
        e, leaf = int(batch.episode[batch.leaf[k]]), at[int(batch.leaf[k])]
        base = len(whole[e].segments)
        hung = [s.but(parent=base + s.parent if s.parent >= 0 else leaf) for s in segments]
        whole[e] = whole[e].but(segments=(*whole[e].segments, *hung))
    packed = pack(whole)
    before = packed.place < _ints(old)[packed.episode]
    rows = {"step": before[packed.seg], "segment": before, "track": before[packed.leaf]}
    cols = {}
    for name, col in batch.cols.items():
        place = torch.nonzero(rows[col.level]).flatten()
        value = torch.full((packed.size(col.level), *col.value.shape[1:]), float("nan"), dtype=col.value.dtype)
        reason = torch.full((packed.size(col.level),), int(Reason.NOT_APPLICABLE), dtype=torch.int8)
        value[place], reason[place] = col.value, col.reason
        cols[name] = Column(col.level, value, reason, {int(place[i]): d for i, d in col.detail.items()})
    packed.weight[rows["step"]], packed.muted[rows["step"]] = batch.weight, batch.muted
    track = torch.nonzero(rows["track"]).flatten()
    pairs = batch.pairs and dataclasses.replace(
        batch.pairs, better=track[batch.pairs.better], worse=track[batch.pairs.worse]
    )
    return dataclasses.replace(packed, cols=cols, pairs=pairs).recount()


def places(batch: Batch) -> list[int]:
    """[G] the number each segment has in its episode as `unpack` and `cat` number them."""
    seen: dict[int, int] = {}
    places = []
    for e in batch.episode.tolist():
        places.append(seen.get(e, 0))
        seen[e] = places[-1] + 1
    return places


def _ints(values: Sequence[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


def _runs(lengths: Sequence[int]) -> Tensor:
    """0 as often as the first length, 1 as often as the second, and so on."""
    return torch.from_numpy(np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64)))


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    """Each key's number, by first appearance."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


def _join(arrays: Sequence[np.ndarray], dtype: type[np.generic]) -> Tensor:
    flat = np.concatenate(arrays) if arrays else np.zeros(0)
    return torch.from_numpy(np.ascontiguousarray(flat, dtype=dtype))


def _contexts(segments: Sequence[Segment]) -> Tensor:
    """Tokens stay whole numbers, observations float32. One batch holds one kind of context."""
    kinds = {s.context.dtype for s in segments if len(s.context)}
    if len(kinds) > 1:
        raise UserError(
            "a batch holds one kind of context: play models that read tokens and floats in batches of their own"
        )
    return _join([s.context for s in segments], (kinds.pop() if kinds else np.dtype(np.int64)).type)


def _actions(segments: Sequence[Segment]) -> Tensor:
    """Token ids and choices become int64, continuous actions float32 rows. One batch holds one kind of action."""
    shapes = {(s.actions.dtype.kind == "f", s.actions.shape[1:]) for s in segments if len(s.actions)}
    if len(shapes) > 1:
        raise UserError("a batch holds one kind of action: play token and continuous actors in batches of their own")
    is_float, tail = shapes.pop() if shapes else (False, ())
    rows = [s.actions if s.actions.shape[1:] == tail else s.actions.reshape(-1, *tail) for s in segments]
    flat = np.concatenate(rows) if rows else np.zeros((0, *tail))
    return torch.from_numpy(np.ascontiguousarray(flat, dtype=np.float32 if is_float else np.int64))


def _tracks(roles: Sequence[str], parent: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """A segment without a child of its own role ends a track; the track is its chain of same-role ancestors."""
    continued = {p for g, p in enumerate(parent) if p >= 0 and roles[p] == roles[g]}
    leaf: list[int] = []
    track: list[int] = []
    member: list[int] = []
    for g in range(len(roles)):
        if g in continued:
            continue
        path, at = [], g
        while True:
            path.append(at)
            up = parent[at]
            if up < 0 or roles[up] != roles[at]:
                break
            at = up
        track += [len(leaf)] * len(path)
        member += path[::-1]
        leaf.append(g)
    return _ints(leaf), _ints(track), _ints(member)
