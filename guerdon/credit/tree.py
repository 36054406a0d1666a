"""Values of the nodes of a tree, and the gain of the segments between them.

One tree for all credit of parts of a track: `Tree` holds which node each continues, what each is worth, and to which one a step
leads. Three are made: of segments that were played with branches (`prefix_gain`), of independent tries of one ask that share a
beginning (`branch_gain`), and chains whose places have Monte Carlo values (`restart_values.py`).

Axes: S steps, G segments, K tracks, M steps of tracks (`track_steps.py`), N nodes: of shared beginnings a start for each group
first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up, moments, starts
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import TrackSteps, in_all, steps_of, track_steps, with_step_column


@dataclass(frozen=True)
class Tree:
    """N nodes and what leads to them. A tree of width 1 is a chain; a start continues nothing."""

    above: Tensor  # [N] the node that each continues, -1 of a start
    value: Tensor  # [N] float64; NaN takes part in nothing
    node: Tensor  # [S] or [M] the node that each step leads to; -1 where it leads to none

    @property
    def gain(self) -> Tensor:
        """[N] what each node is worth more than the one it continues; a start has gained nothing that is known: NaN."""
        before = self.value[self.above.clamp(min=0)] if len(self.above) else self.value
        return torch.where(self.above >= 0, self.value - before, float("nan"))

    @property
    def children(self) -> Tensor:
        """[N] how many nodes continue each."""
        return torch.bincount(self.above[self.above >= 0], minlength=len(self.above))

    def gained(self) -> Tensor:
        """[S] or [M] what each step's segment gained."""
        return self._at(self.gain)

    def begun(self) -> Tensor:
        """[S] or [M] what the node was worth where each step's segment began."""
        before = self.value[self.above.clamp(min=0)] if len(self.above) else self.value
        return self._at(torch.where(self.above >= 0, before, float("nan")))

    def _at(self, x_N: Tensor) -> Tensor:
        if not len(x_N):
            return torch.full((len(self.node),), float("nan"), dtype=torch.float64)
        return torch.where(self.node >= 0, x_N[self.node.clamp(min=0)], float("nan"))


def played_tree(batch: Batch, reward_K: Tensor, mean: Literal["track", "child"] = "track") -> Tree:
    """The segments of a batch as nodes, and behind them a start for each task and role. `mean` is the value of a continued
    segment: the mean over its tracks, or over its children, each counted once."""
    above = batch.parent.clamp(min=0)
    continues = (batch.parent >= 0) & (batch.role[above] == batch.role)
    group_K, starts = batch.group("task")
    group_G = torch.zeros(batch.G, dtype=torch.long, device=batch.seg.device)
    group_G[batch.path_seg] = group_K[batch.path_track]
    node = torch.where(continues, above, batch.G + group_G)
    node = torch.cat([node, torch.full((starts,), -1, dtype=torch.long, device=node.device)])
    if mean == "track":
        through = gather_up(reward_K[batch.path_track], batch.path_seg, batch.G, "mean")
        value = torch.cat([through, gather_up(reward_K, group_K, starts, "mean")])
    else:
        value = _of_children(batch, node, reward_K)
    return Tree(node, value, batch.seg)


def _of_children(batch: Batch, above: Tensor, reward_K: Tensor) -> Tensor:
    """[N] a track's last segment has its reward, all others the mean of those that continue them: from the leaves up."""
    value = torch.full((len(above),), float("nan"), dtype=torch.float64, device=above.device)
    value[batch.leaf] = reward_K
    depth = torch.zeros_like(above)  # 0 of a start
    at = above
    while bool((at >= 0).any()):
        depth += (at >= 0).long()
        at = torch.where(at >= 0, above[at.clamp(min=0)], -1)
    for level in range(int(depth.max()) if len(depth) else 0, 0, -1):
        rows = torch.nonzero(depth == level).flatten()
        mean = gather_up(value[rows], above[rows], len(above), "mean")
        parents = torch.unique(above[rows])
        value[parents] = mean[parents]
    return value


@part
class prefix_gain(FieldColumns):
    r"""$A_g = V(g) - V(parent(g))$ with $V(g)$ the mean reward of the tracks through segment $g$; a first segment's parent
    is its task: the mean over all its tracks of that role.

    `mean="child"` takes $V(g)$ as the mean over the segments that continue $g$, each counted once however many tracks go
    through it, as SPO-tree does (Guo et al. 2025, arXiv:2505.23564): where some branches end early the two differ. With
    `once` a segment counts once in the loss as well, not as often as there are tracks through it: its gain is divided by
    their number. SPO's released code learns from segments so, which gives the many last ones most of the weight.

    With `mean="track"` the gains along a track add up to its reward less the task's mean, so a tree of depth one is Dr. GRPO's
    `centre`; with either, a tree in which nothing branches but the first segments. The difference to `centre(by="parent")`:
    there the parent's value is the mean of its children, whatever `mean` is. It is the local advantage of TreeRL (Hou
    et al. 2025, arXiv:2506.11902), without its global one and its search.

    *Assumes* that branches are draws of the policy from their parent, and that where a tree branches does not depend on
    how its branches end. *Biased:* the own reward is in the parent's value, by one part in its number of tracks; under a
    search that grows good branches further, by as much as it does; and an only child gets 0, for its parent has its whole
    credit, so that a track of several turns that never branches learns from its first turn alone. With `once` also towards
    what comes late in a tree.

    Tracks without a value are in no mean. A segment none of whose tracks has a value has no advantage. The share of only
    children among the segments is `NAME/only_children`: where it is high, `centre` is the better choice.

    Args:
        reward: column with one number for each track.
        gives_to: column of the advantage.
        mean: a segment's value is the mean over its tracks, or over its children.
        once: a segment counts once in the loss, not once for each of its tracks.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.credit.prefix_gain()(example_tries([[0.0, 1.0]]), ExamplePlay())["advantage"].tolist()
    [-0.5, 0.5]
    """

    reward: Needs = "reward"
    gives_to: Gives = "advantage"
    mean: Literal["track", "child"] = "track"
    once: bool = False

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        tree = played_tree(batch, in_all(batch, column), self.mean)
        gain_G = tree.gain[: batch.G]
        if self.once:
            gain_G = gain_G / batch.shared.clamp(min=1)
        above = tree.above[: batch.G]
        only = float(((above < batch.G) & (tree.children[above] == 1)).sum()) / max(batch.G, 1)
        play.log(**{f"{self.gives_to}/only_children": only})
        return with_step_column(batch, self.gives_to, gain_G[batch.seg].to(column.value.dtype), column)


@part
class branch_gain(FieldColumns):
    r"""$A_t = \frac{w\,(r - \bar r) + V(s_{t+1}) - V(s_t)}{s + \epsilon}$ with $V(s)$ the mean reward of the tries at the task
    that begin with $s$, and $\bar r$ and $s$ (the sample deviation) of all of them.

    TEMPO (Tran et al. 2025, arXiv:2509.18314): GRPO's advantage, corrected at the tokens where tries part. $V$ differs from
    one step to the next only there, so every other step has GRPO's; the corrections along a try sum to $r - \bar r$ again,
    if no other try has the same text to its end. Where tries share nothing they part at their first step, which then counts
    twice. `outcome` $=w$: 0 leaves the corrections alone, `std=False` leaves out the division.

    *Assumes* that the tries are independent draws from one start, and that the observations and actions so far identify the
    state of a try. *Biased:* a try's own reward is in every value, wholly so once it is alone: the more beginnings are
    shared, the less. With $w > 0$ a step is also credited for what other steps of its try gained, as in GRPO; dividing weighs
    tasks by how hard they are.

    Tries without a value are in no mean and get no advantage. `NAME/branching` is the share of steps taken where tries part,
    `NAME/shared` of those after which another try is still the same; `NAME/flat_groups` of the groups without spread.

    Args:
        reward: column with one number for each track.
        outcome: weight of GRPO's advantage beside the corrections.
        std: divide by the group's deviation.
        gives_to: column of the advantage.

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
    """Tracks of one task and role as a tree: those with the same observations and actions are at the same node, whose value
    is the mean of their outcomes. Node g < the number of groups is group g's start; `node` is [M]."""
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


@part
class tree_values(FieldColumns):
    r"""The value of each segment of a tree, at its last step: $V(s) = \frac{1}{|P_s|}\sum_{p \in P_s} r_p$ over the complete
    paths $P_s$ through it.

    Where segments are lines, these are the values that a tree search backs up. Paths that were given up or cut by a limit are
    in no mean; other steps have no value. *Assumes* that a segment's paths were sampled from the policy that is valued.
    *Biased* where the search preferred some of them, and where long paths are cut.

    Args:
        reward: column with one number per path.
        gives_to: the column of values per step, labels for `gd.losses.step_values`.

    References:
        Zhoubian et al. 2025, ReST-RL, arXiv:2508.19576.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.credit.tree_values()(example_tries([[1.0, 0.5]], steps=2), ExamplePlay())["labels"].tolist()
    [nan, 1.0, nan, 0.5]
    """

    reward: Needs = "reward"
    gives_to: Gives = "labels"

    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        unrolled, cut = track_steps(batch), (batch.end == ENDS.index(End.CUT))[batch.leaf]
        reward = batch.track_column(self.reward, label(self)).value.masked_fill(cut, float("nan"))
        through = unrolled.back(unrolled.of(reward))
        last = torch.zeros(batch.S, dtype=torch.bool)
        last[(torch.cumsum(batch.length, 0) - 1)[batch.length > 0]] = True
        value = through.masked_fill(~last, float("nan"))
        reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})
