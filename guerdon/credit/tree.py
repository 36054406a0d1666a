"""Credit along a tree of prefixes: what each segment added to the value of where it began."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.credit.track_steps import in_all, with_step_column


@part
class prefix_gain(FieldColumns):
    r"""$A_g = V(g) - V(parent(g))$ with $V(g)$ the mean reward of the tracks through segment $g$; a first segment's parent
    is its task: the mean over all its tracks of that role.

    The gains along a track add up to its reward less the task's mean, so a tree of depth one is Dr. GRPO's `centre`. The
    difference to `centre(by="parent")`: there every child counts once, here every track does. It is the local advantage of
    TreeRL (Hou et al. 2025, arXiv:2506.11902), without its global one and its search.

    *Assumes* that branches are draws of the policy from their parent, and that where a tree branches does not depend on
    how its branches end. *Biased:* the own reward is in the parent's value, by one part in its number of tracks; under a
    search that grows good branches further, by as much as it does; and an only child gets 0, for its parent has its whole
    credit, so that a track of several turns that never branches learns from its first turn alone.

    Tracks without a value are in no mean. A segment none of whose tracks has a value has no advantage. The share of only
    children among the segments is `NAME/only_children`: where it is high, `centre` is the better choice.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.credit.prefix_gain()(example_tries([[0.0, 1.0]]), ExamplePlay())["advantage"].tolist()
    [-0.5, 0.5]
    """

    reward: Needs = "reward"
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        reward_K = in_all(batch, column)
        value_G = gather_up(reward_K[batch.path_track], batch.path_seg, batch.G, "mean")
        above = batch.parent.clamp(min=0)
        continues = (batch.parent >= 0) & (batch.role[above] == batch.role)
        group_K, n = batch.group("task")
        start_K = gather_up(reward_K, group_K, n, "mean")[group_K]
        start_G = gather_up(start_K[batch.path_track], batch.path_seg, batch.G, "mean")
        gain_G = value_G - torch.where(continues, value_G[above], start_G)
        children = torch.bincount(above[continues], minlength=batch.G)
        only = float((continues & (children[above] == 1)).sum()) / max(batch.G, 1)
        play.log(**{f"{self.gives_to}/only_children": only})
        return with_step_column(batch, self.gives_to, gain_G[batch.seg].to(column.value.dtype), column)
