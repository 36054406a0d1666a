"""Search over whole answers: voting among many, revising one, and the best of several by a value.

Votes take the answer that most tries, or most of their weight, agree on; a revision shows the model its answer again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask
from guerdon.search.line_tree import Keep, LineTree, OneRole, TreeLine, best, view_of
from guerdon.search.step_scorers import value_scorer, worth
from guerdon.tasks.role_wordings import ROLE_WORDINGS
from guerdon.text.answers import MARKS
from guerdon.text.answers import vote as answer_of


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

    Args:
        tries: number of answers.
        scorer: weight of a vote; 1 without it.
        answer: what is compared: the last number, or the text.
        fallback: without a mark take the last number, or the whole text.
        lines: the most lines of an answer.
        keep: what the batch holds: the whole tree, or the chosen path.
        role: the role that searches.

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


@part
class revise(OneRole):
    """An answer, then `rounds` revisions, each of the one before it, which is shown in `template` (sequential revisions, Snell
    et al. 2024, arXiv:2408.03314; Self-Refine, Madaan et al. 2023, arXiv:2303.17651, without its feedback).

    The answer is the last, or with a `scorer` the one that it likes best, which it reads as an answer to what was asked. The
    template is that of the role `revise`: sprig's words for sprig, a sentence for other models, or your own. Each revision is a
    track of its own that was shown the template alone. It helps a model that can find what is wrong with an answer, and harms
    one that changes right ones. `keep` and the limits are as in `beam`.

    Args:
        rounds: number of revisions.
        template: what is shown, with `{prompt}` and `{answer}`; `--set roles.revise=FILE` sets it too.
        scorer: selects the answer; the last one without it.
        keep: what the batch holds: the whole tree, or the chosen path.
        role: the role that searches.

    >>> import guerdon as gd
    >>> gd.search.revise(rounds=2, template="{prompt} You said: {answer} Is that right? Answer again.").rounds
    2
    """

    rounds: int = knob(default=1, ge=1)
    template: str = ROLE_WORDINGS["revise"].knob(joined=False, question="prompt")
    scorer: Any = None
    keep: Keep = "tree"
    role: str = "policy"

    def __post_init__(self) -> None:
        for name in ("{prompt}", "{answer}"):
            if name not in self.template:
                raise UserError(f"the template of revise shows no {name}: write it where that stands")

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask)
        answers = await tree.grow([None], whole=True)
        for _ in range(self.rounds):
            told = self.template.format(prompt=ask.shown, answer=answers[-1].text)
            answers += await tree.grow([None], whole=True, view=view_of(ask.shown, told))
        chosen = answers[-1]
        if self.scorer is not None:
            chosen = best(answers, await self.scorer.texts(tree, [line.text for line in answers]))
        return tree.episode(chosen, self.keep)


@part
class best_whole(OneRole):
    r"""$\operatorname{argmax}_i V(y_i)$ over `tries` whole answers: the one that `scorer` values most at its end.

    The baseline of searches by values, at as many tokens. `keep` is as in `beam`.

    Args:
        tries: answers that are sampled.
        scorer: what gives an answer its value, such as `value_scorer`.
        keep: which of the answers stay in the episode.
        role: the role that answers.

    >>> import guerdon as gd
    >>> gd.search.best_whole(tries=4).roles
    ('policy',)
    """

    tries: int = knob(default=8, ge=1)
    scorer: Any = knob(factory=value_scorer)
    keep: Keep = "tree"
    role: str = "policy"

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask)
        ends = await tree.grow([None] * self.tries, whole=True)
        return tree.episode(best(ends, await worth(self.scorer, tree, ends)), self.keep)
