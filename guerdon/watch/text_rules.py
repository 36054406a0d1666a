"""Rules about generated text: length, repetition, and similarity between tries."""

from __future__ import annotations

import torch
from torch import Tensor

from guerdon.core.part import knob, part
from guerdon.watch.batch_signs import repeated_share, twins
from guerdon.watch.block_shifts import Shift, shift
from guerdon.watch.past_steps import Past
from guerdon.watch.rule_alarms import RuleAlarm, Scene, Severity

LEARNS = 0.01  # the p-value of a rise of what is right


def since_start(past: Past, name: str, block: int) -> Shift | None:
    """From the first block of steps to the last; None before they are separate."""
    return shift(past.first(name, block), past.last(name, block)) if past.is_long(block) else None


@part
class length_drift:
    r"""Tries have become `times` as long as at first, or as short: the means over the last and the first `block` steps, with
    $p < \alpha$ (Student's t).

    Rewards that pay for length are found by training (Singhal et al. 2023, arXiv:2310.03716), and a loss may lengthen what is
    wrong by itself (Liu et al. 2025, arXiv:2503.20783); but longer may also be better, so it is a *warn*. Twice is our
    own choice.
    """

    times: float = knob(default=2.0, gt=1.0)
    alpha: float = knob(default=0.001, gt=0.0, le=0.5)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        change = since_start(past, "length/mean", self.block)
        if change is None or min(change.before, change.after) <= 0:
            return []
        ratio = change.after / change.before
        grew = ratio >= self.times and change.chance_of_rise() < self.alpha
        if not grew and not (ratio <= 1 / self.times and change.chance_of_fall() < self.alpha):
            return []
        message = (
            f"tries went from {change.before:.1f} to {change.after:.1f} actions, {ratio:.2g} times as long as at first"
        )
        fix = "check whether the reward pays for length, and the truth of these answers (--truth)"
        numbers = {"length_at_first": change.before, "length": change.after}
        return [RuleAlarm("warn", message, fix, numbers, "longer" if grew else "shorter")]

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """The longest, or the shortest."""
        return scene.length if finding.about == "longer" else -scene.length


@part
class repeated_text:
    r"""Tries repeat themselves: the share of 4-grams that stood there before, in the same try, is over the last `block` steps
    at least `most` and above that of the first by `rise`, with $p < \alpha$.

    It is seq-rep-4 of Welleck et al. 2019 (arXiv:1908.04319), over actions. Tries of fewer than 11 actions do not count.
    *Warn*; the thresholds are our own.
    """

    most: float = knob(default=0.2, gt=0.0, le=1.0)
    rise: float = knob(default=0.1, ge=0.0, le=1.0)
    alpha: float = knob(default=0.001, gt=0.0, le=0.5)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        change = since_start(past, "watch/repeated", self.block)
        if change is None or change.after < self.most or change.by < self.rise or change.chance_of_rise() >= self.alpha:
            return []
        message = f"{change.after:.0%} of what a try says stood there before ({change.before:.0%} at first), by 4-grams"
        fix = "check whether the reward pays for it, or penalise it; a KL penalty to the start limits it"
        return [RuleAlarm("warn", message, fix, {"repeated_at_first": change.before, "repeated": change.after})]

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        return repeated_share(scene.batch)


@part
class identical_tries:
    r"""Tries at one problem are the same to the last action: the share that have a twin in their group is over the last `block`
    steps at least `most` and above that of the first by `rise`, with $p < \alpha$.

    Tries of fewer than 11 actions do not count: short answers are alike by nature. *Note* where nearly all is right, or more
    than at first ($p < 0.01$), for a learning policy comes to agree with itself; *warn* otherwise. The thresholds are our own.
    """

    most: float = knob(default=0.5, gt=0.0, le=1.0)
    rise: float = knob(default=0.25, ge=0.0, le=1.0)
    alpha: float = knob(default=0.001, gt=0.0, le=0.5)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        change = since_start(past, "watch/identical", self.block)
        if change is None or change.after < self.most or change.by < self.rise or change.chance_of_rise() >= self.alpha:
            return []
        message = f"{change.after:.0%} of the tries have a twin in their group, {change.before:.0%} at first"
        fix = "a higher temperature, an entropy bonus, or problems that are not solved yet"
        is_fine = past.is_solved(self.block) or self._learns(past)
        severity: Severity = "note" if is_fine else "warn"
        return [RuleAlarm(severity, message, fix, {"identical_at_first": change.before, "identical": change.after})]

    def _learns(self, past: Past) -> bool:
        right = since_start(past, f"{past.judged_by}/mean", self.block)
        return right is not None and right.chance_of_rise() < LEARNS

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Those with the most twins."""
        count = twins(scene.batch).double()
        return torch.where((count > 1) & ~torch.isnan(repeated_share(scene.batch)), count, float("nan"))
