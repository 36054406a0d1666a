"""NFT: right tries are imitated, and wrong ones teach through the policy that would have made them.

Paper: Chen et al. 2025, Bridging supervised learning and reinforcement learning (arXiv:2505.18116); code: NVlabs/NFT,
dp_actor.py (the loss) and train_7B.sh (one minus the rate, floor 1, ratios of tokens). A problem that is solved at a rate r
has a policy of its wrong answers, (old - r new) / (1 - r), under which a wrong try is made likelier, through R = new / old.
With one update a batch R is 1, and the gradient is that of `dr_grpo`, to the bit: take more by `--set learn.updates=4`, where
the two differ. Different: the mean over tries of sums over the longest length, where the code has sums over 1000. Leaves out:
ratios of whole answers, more tries in place of groups all alike (`until_enough`), a clamp of the log-ratio at 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.policy import Bound, PolicyLoss
from guerdon.losses.reduce import Mean
from guerdon.recipes.house.dr_grpo import dr_grpo
from guerdon.recipes.house.shared import loss_and_penalties

HELD = 0.02  # how near to 0 and 1 a rate may come; the released code


@recipe("nft", family="policy", paper="arXiv:2505.18116", on=dr_grpo, needs=Needs(answers="reward"))
def nft(
    base: Recipe,
    *,
    by: Literal["failures", "odds"] = "failures",  # a problem's weight: 1 - rate, or the root of (1 - rate) / rate
    negative: float = 1.0,  # weight of wrong tries; 0 imitates the right ones alone, rejection sampling
    floor: float = 1.0,  # least likelihood ratio of the wrong answers' policy; the released code
) -> Recipe:
    """Dr. GRPO's tries, learned by likelihood alone: right ones, and wrong ones through an implicit policy."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    first, others = loss_and_penalties(learner)
    loss = negative_aware(by, negative, floor, credit.reward, mean=first.mean, constant=first.constant)
    learner.loss = sum(others, start=loss)
    return base


@part
class negative_aware(PolicyLoss):
    r"""$-w\log R$ for right tries and $-w\log\max\{(1-rR)/(1-r),\ floor\}$ for wrong ones, with $R=\pi/\pi_{old}$ of a step,
    $r$ the rate of right tries at the problem and $w=1-r$, or $\sqrt{(1-r)/r}$.

    The gradient passes the `max`. Assumes verdicts of 0 and 1, and advantages that are the verdict minus the rate, from which
    the rate is read: `centre(std=False)`. At $R=1$ the gradient is that of `clipped` with these advantages, and *biased* as
    they are; after that it is that of imitation, for both policies (Chen et al. 2025, arXiv:2505.18116).

    >>> import torch
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], advantage=[0.5, -0.5])  # sampled with log-prob 0
    >>> logp = torch.tensor([0.0, 0.0], requires_grad=True)
    >>> negative_aware()(batch, {"logp": logp, "entropy": torch.zeros(2)})[0].backward()
    >>> logp.grad.tolist()
    [-0.25, 0.25]
    """

    by: Literal["failures", "odds"] = "failures"
    negative: float = knob(default=1.0, ge=0.0)
    floor: float = knob(default=1.0, gt=0.0)
    reward: str = "reward"
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    advantage: str = "advantage"

    low, high, ratio, old = 0.0, 0.0, "step", None  # nothing is clipped, and the ratio is to the log-probs of sampling

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.advantage, self.reward)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        verdict = batch.track_column(self.reward, "nft").value
        for other in verdict[(verdict != 0) & (verdict != 1)].tolist():
            raise UserError(f"nft takes verdicts of 0 or 1, and a try has {other:g}: use dr_grpo for other rewards")
        return super().__call__(batch, live)

    def surrogate(
        self, ratio: Tensor, advantage: Tensor, logp: Tensor, low: Bound, high: Bound
    ) -> tuple[Tensor, Tensor]:
        exact, kind = ratio.double(), ratio.dtype  # at a ratio of 1 the gradient is the advantage to the last bit
        right, alike = advantage > 0, advantage == 0  # a group all alike teaches nothing
        rate = torch.where(right, 1 - advantage.double(), -advantage.double()).clamp(HELD, 1 - HELD)
        other = (1 - rate * exact) / (1 - rate)
        floored = other + (other.clamp(min=self.floor) - other).detach()
        gain = torch.where(right, exact.log(), self.negative * floored.log())
        weight = 1 - rate if self.by == "failures" else ((1 - rate) / rate).sqrt()
        return torch.where(alike, 0.0, -weight * gain).to(kind), ~right & ~alike & (other < self.floor)
