"""Rewards that depend on how hard a problem is for the policy now: on the share of right tries in the group.

Easy problems are to be answered briefly, hard ones thought about, and which is which is to be said aloud.
They are arithmetic over the group, so a sample alone is a group of one.
Leaves out: what is right (any reward: 1 or True is, from `least` on).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Scores, numbers
from guerdon.rewards.formula.where import Where
from guerdon.rewards.text.length_budgets import used

RIGHT = 0.5  # from here on a try is right


def rates(right: Scores, group: Tensor) -> Tensor:
    """[N] the share of right tries in each sample's group, of those that have a score; NaN where none has."""
    rate = torch.full_like(right.value, float("nan"))
    for g in sorted({*group.tolist()}):
        own = group == g
        scored = right.value[own & right.valued]
        if len(scored):
            rate[own] = (scored >= RIGHT).double().mean()
    return rate


@part
class length_by_rate(Reward):
    r"""By the group's share $p$ of right tries and its median length $\tilde n$ (that of the right ones, of all where none
    is): for $p \ge$ `easy`, 1 for a right try with $n \le \tilde n$; for $p <$ `hard`, 1 for a wrong one with
    $n \ge \tilde n$; else 0.

    The adaptive length reward of DR. SAF (Chen et al. 2025, arXiv:2508.11582) as its released code has it: brevity is asked
    for only where the problem is within reach, and where it is not, those that fail are to have thought. Nothing about
    length is said between the two. With 8 tries, 0.95 is all of them and 0.9 less than all.

    >>> from guerdon import score_samples
    >>> def right(completion):
    ...     return completion.endswith("4")
    >>> said = [{"completion": text} for text in ("4", "so 4", "so it is 4")]
    >>> score_samples(length_by_rate(right, reward=used("words")), said).whole
    [1.0, 1.0, 0.0]
    """

    right: Any
    easy: float = knob(default=0.95, ge=0.0, le=1.0)  # the released code
    hard: float = knob(default=0.9, ge=0.0, le=1.0)  # the released code
    reward: Any = knob(factory=used)

    def __post_init__(self) -> None:
        self.right, self.reward = as_reward(self.right), as_reward(self.reward)

    @property
    def of(self) -> Mapping[str, Reward]:
        return {"right": self.right, self.reward.name: self.reward}

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        right, length = parts.values()
        rate, is_right = rates(right, where.group), right.value >= RIGHT
        easy, hard = rate >= where.now(self.easy), rate < where.now(self.hard)
        middle = self._medians(length, is_right, where.group)
        brief = easy & is_right & (length.value <= middle)
        thorough = hard & ~is_right & (length.value >= middle)
        reason = torch.maximum(right.reason, length.reason)
        return numbers((brief | (thorough & ~easy)).double(), reason)

    def _medians(self, length: Scores, is_right: Tensor, group: Tensor) -> Tensor:
        median = torch.full_like(length.value, float("nan"))
        for g in sorted({*group.tolist()}):
            own = (group == g) & length.valued
            among = own & is_right if bool((own & is_right).any()) else own
            if bool(among.any()):
                median[group == g] = torch.quantile(length.value[among], 0.5)
        return median

    def __str__(self) -> str:
        return f"length_by_rate({self.right})"


@part
class first_word(Leaf):
    """Which of `words` stands first in a completion, by its number; not applicable where none does. What comes after `until`
    is not looked at.

    >>> first_word(("EASY", "HARD"))("I say HARD, not EASY"), first_word(("EASY",))("UNEASY")
    (1.0, None)
    """

    words: tuple[str, ...]
    until: str = "</think>"

    def __post_init__(self) -> None:
        check_plain(self)
        if not self.words or not all(isinstance(word, str) and word for word in self.words):
            raise UserError(f"first_word.words holds words to look for, like ('EASY', 'HARD'), not {self.words!r}")

    def __call__(self, completion: str) -> float | None:
        seen = completion.split(self.until)[0] if self.until else completion
        match = re.search(rf"\b({'|'.join(map(re.escape, self.words))})\b", seen)
        return None if match is None else float(list(self.words).index(match[1]))


@part
class knows_limits(Reward):
    r"""For saying whether a problem lies within reach: `agree` if it is said to be easy and the group's share of right tries
    is `easy` or more, or said to be hard and the share is less; and `said` for saying either, though a try that calls the
    problem easy and fails gets none of it.

    The boundary self-awareness of DR. SAF (Chen et al. 2025, arXiv:2508.11582) as its released code has it, with its words:
    CFRB, a boundary that is completely within reach, and PFRB, one that is in part. The prompt has to ask for them.

    >>> from guerdon import score_samples
    >>> def right(completion):
    ...     return completion.endswith("4")
    >>> said = [{"completion": text} for text in ("CFRB 4", "PFRB 4", "4", "PFRB 4")]
    >>> [round(x, 2) for x in score_samples(knows_limits(right), said).whole]
    [0.32, 0.12, 0.0, 0.12]
    """

    right: Any
    agree: float = 0.2  # the released code
    said: float = 0.12  # the released code
    easy: float = knob(default=0.95, ge=0.0, le=1.0)  # the released code
    word: Any = knob(factory=lambda: first_word(("CFRB", "PFRB")))  # easy first

    def __post_init__(self) -> None:
        self.right, self.word = as_reward(self.right), as_reward(self.word)

    @property
    def of(self) -> Mapping[str, Reward]:
        return {"right": self.right, self.word.name: self.word}

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        right, word = parts.values()
        is_easy = rates(right, where.group) >= where.now(self.easy)
        calls_easy, calls_hard = word.value == 0, word.value == 1  # nothing said is neither
        agrees = torch.where(is_easy, calls_easy, calls_hard)
        is_honest = calls_hard | (calls_easy & (right.value >= RIGHT))
        reason = torch.where(
            word.reason == Reason.NOT_APPLICABLE, right.reason, torch.maximum(right.reason, word.reason)
        )
        return numbers(where.now(self.agree) * agrees.double() + where.now(self.said) * is_honest.double(), reason)

    def __str__(self) -> str:
        return f"knows_limits({self.right})"
