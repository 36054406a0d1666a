"""PEAR: a right answer is paid less for high entropy while thinking, by as much as it exceeds that of the answer.

Paper: Huang et al. 2025 (arXiv:2510.08026), read in its abstract and summaries; of the code, iNLP-Lab/PEAR, the README with its
settings. A try is cut at the mark that ends its thinking. With the mean entropies of the sampling policy's tokens before and
after it, P = max(0, H_think - alpha H_answer), and a right try is paid min(1, s - P), s being its score; any other is paid a
fixed format score. The rest is GRPO. It shortens answers where entropy follows length, which is the paper's observation of
large reasoning models: look at it first, for `reward.think` is recorded beside the length of every try. A right try without the
mark has no phases, and no reward: it is not learned from. Different: the mark itself belongs to neither phase; alpha is the
best one that the summaries name. Leaves out: filtering of tokens by entropy, which the paper uses for analysis alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Scores, Where, numbers
from guerdon.rewards.model.confidence import span_mean

RIGHT = 0.5  # the least score of a right try, as in exams
MARKS = ("</think>", "\n= ")  # of reasoning models, as in the paper; of sprig


@recipe(
    "pear",
    family="self_reward",
    paper="arXiv:2510.08026",
    on=grpo,
    needs=Needs(text=True),
    helps=("long-answers",),
)
def pear(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    alpha: float = 1.0,  # of the entropy of the answer that is tolerated; best in the paper, by summaries
    formed: float = 0.0,  # what a wrong try is paid: format_score of the README
    marks: tuple[str, ...] = MARKS,  # thinking ends at the last place of the first that occurs
) -> Recipe:
    """GRPO with less pay for entropy while thinking."""
    phases = {over: span_mean("entropy", over=over, marks=marks) for over in ("before", "after")}
    return paid_by(base, phase_pay(worth(task, reward), phases["before"], phases["after"], alpha, formed))


@part
class phase_pay(Reward):
    r"""$\min\big(1, s - \max(0, H_1 - \alpha H_2)\big)$ where the score $s$ of `right` is at least 1/2, `formed` where it is
    lower. Where a phase does not apply a right try has no pay (arXiv:2510.08026).

    >>> import guerdon as gd
    >>> right, think, said = (gd.reward(lambda meta, name=name: meta[name], isolate=False) for name in ("s", "h", "a"))
    >>> tries = [{"meta": {"s": s, "h": 0.6, "a": 0.2}} for s in (1.0, 0.0)]
    >>> [round(x, 4) for x in gd.score_samples(phase_pay(right, think, said), tries).whole]
    [0.6, 0.0]
    """

    right: Any
    think: Any
    said: Any
    alpha: float = knob(default=1.0, ge=0.0)
    formed: float = 0.0

    def __post_init__(self) -> None:
        self.right, self.think, self.said = map(as_reward, (self.right, self.think, self.said))

    @property
    def of(self) -> Mapping[str, Reward]:
        return {"right": self.right, "think": self.think, "said": self.said}

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        right, think, said = parts["right"], parts["think"], parts["said"]
        is_right = right.value >= RIGHT
        excess = (think.value - where.now(self.alpha) * said.value).clamp(min=0.0)
        pay = torch.where(is_right, (right.value - excess).clamp(max=1.0), where.now(self.formed))
        missing = torch.maximum(think.reason, said.reason)  # the worse of the two
        return numbers(pay, torch.where(is_right, missing, right.reason))

    def __str__(self) -> str:
        return f"phase_pay({self.right})"
