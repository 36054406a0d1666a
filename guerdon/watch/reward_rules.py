"""Rules about the reward by itself: a part that drowns the others, a spread that is gone, groups without signal, failures."""

from __future__ import annotations

import torch
from torch import Tensor

from guerdon.core.part import knob, part
from guerdon.watch.batch_signs import flat_groups_of
from guerdon.watch.block_shifts import mean, shift
from guerdon.watch.past_steps import TRUTH, Past
from guerdon.watch.rule_alarms import RuleAlarm, Scene

SHARE, FAILED = "watch/share.", "/failed"


@part
class dominant_part:
    r"""One part of the reward makes nearly all of its spread, and another that varies makes next to none.

    `watch/share.PART` is $r^2$ of the part and the whole over the tries of a step, both less the mean of their group: the share
    of what is learned from that the part alone explains. Over the last `block` steps one part has at least `most` and another,
    which varied in at least half of them, at most `least`. *Warn* where the first part had less than half at the start of the
    run (it took over); *note* otherwise, for it may be meant. The thresholds are our own.
    """

    most: float = knob(default=0.9, ge=0.5, le=1.0)
    least: float = knob(default=0.1, ge=0.0, le=0.5)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        if not past.is_long(self.block):
            return []
        late = {name.removeprefix(SHARE): past.last(name, self.block) for name in past.starts if name.startswith(SHARE)}
        shares = {name: mean(values) for name, values in late.items() if len(values) >= self.block / 2}
        drowned = [name for name, share in shares.items() if share <= self.least]
        first = max(shares, key=lambda name: shares[name], default="")
        if not drowned or shares[first] < self.most:
            return []
        began = mean(past.first(f"{SHARE}{first}", self.block))
        others = ", ".join(f"{name!r} {shares[name]:.0%}" for name in drowned)
        message = (
            f"{first!r} makes {shares[first]:.0%} of the spread of {past.proxy} inside groups ({began:.0%} in the first"
            f" {self.block} steps), {others}, over the last {self.block} steps"
        )
        fix = f"change the weights, or bound {first!r}, so that the others count"
        numbers = {"share": shares[first], "share_at_first": began}
        return [RuleAlarm("warn" if began < 0.5 else "note", message, fix, numbers, first)]

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Those that the part lifts most above their group."""
        return scene.within(f"{scene.proxy}.{finding.about}")


@part
class spread_collapse:
    """The reward of all tries has become the same: its spread over the last `block` steps is below `share` of that of the
    first.

    *Note* where nearly all is right by the truth or the task's own check (0.95), *warn* otherwise. The threshold is our own.
    """

    share: float = knob(default=0.1, gt=0.0, le=1.0)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        name = f"{past.proxy}/std"
        late, first = past.last(name, self.block), past.first(name, self.block)
        if not past.is_long(self.block) or len(late) < self.block or len(first) < self.block:
            return []
        if mean(first) == 0 or mean(late) >= self.share * mean(first):
            return []
        worth = mean(past.last(f"{past.proxy}/mean", self.block))
        message = (
            f"the spread of {past.proxy} went from {mean(first):.3f} to {mean(late):.3f}: nearly all get {worth:.3f}"
        )
        solved = past.is_solved(self.block)
        fix = "harder problems, or stop here" if solved else "a reward that distinguishes them, or harder problems"
        numbers = {"spread_at_first": mean(first), "spread": mean(late)}
        return [RuleAlarm("note" if solved else "warn", message, fix, numbers, past.proxy)]

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Those nearest to what all are worth."""
        value = scene.column(finding.about)
        return -(value - value.nanmean()).abs()


@part
class flat_groups:
    """Groups without signal: in a share `most` or more of the groups of the last `block` steps all tries are worth the same,
    and a group-relative advantage is zero.

    DAPO (Yu et al. 2025, arXiv:2503.14476) leaves such groups out and samples on. *Note* where nearly all is right, *warn*
    otherwise. The threshold is our own.
    """

    most: float = knob(default=0.8, gt=0.0, le=1.0)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        late = past.last("watch/flat", self.block)
        if not past.is_long(self.block) or len(late) < self.block or mean(late) < self.most:
            return []
        solved = past.is_solved(self.block)
        message = f"in {mean(late):.0%} of the groups of the last {self.block} steps all tries had the same score"
        fix = "harder problems" if solved else "problems that are solved sometimes, more tries, or a finer reward"
        return [RuleAlarm("note" if solved else "warn", message, fix, {"flat": mean(late)})]

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """One of each such group first."""
        if not scene.proxy:
            return scene.column("")
        flat, _ = flat_groups_of(scene.batch, scene.proxy)
        group = scene.batch.group("task")[0]
        first = {g: k for k, g in reversed([*enumerate(group.tolist())])}
        is_first = torch.zeros(len(group), dtype=torch.double)
        is_first[[*first.values()]] = 1.0
        return torch.where(flat[group], is_first, float("nan"))


@part
class rising_failures:
    r"""More and more scores or episodes fail: the share over the last `block` steps is at least `most` and above that of the
    first by `rise`, with $p < \alpha$ (Student's t).

    A step in which more than `failed_limit` fail stops the run by itself; this is for what grows below it. *Bad*; of the
    truth, *warn*: nothing is learned from it. The thresholds are our own.
    """

    most: float = knob(default=0.05, gt=0.0, le=1.0)
    rise: float = knob(default=0.03, ge=0.0, le=1.0)
    alpha: float = knob(default=0.01, gt=0.0, le=0.5)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        if not past.is_long(self.block):
            return []
        names = ["failed", *past.names(FAILED)]
        names = [n for n in names if f"{n.removesuffix(FAILED).rpartition('.')[0]}{FAILED}" not in names]
        return [each for name in names if (each := self._of(past, name)) is not None]

    def _of(self, past: Past, name: str) -> RuleAlarm | None:
        change = shift(past.first(name, self.block), past.last(name, self.block))
        if change is None or change.after < self.most or change.by < self.rise:
            return None
        if change.chance_of_rise() >= self.alpha:
            return None
        column = name.removesuffix(FAILED)
        what = "episodes" if column == "failed" else f"scores in {column!r}"
        message = (
            f"{change.after:.1%} of the {what} failed over the last {self.block} steps, {change.before:.1%} at first"
        )
        fix = "see the causes (guerdon show RUN), and what the tries do now that breaks it"
        numbers = {"failed_at_first": change.before, "failed": change.after}
        return RuleAlarm("warn" if column == TRUTH else "bad", message, fix, numbers, column)

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Those that failed."""
        column = scene.batch.cols.get(finding.about)
        is_lost = column.broken if column is not None and column.level == "track" else scene.batch.failed_K
        return torch.where(is_lost, 1.0, float("nan")).double()
