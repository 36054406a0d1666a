"""Rewards by how hard a problem is for the policy now, and a baseline that no right try lies below: the parts of DR. SAF.

How hard a problem is, is the share of right tries in its group. Easy problems are to be answered briefly, hard ones thought
about, and which is which is to be said aloud. The rewards are arithmetic over the group, so a sample alone is a group of one.
Leaves out: what is right (any reward: 1 or True is, from `RIGHT` on).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up, moments
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import in_all, to_steps, with_step_column
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Scores, Where, numbers
from guerdon.rewards.text.length_budgets import used

RIGHT = 0.5  # from here on a try is right


def rates(right: Scores, group: Tensor) -> Tensor:
    """[N] the share of right tries in each sample's group, of those that have a score; NaN where none has."""
    share = torch.full_like(right.value, float("nan"))
    for g in sorted({*group.tolist()}):
        own = group == g
        scored = right.value[own & right.valued]
        if len(scored):
            share[own] = (scored >= RIGHT).double().mean()
    return share


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
    >>> samples = [{"completion": text} for text in ("4", "so 4", "so it is 4")]
    >>> score_samples(length_by_rate(right, reward=used("words")), samples).whole
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
        medians = torch.full_like(length.value, float("nan"))
        for g in sorted({*group.tolist()}):
            own = (group == g) & length.valued
            among = own & is_right if bool((own & is_right).any()) else own
            if bool(among.any()):
                medians[group == g] = torch.quantile(length.value[among], 0.5)
        return medians

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
    >>> samples = [{"completion": text} for text in ("CFRB 4", "PFRB 4", "4", "PFRB 4")]
    >>> [round(x, 2) for x in score_samples(knows_limits(right), samples).whole]
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


@part(name="sparing", aliases=("spare_correct",))
class spare_correct(FieldColumns):
    r"""$A = (r - b) / (s + \epsilon)$ with $b = \min(\bar r,\ \min_{right} r_j)$ over the group: where the mean lies above
    the worst of the right tries, that one is the baseline, so no right try is pushed down. $s$ is the group's sample
    deviation; `std=False` leaves the division out.

    The boundary preservation of DR. SAF (Chen et al. 2025, arXiv:2508.11582) as its released code has it. A reward for short
    answers would otherwise take from those that are right and long. A track is right where column `right` is `least` or
    more; the code asks whether the reward is above 0.5, which with its weights is the same.

    *Assumes* that being right is worth more than all else in the reward together; otherwise a baseline this low lifts wrong
    tries too. *Biased* as `centre` is, and where the worst right try is the baseline, by choosing it among the rewards: what
    is left there is how much better than the worst a try is, never worse.

    A group without a right try is centred. A row without a value is in no statistic and gets no advantage; the only value
    of a group gets 0. Logs `NAME/spared`, the share of groups whose baseline was lowered.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> stage = spare_correct(right="reward", std=False)
    >>> stage(example_tries([[1.0, 1.0, 1.5], [0.0, 1.0]]), ExamplePlay())["advantage"].tolist()
    [0.0, 0.0, 0.5, -0.5, 0.5]
    """

    reward: Needs = "reward"
    right: Needs = "correct"
    least: float = 0.5
    by: Group = "task"
    std: bool = True
    eps: float = knob(default=1e-4, ge=0.0)  # TRL's, as centre's
    gives_to: Gives = "advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        group, size = batch.group(self.by)
        reward_K = in_all(batch, column)
        right_K = in_all(batch, batch.cols[self.right]) >= play.at(self.least)  # no value is not right
        count, mean, spread = moments(reward_K, group, size)
        worst = gather_up(torch.where(right_K, reward_K, float("nan")), group, size, "min")
        lower = (worst < mean) & (spread > 0)
        play.log(**{f"{self.gives_to}/spared": float(lower.sum()) / max(int((count > 0).sum()), 1)})
        gap_K = reward_K - torch.where(lower, worst, mean)[group]
        if self.std:
            scale, eps = spread[group], play.at(self.eps)
            gap_K = gap_K / (scale + eps if eps else scale.masked_fill(scale == 0, 1.0))
        return with_step_column(batch, self.gives_to, to_steps(batch, gap_K.to(column.value.dtype)), column)
