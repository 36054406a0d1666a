"""Judges that compare the tries at one task: two at a time, or all in one question. Values are from 0 to 1.

A judge prefers what stands first, or last, for no better reason (Zheng et al. 2023, arXiv:2306.05685).
So every comparison is made in two orders.
Left out: ratings that carry over from group to group.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import live, part, state
from guerdon.core.seeds import derive
from guerdon.judges.answerer import JudgeQuestion, Tally
from guerdon.judges.judging import (
    LISTWISE,
    PAIRWISE,
    PAIRWISE_SURE,
    Judging,
    Verdict,
    VerdictQuestion,
    check_places,
    expected,
    failed,
    filled,
    one_of,
    ranking,
    text_of,
)
from guerdon.judges.local_models import as_answerer
from guerdon.judges.pointwise import plays_role, texts_of_group
from guerdon.rewards.asking.samples import Against, Samples, check_against, opponents
from guerdon.rewards.formula.scores import Outcome
from guerdon.tasks.roles import prefer_view

BETTER = "Which answer to this task is better: more right, complete and clear?"
PAIR_PLACES = ("question", "prompt", "answer", "first", "second", "mark", "form")
LIST_PLACES = ("question", "prompt", "answer", "answers", "mark", "form")
FIRST_WINS = {"a": 1.0, "b": 0.0, "tie": 0.5}
TIE = 0.5
VERDICTS = '"Verdict: A", "Verdict: B" or "Verdict: tie"'

Pair = tuple[int, int]


@part
class pairwise(Judging):
    """How often a sample beats the others of its group: (wins + ties / 2) / comparisons.

    Each pair is shown in both orders, and a win counts only where both agree; anything else is a tie. `against` is "all",
    a number of opponents that each sample draws, or "one": each group draws one sample that all others meet, and which is
    itself *not applicable*. With `sure` a comparison is the mean over both orders of the probability
    that it wins, as in `judge`. Equal completions tie unasked. A sample that is alone is *not
    applicable*; a pair without a verdict is dropped, and a sample with no pair left *failed*.

    Source: Zheng et al. 2023, arXiv:2306.05685, pairwise comparison with swapped positions.

    A judge that always prefers the first carries no information:

    Args:
        by: what judges, as in `judge`.
        question: what is asked about a pair.
        against: number of opponents of each sample, "all", or "one" that the group draws for all.
        sure: use the probabilities of both words in place of the sampled one.
        prompt: template in place of the built-in one.
        name: name in metrics.

    >>> import guerdon as gd
    >>> @gd.part
    ... class says(gd.Answerer):
    ...     text: str
    ...     async def answer(self, questions, models):
    ...         return [gd.JudgeAnswer(self.text) for _ in questions]
    >>> tries = [{"prompt": "2+2", "completion": "4"}, {"prompt": "2+2", "completion": "5"}]
    >>> gd.score_samples(gd.pairwise(says("Verdict: A")), tries).whole
    [0.5, 0.5]
    """

    by: Any
    question: str = ""
    against: Against = "all"
    sure: bool = False
    prompt: str = ""
    name: str = "pairwise"

    alone = False
    total: Tally = state(factory=dict)
    since: Any = live()

    def __post_init__(self) -> None:
        self.by = as_answerer(self.by)
        check_against(self.name, self.against)
        check_places(f"{self.name}.prompt", self.prompt, PAIR_PLACES)

    async def score(self, samples: Samples) -> list[Outcome]:
        in_role = plays_role(self, samples)
        drawn = opponents(samples, self.against)
        texts = [text_of(fields, "completion", self.name) for fields in samples.fields]
        pairs = sorted({(min(i, j), max(i, j)) for i, others in enumerate(drawn) for j in others})
        unequal = [pair for pair in pairs if texts[pair[0]] != texts[pair[1]]]
        orders = [order for i, j in unequal for order in ((i, j), (j, i))]
        verdicts = await self.put([self._question(samples, order, in_role) for order in orders], samples)
        by_order = dict(zip(orders, verdicts, strict=True))
        return [self._outcome(i, others, by_order) for i, others in enumerate(drawn)]

    def _question(self, samples: Samples, order: Pair, in_role: bool) -> VerdictQuestion:
        group = [samples.fields[n] for n in order]
        first, second = (text_of(fields, "completion", self.name) for fields in group)
        seed = samples.seeds[min(order)]
        if in_role:
            text = prefer_view(text_of(group[0], "prompt", self.name), first, second)
        else:
            texts = {**texts_of_group(self, group, self.question or BETTER), "first": first, "second": second}
            template = self.prompt or (PAIRWISE_SURE if self.sure else PAIRWISE)
            text = filled(template, {**texts, "form": "A or B" if self.sure else VERDICTS})
        choices = ("a", "b") if self.sure else ()
        question = JudgeQuestion((("user", text),), choices, in_role and self.sure, seed=seed)
        read = expected(FIRST_WINS) if self.sure else one_of(FIRST_WINS)
        return VerdictQuestion(question, read, VERDICTS, in_role)

    def _outcome(self, me: int, others: Sequence[int], by_order: Mapping[Pair, Verdict]) -> Outcome:
        if not others:
            return Outcome(Reason.NOT_APPLICABLE)
        points, words, broken = [], [], []
        for other in others:
            orders = [by_order[order] for order in ((me, other), (other, me)) if order in by_order]
            if any(each.broken for each in orders):
                broken += [each for each in orders if each.broken]
                continue
            points.append(self._point(*(each.value for each in orders)) if orders else TIE)
            words += [each.words for each in orders if each.words]
        if not points:
            return failed(broken[0])
        counts = {
            "wins": [p > TIE for p in points],
            "ties": [p == TIE for p in points],
            "losses": [p < TIE for p in points],
        }
        parts = {**{name: float(sum(each)) for name, each in counts.items()}, "unknown": float(len(broken))}
        why = {"why": "\n---\n".join(words)} if words else {}
        return Outcome(Reason.VALUE, sum(points) / len(points), {**why, "parts": parts})

    def _point(self, shown_first: float, other_shown_first: float) -> float:
        """What a sample wins by two verdicts on "the first wins": a point where both orders give it, none where both deny it.

        With `sure`, the mean of both."""
        mine, theirs = shown_first, 1.0 - other_shown_first
        if self.sure:
            return (mine + theirs) / 2
        return mine if mine == theirs else TIE


@part
class listwise(Judging):
    """A sample's rank among its group, from one question about all of them: 1 for the best, 0 for the worst (Borda count).

    The question is asked in two orders, as the samples come and shuffled by seed, and the ranks are averaged; equal
    completions get their mean. A sample that is alone is *not applicable*; where one order gave no ranking, the group
    *failed*. `sprig` does not rank: use `pairwise`.

    Args:
        by: what judges, as in `judge`.
        question: what is asked about the group.
        prompt: template in place of the built-in one.
        name: name in metrics.

    >>> import guerdon as gd
    >>> @gd.part
    ... class says(gd.Answerer):
    ...     text: str
    ...     async def answer(self, questions, models):
    ...         return [gd.JudgeAnswer(self.text) for _ in questions]
    >>> tries = [{"prompt": "2+2", "completion": "4"}, {"prompt": "2+2", "completion": "5"}]
    >>> gd.score_samples(gd.listwise(says("Verdict: 1 > 2")), tries).whole  # whichever stands first
    [0.5, 0.5]
    """

    by: Any
    question: str = ""
    prompt: str = ""
    name: str = "listwise"

    alone = False
    total: Tally = state(factory=dict)
    since: Any = live()

    def __post_init__(self) -> None:
        self.by = as_answerer(self.by)
        check_places(f"{self.name}.prompt", self.prompt, LIST_PLACES)

    async def score(self, samples: Samples) -> list[Outcome]:
        if plays_role(self, samples):
            raise UserError(f"{self.name}: sprig does not rank, it compares two solutions: use pairwise")
        groups: dict[int, list[int]] = {}
        for i, g in enumerate(samples.group.tolist()):
            groups.setdefault(g, []).append(i)
        many = [members for members in groups.values() if len(members) > 1]
        orders = [order for members in many for order in (members, _shuffled(members, samples.seeds[members[0]]))]
        verdicts = await self.put([self._question(samples, order) for order in orders], samples)
        outcomes = [Outcome(Reason.NOT_APPLICABLE)] * len(samples)
        for at, members in enumerate(many):
            both = list(zip(orders[2 * at : 2 * at + 2], verdicts[2 * at : 2 * at + 2], strict=True))
            texts = [text_of(samples.fields[i], "completion", self.name) for i in members]
            for i, outcome in zip(members, _ranked(members, texts, both), strict=True):
                outcomes[i] = outcome
        return outcomes

    def _question(self, samples: Samples, order: Sequence[int]) -> VerdictQuestion:
        group = [samples.fields[i] for i in order]
        texts = texts_of_group(self, group, self.question or BETTER)
        shown = (
            f"<answer {n} {texts['mark']}>\n{text_of(fields, 'completion', self.name)}\n</answer {n} {texts['mark']}>"
            for n, fields in enumerate(group, start=1)
        )
        form = (
            f'"Verdict: {" > ".join("N" for _ in order)}" with each number from 1 to {len(order)} once, the best first'
        )
        text = filled(self.prompt or LISTWISE, {**texts, "answers": "\n\n".join(shown), "form": form})
        question = JudgeQuestion((("user", text),), seed=samples.seeds[order[0]])
        return VerdictQuestion(question, ranking(len(order)), form)


def _shuffled(members: Sequence[int], seed: int) -> list[int]:
    """Another order of them: of all but the one there is, each as likely."""
    draw = random.Random(derive(seed, "order"))
    if len(members) == 2:
        return [members[1], members[0]]
    while True:
        order = draw.sample(list(members), len(members))
        if order != list(members):
            return order


def _ranked(
    members: Sequence[int], texts: Sequence[str], both: Sequence[tuple[Sequence[int], Verdict]]
) -> list[Outcome]:
    """The mean Borda count of each member of a group; equal texts share theirs."""
    broken = [verdict for _, verdict in both if verdict.broken]
    if broken:
        return [failed(broken[0])] * len(members)
    points = dict.fromkeys(members, 0.0)
    last = len(members) - 1
    for order, verdict in both:
        for rank, place in enumerate(verdict.value):
            points[order[place]] += (last - rank) / last / len(both)
    alike: dict[str, list[float]] = {}
    for i, text in zip(members, texts, strict=True):
        alike.setdefault(text, []).append(points[i])
    why = "\n---\n".join(verdict.words for _, verdict in both)
    return [Outcome(Reason.VALUE, sum(alike[text]) / len(alike[text]), {"why": why}) for text in texts]
