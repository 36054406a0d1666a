"""Votes: many answers, and the one that most of them, or most of their weight, agree on."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

from guerdon.core.answer_text import MARKS
from guerdon.core.answer_votes import vote as answer_of
from guerdon.core.episode import Episode
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask
from guerdon.search.line_tree import Keep, LineTree, OneRole, TreeLine
from guerdon.search.step_scorers import worth


@part
class vote(OneRole):
    r"""$\operatorname{argmax}_a \sum_i w_i [a_i = a]$ over `tries` answers: with $w_i = 1$ the most common one
    (self-consistency, Wang et al. 2022, arXiv:2203.11171), with a `scorer` the one with the most weight (Li et al. 2023,
    arXiv:2206.02336).

    What is chosen is the try that gave it; of several, the one with the most weight, or the first. Of answers with as many
    votes it is the one that came first. Tries without an answer do not vote; where none votes, the try with the most weight is
    chosen. What an answer is, is as in the exam `majority_vote`: what follows the last place of the first of `marks` that
    occurs, else the whole text or its last number. Weights should not be negative: `value_scorer` gives probabilities. With a
    scorer tries are sampled line by line, so that it is read at the ends of lines. `keep` and the limits are as in `beam`.

    >>> import guerdon as gd
    >>> gd.search.vote(tries=8).scorer is None, gd.search.vote(8, scorer=gd.search.value_scorer("prm")).tries
    (True, 8)
    """

    tries: int = knob(default=8, ge=1)
    scorer: Any = None
    answer: Literal["number", "text"] = "text"
    marks: tuple[str, ...] = (*MARKS, "\n= ")  # the last is how our own families write an answer
    fallback: bool = True
    lines: int = knob(default=64, ge=1)
    keep: Keep = "tree"
    role: str = "policy"

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask, lines=self.lines)
        if self.scorer is None:
            ends = await tree.grow([None] * self.tries, whole=True)
            return tree.episode(self._elected(ends, [1.0] * len(ends)), self.keep)
        ends = await tree.to_the_end(self.tries)
        return tree.episode(self._elected(ends, await worth(self.scorer, tree, ends)), self.keep)

    def _elected(self, ends: list[TreeLine], weights: list[float]) -> TreeLine:
        tally: dict[Hashable, float] = {}
        answers = [answer_of(f"\n{line.text}", self.answer, self.marks, self.fallback) for line in ends]
        for given, weight in zip(answers, weights, strict=True):
            if given is not None:
                tally[given] = tally.get(given, 0.0) + weight
        elected = max(tally, key=tally.__getitem__) if tally else None
        able = [i for i, given in enumerate(answers) if given == elected]
        return ends[max(able, key=weights.__getitem__)]
