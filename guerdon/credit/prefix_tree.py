"""Credit where tries at one problem part: independent tries as a tree of the beginnings that they share.

Axes: S steps, G segments, K tracks, M steps of tracks, N nodes: a start for each group, then the beginnings.
"""

from __future__ import annotations

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up, moments, starts
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import TrackSteps, in_all, steps_of, track_steps, with_step_column
from guerdon.credit.tree import Tree


@part
class branch_gain(FieldColumns):
    r"""$A_t = \frac{w\,(r - \bar r) + V(s_{t+1}) - V(s_t)}{s + \epsilon}$ with $V(s)$ the mean reward of the tries at the task
    that begin with $s$, and $\bar r$ and $s$ (the sample deviation) of all of them.

    TEMPO (Tran et al. 2025, arXiv:2509.18314): GRPO's advantage, corrected at the tokens where tries part. $V$ differs from
    one step to the next only there, so every other step has GRPO's; the corrections along a try add up to $r - \bar r$ once
    more, if no other try said the same to its end. Where tries share nothing they part at their first step, which then counts
    twice. `outcome` $=w$: 0 leaves the corrections alone, `std=False` leaves out the division.

    *Assumes* that the tries are independent draws from one start, and that what was shown and said tells where a try is.
    *Biased:* a try's own reward is in every value, wholly so once it is alone: the more beginnings are shared, the less. With
    $w > 0$ a step is also credited for what other steps of its try gained, as in GRPO; dividing weighs tasks by how hard they
    are.

    Tries without a value are in no mean and get no advantage. `NAME/branching` is the share of steps taken where tries part,
    `NAME/shared` of those after which another try is still the same; `NAME/flat_groups` of the groups without spread.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.credit.branch_gain(std=False)(example_tries([[0.0, 1.0]], steps=2), ExamplePlay())
    >>> batch["advantage"].tolist()  # two tries that are the same to their end: nothing to correct
    [-0.5, -0.5, 0.5, 0.5]
    """

    reward: Needs = "reward"
    outcome: float = knob(default=1.0, ge=0.0)
    std: bool = True
    eps: float = knob(default=1e-4, ge=0.0)  # as in `centre`
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        reward_K, unrolled = in_all(batch, column), track_steps(batch)
        group_K, size = batch.group("task")
        tree = merged_tree(batch, unrolled, reward_K)
        _, mean, spread = moments(reward_K, group_K, size)
        gap_K = (reward_K - mean[group_K]) * play.at(self.outcome)
        scale = spread + play.at(self.eps)
        scale = torch.where(scale == 0, 1.0, scale) if self.std else torch.ones_like(scale)
        of_M = unrolled.of(gap_K) + tree.gained() + 0 * unrolled.of(reward_K)  # a try without a value has none
        self._log(tree, size, spread, play)
        value_S = unrolled.back(of_M / unrolled.of(scale[group_K]))
        return with_step_column(batch, self.gives_to, value_S.to(column.value.dtype), column)

    def _log(self, tree: Tree, groups: int, spread: Tensor, play: Play) -> None:
        steps = max(len(tree.node), 1)
        parting = tree.children[tree.above[tree.node]] > 1 if len(tree.node) else torch.zeros(0)
        shared = torch.bincount(tree.node, minlength=len(tree.above))[tree.node] > 1 if len(tree.node) else parting
        play.log(**{
            f"{self.gives_to}/branching": float(parting.sum()) / steps,
            f"{self.gives_to}/shared": float(shared.sum()) / steps,
            f"{self.gives_to}/flat_groups": float((spread == 0).sum()) / max(groups, 1),
        })  # fmt: skip


def merged_tree(batch: Batch, unrolled: TrackSteps, reward_K: Tensor) -> Tree:
    """Tracks of one task and role as a tree: those that were shown and did the same are at the same node, which is worth the
    mean of what they came to. Node g < the number of groups is group g's start; `node` is [M]."""
    group_K, starts_of = batch.group("task")
    count_K = steps_of(batch)
    first_K = starts(count_K)
    done_M = _told_apart(batch, unrolled)
    above = [torch.full((starts_of,), -1, dtype=torch.long)]
    value = [gather_up(reward_K, group_K, starts_of, "mean")]
    node_M = torch.full((len(unrolled.track),), -1, dtype=torch.long)
    at_K, nodes = group_K.clone(), starts_of
    size = int(done_M.max()) + 1 if len(done_M) else 1
    for step in range(int(count_K.max()) if batch.K else 0):
        here = torch.nonzero(count_K > step).flatten()
        row = first_K[here] + step
        same, index = torch.unique(at_K[here] * size + done_M[row], return_inverse=True)
        above.append(same // size)
        value.append(gather_up(reward_K[here], index, len(same), "mean"))
        at_K[here] = node_M[row] = nodes + index
        nodes += len(same)
    return Tree(torch.cat(above), torch.cat(value), node_M)


def _told_apart(batch: Batch, unrolled: TrackSteps) -> Tensor:
    """[M] a number for what each step of each track is: what was done, and what was shown before it where a turn begins."""
    action_S = torch.unique(batch.action, dim=0, return_inverse=True)[1] if batch.S else batch.seg
    shown_M = torch.zeros(len(unrolled.track), dtype=torch.long)
    contexts = torch.split(batch.context, batch.context_length.tolist())
    known: dict[bytes, int] = {}
    row, track, seen = 0, -1, b""
    for k, g in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
        seen = (b"" if k != track else seen) + contexts[g].numpy().tobytes() + b"|"
        track, length = k, int(batch.length[g])
        if length:
            shown_M[row] = known.setdefault(seen, len(known) + 1)
            row, seen = row + length, b""
    actions = int(action_S.max()) + 1 if batch.S else 1
    told: Tensor = torch.unique(shown_M * actions + unrolled.at(action_S), return_inverse=True)[1]
    return told
