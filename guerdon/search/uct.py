"""Tree search by upper confidence bounds: UCT over lines."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask
from guerdon.search.line_tree import Keep, LineTree, OneRole, TreeLine, best, distinct
from guerdon.search.step_scorers import value_scorer, worth


@dataclass(eq=False)
class TreePlace:
    """A place of the search's tree: a line (None: the start), what came of the visits to it, and the ways on."""

    line: TreeLine | None = None
    above: TreePlace | None = None
    value: float = math.nan  # the scorer's value of the way here
    visits: int = 0
    total: float = 0.0
    below: list[TreePlace] = field(default_factory=list)

    def back_up(self, value: float) -> None:
        """Count a visit with this value here and at every place above."""
        place: TreePlace | None = self
        while place is not None:
            place.visits, place.total = place.visits + 1, place.total + value
            place = place.above

    def likely(self, explore: float) -> TreePlace:
        """The way on with the greatest upper confidence bound, the first of equals."""
        logs = math.log(self.visits)
        return max(self.below, key=lambda p: p.total / p.visits + explore * math.sqrt(logs / p.visits))


@part
class mcts(OneRole):
    r"""Monte Carlo tree search over lines by UCT (Kocsis & Szepesvari 2006): from the start the way with the greatest
    $\frac{W}{N} + c \sqrt{\frac{\ln N_{above}}{N}}$ (UCB1) is followed to a place that was not grown, `branch` next lines are
    sampled there, each is valued by `scorer`, and the values are averaged into every place above; `simulations` times.

    $c$ is `explore`. `scorer` may use rollouts (`monte_carlo_scorer`). A finished path is scored again when it is visited, at
    no cost; the search ends early when all are finished. The answer is the best finished path, rollouts included; where none is
    finished, the best path is continued once, to the end. The same seed gives the same tree. Biased as the scorer is.
    `lines`, `keep` and the limits are as in `beam`.

    Args:
        simulations: number of simulations.
        branch: next lines sampled at a new place.
        scorer: value of a partial path.
        lines: the most lines of a path.
        stop: end of a line.
        keep: what the batch holds: the whole tree, or the chosen path.
        role: the role that searches.

    >>> import guerdon as gd
    >>> gd.search.mcts(simulations=8, branch=2, scorer=gd.search.value_scorer("prm")).explore
    1.4142135623730951
    """

    simulations: int = knob(default=16, ge=1)
    branch: int = knob(default=4, ge=1)
    scorer: Any = knob(factory=value_scorer)
    explore: float = knob(default=math.sqrt(2), ge=0.0)  # of UCB1, for values in [0, 1]
    lines: int = knob(default=64, ge=1)
    stop: str = "\n"
    keep: Keep = "tree"
    role: str = "policy"

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask, self.stop, self.lines)
        start = TreePlace()
        ungrown = {start}
        for _ in range(self.simulations):
            place = start
            while place.below:
                place = place.likely(self.explore)
            if place not in ungrown:
                place.back_up(place.value)
                continue
            ungrown.discard(place)
            ungrown.update(await self._grow(tree, place))
            if not ungrown:
                break
        return tree.episode(await self._answer(tree, ungrown), self.keep)

    async def _grow(self, tree: LineTree, place: TreePlace) -> list[TreePlace]:
        """New places below one, valued; those that can be grown in turn."""
        lines = distinct(await tree.grow([place.line] * self.branch))
        for line, value in zip(lines, await worth(self.scorer, tree, lines), strict=True):
            place.below.append(TreePlace(line, place, value))
            place.below[-1].back_up(value)
        return [each for each in place.below if each.line is not None and not each.line.over]

    async def _answer(self, tree: LineTree, ungrown: set[TreePlace]) -> TreeLine:
        ends = [line for line in tree.grown if line.over and line.step == line.step]
        if not any(line.done for line in ends) and ungrown:
            likeliest = max(ungrown, key=lambda p: (p.value, -(p.line.number if p.line is not None else -1)))
            return (await tree.grow([likeliest.line], whole=True))[0]
        return best(ends, await worth(self.scorer, tree, ends))
