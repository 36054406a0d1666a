"""Rules about the policy: its entropy, and how far what learns is from what sampled, and from where it began.

They read what losses log of a model: `MODEL/entropy`, `MODEL/kl_old` and `MODEL/kl_sampler` (between sampling and learning),
`MODEL/kl_NAME` (from another model, such as the start). A loss that logs none of them is not watched.
"""

from __future__ import annotations

from torch import Tensor

from guerdon.core.part import knob, part
from guerdon.watch.block_shifts import mean
from guerdon.watch.past_steps import Past
from guerdon.watch.rule_alarms import RuleAlarm, Scene

SAMPLED = ("/kl_old", "/kl_sampler")


@part
class entropy_collapse:
    """The policy has become sure of everything: the entropy of a choice, over the last `block` steps, is below `share` of that
    of the first, and below `most` nats.

    Without anything against it entropy falls to nearly nothing early in a run, and with it what can still be gained (Cui et
    al. 2025, arXiv:2505.22617). *Note* where nearly all is right, *warn* otherwise. The thresholds are our own.
    """

    share: float = knob(default=0.1, gt=0.0, le=1.0)
    most: float = knob(default=0.1, gt=0.0)
    block: int = knob(default=8, ge=3)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        findings = []
        for name in past.names("/entropy") if past.is_long(self.block) else ():
            late, first = past.last(name, self.block), past.first(name, self.block)
            if len(late) < self.block or len(first) < self.block:
                continue
            if mean(late) < min(self.most, self.share * mean(first)):
                model, solved = name.removesuffix("/entropy"), past.is_solved(self.block)
                message = f"the entropy of {model!r} fell from {mean(first):.3f} to {mean(late):.4f} nats: tries hardly differ"
                fix = (
                    "harder problems"
                    if solved
                    else "a smaller learning rate, an entropy bonus, a wider upper clip or a KL"
                )
                numbers = {"entropy_at_first": mean(first), "entropy": mean(late)}
                findings.append(RuleAlarm("note" if solved else "warn", message, fix, numbers, model))
        return findings

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """The likeliest."""
        return scene.logp


@part
class off_policy:
    """What learns is far from what sampled: the KL between them, the mean of a token over the last `block` steps, is above
    `most` nats.

    0.05 is the larger of the two targets that Spinning Up's PPO names as usual (spinup/algos/pytorch/ppo/ppo.py, `target_kl`:
    "0.01 or 0.05"). It counts several updates on one batch, samples played ahead and a sampler that computes otherwise. *Warn*.
    """

    most: float = knob(default=0.05, gt=0.0)
    block: int = knob(default=8, ge=1)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        findings = []
        for name in past.names(*SAMPLED):
            late = past.last(name, self.block)
            if len(late) == self.block and mean(late) > self.most:
                what = "the sampling policy" if name.endswith("kl_sampler") else "the policy of before the update"
                message = (
                    f"{name.partition('/')[0]!r} is {mean(late):.3f} nats a token from {what}, over {self.block} steps"
                )
                fix = "a smaller learning rate, fewer updates on a batch, or a correction by the ratio (--set clipped.old=...)"
                findings.append(RuleAlarm("warn", message, fix, {"kl": mean(late)}, name))
        return findings

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """The least likely when they were sampled: there ratios are largest."""
        return -scene.logp


@part
class far_from_start:
    """The policy is far from the model that it is held to: the KL, the mean of a token over the last `block` steps, is above
    `most` nats.

    0.25 nats a token is what Ziegler et al. 2019 (arXiv:1909.08593) steer to: 6 nats for 24 tokens, 18 for 75
    (launch.py of openai/lm-human-preferences, `adaptive_kl.target`). *Warn*.
    """

    most: float = knob(default=0.25, gt=0.0)
    block: int = knob(default=8, ge=1)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        findings = []
        names = [n for n in (past.rows[-1] if past.rows else ()) if "/kl_" in n and not n.endswith(SAMPLED)]
        for name in sorted(names):
            late = past.last(name, self.block)
            if len(late) == self.block and mean(late) > self.most:
                model, _, other = name.partition("/kl_")
                message = f"{model!r} is {mean(late):.2f} nats a token from {other!r}, over the last {self.block} steps"
                fix = "check whether the gain is real (--truth), use a larger KL weight, or stop earlier"
                findings.append(RuleAlarm("warn", message, fix, {"kl": mean(late)}, name))
        return findings

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Those that the other model finds least likely, compared with the policy."""
        column = scene.batch.cols.get(f"{finding.about.partition('/kl_')[2]}.logp")
        if column is None or column.level != "step":
            return -scene.logp
        return scene.batch.up((scene.batch.logp - column.value).double().nan_to_num(), "track")
