"""Beam search over lines, and beam search that looks ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask
from guerdon.search.line_tree import Keep, LineTree, OneRole, TreeLine, best, distinct
from guerdon.search.step_scorers import value_scorer, worth


@part
class beam(OneRole):
    """Beam search over lines (Snell et al. 2024, arXiv:2408.03314): of every way that is kept `branch` next lines are sampled,
    the `width` that `scorer` likes best are kept, and so on until all that are kept are over. The best of those is the answer.

    `width=1` is greedy step search. The first lines are `width * branch`; ways with equal text are one; a way that is over
    keeps its place among the kept for as long as it is liked. With one way (`width=1, branch=1`) it is plain sampling, line by
    line. Biased as the scorer is: many ways find what it overrates. A model at temperature 0 has one way on: branch at another.

    An answer has the ask's `max_tokens` and at most `lines` lines. `keep="tree"` returns every line that was sampled, for
    training; `keep="chosen"` the chosen way, for exams: all of it is counted either way.

    Args:
        width: paths that are kept.
        branch: next lines sampled for each.
        scorer: value of a partial path.
        lines: the most lines of a path.
        stop: end of a line.
        keep: what the batch holds: the whole tree, or the chosen path.
        role: the role that searches.

    >>> import guerdon as gd
    >>> step_by_step = gd.search.beam(width=1, branch=4, scorer=gd.search.value_scorer("prm"))
    >>> step_by_step.roles
    ('policy',)
    """

    width: int = knob(default=4, ge=1)
    branch: int = knob(default=4, ge=1)
    scorer: Any = knob(factory=value_scorer)
    lines: int = knob(default=64, ge=1)
    stop: str = "\n"
    keep: Keep = "tree"
    role: str = "policy"

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask, self.stop, self.lines)
        kept, likings = await self._kept(tree, await tree.grow([None] * (self.width * self.branch)))
        while any(not line.over for line in kept):
            new = await tree.grow([line for line in kept if not line.over for _ in range(self.branch)])
            kept, likings = await self._kept(tree, [*(line for line in kept if line.over), *new])
        return tree.episode(best(kept, likings), self.keep)

    async def _kept(self, tree: LineTree, lines: Sequence[TreeLine]) -> tuple[list[TreeLine], list[float]]:
        ways = distinct(lines)
        likings = await self.liked(tree, ways)
        order = sorted(range(len(ways)), key=lambda i: -likings[i])[: self.width]  # the first of equals first
        return [ways[i] for i in order], [likings[i] for i in order]

    async def liked(self, tree: LineTree, ways: Sequence[TreeLine]) -> list[float]:
        return await worth(self.scorer, tree, ways)


@part
class lookahead(beam):
    """A beam that scores ways by lookahead (Snell et al. 2024, arXiv:2408.03314): each is continued greedily for
    `ahead` more lines, or to its end, and its value is the score there.

    What is played ahead is sampled and counted, and stands in the tree, but is not gone on with. `ahead=0` is `beam`. Less
    biased by a scorer that errs early in an answer; it costs about `1 + ahead` times as many tokens, for which a wider beam
    can be had.

    Args:
        width: paths that are kept.
        branch: next lines sampled for each.
        scorer: value of a partial path.
        lines: the most lines of a path.
        stop: end of a line.
        keep: what the batch holds: the whole tree, or the chosen path.
        role: the role that searches.
        ahead: lines that are continued greedily before scoring.

    >>> import guerdon as gd
    >>> gd.search.lookahead(width=2, branch=2, ahead=1, scorer=gd.search.value_scorer("prm")).ahead
    1
    """

    ahead: int = knob(default=1, ge=0)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        return await beam.play(self, ask, seats)

    async def liked(self, tree: LineTree, ways: Sequence[TreeLine]) -> list[float]:
        ends = list(ways)
        for _ in range(self.ahead):
            more = iter(await tree.grow([line for line in ends if not line.over], greedy=True))
            ends = [line if line.over else next(more) for line in ends]
        return await worth(self.scorer, tree, ends)
