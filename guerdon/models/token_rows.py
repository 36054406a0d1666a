"""A batch as rows of tokens for a decoder to read: every token once, however many tracks go through it.

What a segment was shown and what it did are two runs of tokens; a run follows the one before it on its track.
Segments that were shown the same, pictures too, at the same place share that run:
the tries at a prompt, the branches of a tree.
Trees have nothing to do with each other, so a batch can be cut between them into rows of a bearable length.

Axes: S steps, G segments, R runs, F tokens of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from guerdon.core.arrays import digest
from guerdon.core.batch import Batch
from guerdon.core.one_turn import views_in
from guerdon.models.attention import Runs
from guerdon.models.run_tiles import ranges


@dataclass(frozen=True)
class Row:
    """A flat row of tokens, and which steps can be read off it where."""

    token: Tensor  # [F]
    runs: Runs
    step: Tensor  # [N] steps of the batch ...
    before: Tensor  # [N] ... the token each is read off, which is the one before it, ...
    after: Tensor  # [N] ... and its own, which is there for all of them only with `ends`
    track: Tensor  # [M] tracks of the batch, where asked for, ...
    end: Tensor  # [M] ... and the last token of each


@dataclass
class _Tree:
    """The runs below one beginning: each with its tokens, its parent among them, and its first step (-1: shown); and the
    tracks, each with the run it ends with."""

    tokens: list[np.ndarray]
    parent: list[int]
    step: list[int]
    followed: set[int]
    tracks: list[tuple[int, int]]

    @property
    def size(self) -> int:
        return sum(map(len, self.tokens))


def rows(batch: Batch, most: int, device: torch.device, ends: bool = False) -> Iterator[Row]:
    """The batch in rows of at most `most` tokens, or of one tree. With `ends`, the last tokens of tracks are there too."""
    taken: list[_Tree] = []
    size = 0
    for tree in _trees(batch):
        if taken and size + tree.size > most:
            yield _row(taken, device, ends)
            taken, size = [], 0
        taken.append(tree)
        size += tree.size
    if taken:
        yield _row(taken, device, ends)


def _trees(batch: Batch) -> list[_Tree]:
    """Grow the trees segment by segment; a parent's segment always comes before its children's."""
    context, action = batch.context.cpu().numpy(), batch.action.cpu().numpy()
    context_end = [0, *np.cumsum(batch.context_length.cpu().numpy()).tolist()]
    action_end = [0, *np.cumsum(batch.length.cpu().numpy()).tolist()]
    role, parents = batch.role.tolist(), batch.parent.tolist()
    pictures = [
        digest(view).encode() for view in views_in(batch.episodes, batch.episode.tolist(), batch.place.tolist())
    ]
    trees: list[_Tree] = []
    roots: dict[bytes, int] = {}  # what was shown: its tree
    shown: dict[tuple[int, int, bytes], int] = {}  # (tree, run it follows, tokens): the run they are
    last: list[tuple[int, int]] = []  # [G] (tree, run) a segment ends with
    for g, parent in enumerate(parents):
        seen = context[context_end[g] : context_end[g + 1]]
        first = action_end[g]
        done = action[first : action_end[g + 1]]
        key = seen.tobytes() + pictures[g]
        if parent >= 0 and role[parent] == role[g]:
            at, run = last[parent]
        else:
            at, run = roots.setdefault(key, len(trees)), -1
            if at == len(trees):
                trees.append(_Tree([], [], [], set(), []))
        tree = trees[at]
        if len(seen):
            place = (at, run, key)
            run = _add(tree, seen, run, -1) if place not in shown else shown[place]
            shown[place] = run
        if len(done):
            assert run >= 0, "a track begins with an action: there is no context to compute it from"
            run = _add(tree, done, run, first)
        last.append((at, run))
    for k, g in enumerate(batch.leaf.tolist()):
        at, run = last[g]
        trees[at].tracks.append((k, run))
    return trees


def _add(tree: _Tree, tokens: np.ndarray, parent: int, step: int) -> int:
    tree.tokens.append(tokens)
    tree.parent.append(parent)
    tree.step.append(step)
    if parent >= 0:
        tree.followed.add(parent)
    return len(tree.tokens) - 1


def _row(trees: list[_Tree], device: torch.device, ends: bool) -> Row:
    tokens: list[np.ndarray] = []
    parents: list[int] = []
    steps: list[tuple[int, int, int]] = []  # (run, first step, steps)
    tracks: list[tuple[int, int]] = []  # (track, run)
    for tree in trees:
        below = len(tokens)
        if ends:
            assert all(run >= 0 for _, run in tree.tracks), "a track has a prompt and no action: it has no end to read"
            tracks += [(k, below + run) for k, run in tree.tracks]
        for run, (token, parent, step) in enumerate(zip(tree.tokens, tree.parent, tree.step, strict=True)):
            if step >= 0:
                steps.append((below + run, step, len(token)))
            # the last token of a track is read off only where `ends` are asked for
            tokens.append(token if ends or run in tree.followed else token[:-1])
            parents.append(parent + below if parent >= 0 else -1)
    runs = Runs.of([len(t) for t in tokens], parents, device)
    acting, first, count = np.array(steps, np.int64).reshape(-1, 3).T
    start, follows = runs.start[acting], runs.parent[acting]
    before = ranges(start - 1, count)
    before[np.cumsum(count) - count] = runs.start[follows] + runs.length[follows] - 1

    def moved(numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(numbers).to(device)

    return Row(
        moved(np.concatenate([*tokens, np.zeros(0, np.int64)])),
        runs,
        moved(ranges(first, count)),
        moved(before),
        moved(ranges(start, count)),
        torch.tensor([k for k, _ in tracks], dtype=torch.long, device=device),
        torch.tensor([runs.start[run] + runs.length[run] - 1 for _, run in tracks], dtype=torch.long, device=device),
    )
