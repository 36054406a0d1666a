"""Rewards from the other tries at the same task: agreement with the most, and how many another reward puts below.

Leaves out: normalising within the group (`formula/algebra.py`), judges that compare two texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from math import log2
from typing import Any, ClassVar, Literal

import torch

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.reward import Around
from guerdon.rewards.formula.scores import Outcome, Scores, Where, numbers
from guerdon.rewards.text.overlap import vote
from guerdon.text.answers import MARKS

ONE_VOTE = "majority compares tries at one problem, and no try has more than one vote: --set tries=8"


@part
class majority(Leaf):
    r"""1 if a sample's answer is the most frequent one of its group, else 0: the majority as a pseudo-label
    (TTRL, Zuo et al. 2025, arXiv:2504.16084).

    The answer is the number, or the text (in any case, any space as one), that follows the last place of the first of
    `marks` that occurs; without one it is the last number, or the whole text, unless `fallback` is off. $m$ answers with the
    most votes earn $1/m$ each, what breaking the tie at random would pay on average; so a group in which all differ does
    not distinguish them. With `share` it is instead the share of the votes that went to the sample's answer.

    A completion without an answer cast no vote and earns 0. Where no sample of the group voted, and for a sample without
    a completion, it does not apply.

    `by` names what an ask notes of it, such as the wording that was shown or the model that was asked, and splits a group into
    sections. With `voters="others"` the votes are those of the other sections: a try is held to what tries at another wording
    agree on (Co-Reward, Zhang et al. 2025, arXiv:2508.00410). With `weighted` a vote counts the share of its section that its
    section's most frequent answer has, so that a model that agrees with itself counts for more (RLCCF, Yuan et al. 2025,
    arXiv:2508.12338).

    A single vote agrees with itself whatever it is. A run in which every try would be held to one vote is refused.

    Args:
        answer: what is compared: the last number, or the text.
        marks: the answer follows the last place of the first that occurs.
        fallback: without a mark take the last number, or the whole text.
        share: pay the share of the votes.
        by: key of what an ask notes, or of a task's meta, that splits a group into sections.
        voters: whose votes count: those of all, or of the other sections.
        weighted: votes count their section's agreement with itself.

    >>> import guerdon as gd
    >>> said = [{"completion": text} for text in ("so 4", "it is 4.0", "5", "who knows")]
    >>> gd.score_samples(gd.majority(), said).whole, gd.score_samples(gd.majority(share=True), said[:3]).whole
    ([1.0, 1.0, 0.0, 0.0], [0.6666666666666666, 0.6666666666666666, 0.3333333333333333])
    """

    answer: Literal["number", "text"] = "number"
    marks: tuple[str, ...] = MARKS
    fallback: bool = True
    share: bool = False
    by: str = knob(default="", absent="")
    voters: Literal["all", "others"] = knob(default="all", absent="all")
    weighted: bool = knob(default=False, absent=False)

    alone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_plain(self)
        if not all(isinstance(mark, str) and mark for mark in self.marks):
            raise UserError(f"majority.marks holds texts to look for, like ('####',), not {self.marks!r}")
        if not self.by and (self.weighted or self.voters != "all"):
            raise UserError(
                "majority: `voters` and `weighted` are about sections of a group: name what splits it, by='wording'"
            )

    def check_tries(self, tries: int) -> None:
        """Refuse so many tries at each problem, before anything is played."""
        if tries < 2 and not self.by:
            raise UserError(ONE_VOTE)

    async def score(self, samples: Samples) -> list[Outcome]:
        texts = [fields.get("completion") for fields in samples.fields]
        votes = [None if text is None else vote(text, self.answer, self.marks, self.fallback) for text in texts]
        places = self._places(samples)
        groups: dict[int, dict[str, list[Hashable | None]]] = {}
        for (group, section), choice in zip(places, votes, strict=True):
            groups.setdefault(group, {}).setdefault(section, []).append(choice)
        if samples.play is not None and places and not any(self._cast(groups[g], at) > 1 for g, at in places):
            raise UserError(ONE_VOTE)
        heard = {place: self._tally(groups[place[0]], place[1]) for place in places}
        return [
            Outcome(Reason.NOT_APPLICABLE) if text is None else self._outcome(heard[place], choice)
            for place, text, choice in zip(places, texts, votes, strict=True)
        ]

    def _places(self, samples: Samples) -> list[tuple[int, str]]:
        """Of each sample its group and its section there."""
        sections = [str(fields["meta"].get(self.by, "")) if self.by else "" for fields in samples.fields]
        return list(zip(samples.group.tolist(), sections, strict=True))

    def _heard(self, sections: Mapping[str, Sequence[Hashable | None]], own: str) -> list[Sequence[Hashable | None]]:
        """The sections whose votes a sample of the section `own` is held to."""
        return [votes for name, votes in sections.items() if self.voters == "all" or name != own]

    def _cast(self, sections: Mapping[str, Sequence[Hashable | None]], own: str) -> int:
        return sum(map(len, self._heard(sections, own)))

    def _tally(self, sections: Mapping[str, Sequence[Hashable | None]], own: str) -> dict[Hashable, Fraction]:
        """The weight of the votes for each answer."""
        tally: dict[Hashable, Fraction] = {}
        for votes in self._heard(sections, own):
            counted = Counter(choice for choice in votes if choice is not None)
            weight = Fraction(max(counted.values(), default=0), len(votes)) if self.weighted else Fraction(1)
            for choice, n in counted.items():
                tally[choice] = tally.get(choice, Fraction(0)) + weight * n
        return tally

    def _outcome(self, tally: Mapping[Hashable, Fraction], choice: Hashable | None) -> Outcome:
        if not tally:
            whose = "nobody in the group has" if self.voters == "all" else "none of the others has"
            return Outcome(Reason.NOT_APPLICABLE, detail={"why": f"{whose} an answer"})
        votes = tally.get(choice, Fraction(0))
        most, cast = max(tally.values()), sum(tally.values())
        tied = sum(n == most for n in tally.values())
        value = float(votes / cast) if self.share else (votes == most) / tied
        why = "no answer" if choice is None else f"{float(votes):g} of {float(cast):g} votes for {choice}"
        return Outcome(Reason.VALUE, value, {"why": why})


@part
class answer_entropy(Leaf):
    r"""$-\sum_a p_a\log_2 p_a$ over the answers of a sample's group; having none is an answer too.

    The same for all tries of a group: a number to gate or weigh by, which as a reward would teach nothing.

    Args:
        answer: what is compared: the last number, or the text.
        marks: the answer follows the last place of the first that occurs.
        fallback: without a mark take the last number, or the whole text.

    >>> import guerdon as gd
    >>> said = [{"completion": text} for text in ("so 4", "it is 4.0", "5", "who knows")]
    >>> gd.score_samples(gd.rewards.answer_entropy(), said).whole
    [1.5, 1.5, 1.5, 1.5]
    """

    answer: Literal["number", "text"] = "number"
    marks: tuple[str, ...] = MARKS
    fallback: bool = True

    alone: ClassVar[bool] = False

    async def score(self, samples: Samples) -> list[Outcome]:
        groups, texts = samples.group.tolist(), [fields.get("completion") for fields in samples.fields]
        tally: dict[int, Counter[Hashable | None]] = {group: Counter() for group in groups}
        for group, text in zip(groups, texts, strict=True):
            if text is not None:
                tally[group][vote(text, self.answer, self.marks, self.fallback)] += 1
        bits = {group: -sum(n * log2(n / each.total()) for n in each.values()) for group, each in tally.items()}
        return [
            Outcome(Reason.NOT_APPLICABLE)
            if text is None
            else Outcome(Reason.VALUE, bits[group] / tally[group].total())
            for group, text in zip(groups, texts, strict=True)
        ]


@part
class win_rate(Around):
    r"""$\frac{1}{n-1}\sum_{j \ne i} \left([r_j < r_i] + \tfrac12 [r_j = r_i]\right)$: the share of a sample's group that it
    beats under another reward, ties half.

    It keeps the order that a reward gives and forgets its scale, so outliers count as any other win. Samples without a value
    keep their reason and count in no comparison; for the only one of its group with a value the win rate does not apply.

    Args:
        reward: the reward that is compared.

    >>> import guerdon as gd
    >>> brief = gd.win_rate(gd.length(1, margin=9, unit="words"))
    >>> print(brief, gd.score_samples(brief, [{"completion": text} for text in ("a", "b c", "d e f", "g h i")]).whole)
    win_rate(length) [1.0, 0.6666666666666666, 0.16666666666666666, 0.16666666666666666]
    """

    reward: Any

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        value, reason = inner.value.clone(), inner.reason.clone()
        for g in sorted({*where.group.tolist()}):
            own = torch.nonzero((where.group == g) & inner.valued).flatten()
            if len(own) == 1:
                reason[own] = int(Reason.NOT_APPLICABLE)
            elif len(own):
                x = inner.value[own]
                ranked = x.sort().values
                below, upto = torch.searchsorted(ranked, x), torch.searchsorted(ranked, x, right=True)
                value[own] = (below + 0.5 * (upto - below - 1)).double() / (len(own) - 1)
        return numbers(value, reason)

    def __str__(self) -> str:
        return f"win_rate({self.reward})"
