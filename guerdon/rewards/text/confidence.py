"""A confidence that a text states, and what it is paid once the truth is known.

Leaves out: confidences that are read from a model's probabilities (`rewards/model/confidence.py`), forecasts of rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from guerdon.core.column import Reason
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.formula.reward import Reward, as_reward, shown
from guerdon.rewards.formula.scores import Scores, Where, numbers
from guerdon.text.verdicts import read_number


@part
class stated_confidence(Leaf):
    r"""$n / top$ for the whole number $n$ from 0 to `top` that a completion states as its confidence: the last one after
    `label`. Where it states none, or one outside of the scale, it does not apply: that is no confidence of 0.

    Args:
        label: the word that the number follows.
        top: end of the scale.

    >>> import guerdon as gd
    >>> [gd.rewards.stated_confidence()(text) for text in ("so 4\nConfidence: 7", "Confidence: 3/10", "Confidence: high")]
    [0.7, 0.3, None]
    """

    label: str = "confidence"
    top: int = knob(default=10, ge=1)

    def __post_init__(self) -> None:
        check_plain(self)

    def __call__(self, completion: str) -> float | None:
        number = read_number(completion, 0, self.top, self.label)
        return None if number is None else number / self.top


@part
class brier_pay(Reward):
    r"""$2\left(\tfrac12 - (c - p)^2\right)$ for a confidence $p$ in an answer that is $c$ right, both from 0 to 1: between -1,
    for being sure of a wrong one, and 1; `unreadable` where no confidence is stated.

    Stating $p$ has the highest expected pay where $p$ is the probability of being right (Brier 1950): it pays for knowing,
    not for being right, as a wrong answer with $p = 0$ earns 1 too. SaySelf's reward (Xu et al. 2024, arXiv:2405.20974). A
    confidence that failed, other than one that is not stated, makes the pay *failed*; an answer without a verdict has none.

    Args:
        right: how right the answer is.
        confidence: the confidence in it.
        unreadable: pay where the confidence does not apply.

    >>> import guerdon as gd
    >>> pay = gd.rewards.brier_pay(gd.exact(mark="Answer:"), gd.rewards.stated_confidence())
    >>> said = ["Confidence: 10 Answer: 4", "Confidence: 10 Answer: 5", "Confidence: 0 Answer: 5", "Answer: 4"]
    >>> gd.score_samples(pay, [{"completion": text, "answer": "4"} for text in said]).whole
    [1.0, -1.0, 1.0, -1.0]
    """

    right: Any
    confidence: Any
    unreadable: float = -1.0

    def __post_init__(self) -> None:
        self.right, self.confidence = as_reward(self.right), as_reward(self.confidence)

    @property
    def of(self) -> Mapping[str, Reward]:
        return {"right": self.right, "confidence": self.confidence}

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        right, confidence = parts["right"], parts["confidence"]
        unread = confidence.reason == Reason.NOT_APPLICABLE
        pay = 2 * (0.5 - (right.value - confidence.value) ** 2)
        reason = torch.maximum(right.reason, torch.where(unread, int(Reason.VALUE), confidence.reason))
        return numbers(torch.where(unread, where.now(self.unreadable), pay), reason.to(torch.int8))

    def __str__(self) -> str:
        return f"brier_pay({self.right}, {self.confidence}, {shown(self.unreadable)})"
