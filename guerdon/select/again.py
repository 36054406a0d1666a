"""Asking again in the same step: more tries join the batch until there is enough to learn from.

What is asked goes through `play`, so it counts in the run's budget. Left out: which tries are then learned from
(`filters.with_spread`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.batch import Batch, Group
from guerdon.core.errors import UserError
from guerdon.core.pack import cat, pack
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play
from guerdon.select.filters import spread_groups


@part
class until_spread:
    """Draw more asks from `curriculum`, and score them with `scores`, until `groups` groups have values of `column` that
    differ, or `rounds` times.

    Dynamic sampling of DAPO (Yu et al. 2025, arXiv:2503.14476), whose code draws whole batches anew; here each round draws
    as many asks as groups are missing, so that little is thrown away. All tries stay in the batch: rates of success are then
    over everything that was tried. `curriculum` and `scores` are the recipe's own, the same objects: a draw is counted
    once, in its state, and a resumed run draws what an unbroken one does.

    *Biased* towards tasks that are neither easy nor hopeless, on purpose. Steps differ in cost: `again/asked` are the asks
    that were added, `again/rounds` how often, `again/short` the groups that are still missing (then it is learned from
    what there is).
    """

    curriculum: Any
    scores: list[Any]
    column: str = "correct"
    groups: int = knob(default=16, ge=1)
    rounds: int = knob(default=10, ge=0)  # of verl's recipe
    by: Group = "ask"

    def __post_init__(self) -> None:
        for stage in self.scores:
            if stage.needs:
                raise UserError(
                    f"until_spread scores what it asks, and {label(stage)} needs {', '.join(stage.needs)}: use score(...)"
                )

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def gives(self) -> tuple[str, ...]:
        return tuple(name for stage in self.scores for name in stage.gives)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        asked = rounds = 0
        while (missing := self.groups - self._found(batch)) > 0 and rounds < self.rounds:
            asks = self.curriculum.draw(missing, play)
            if not asks:
                break
            more = pack(play(asks))
            for stage in self.scores:
                more = stage(more, play)
            batch = cat([batch, more])
            asked, rounds = asked + len(asks), rounds + 1
        play.log(**{"again/asked": asked, "again/rounds": rounds, "again/short": max(missing, 0)})
        return batch

    def _found(self, batch: Batch) -> int:
        group, size = batch.group(self.by)
        return int(spread_groups(batch.cols[self.column], group, size).sum())
