"""Asking again in the same step: more tries join the batch until there is enough to learn from.

What is asked goes through `play`, so it counts in the run's budget.
Leaves out: which tries are enough to learn from (`filters.py`),
and asking the same problems again with help (`hints.py`).
"""

from __future__ import annotations

from typing import Annotated, Any

from guerdon.core.batch import Batch, Group
from guerdon.core.extra_play import check_scores, play_more
from guerdon.core.field_columns import ColumnField, FieldColumns
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play


@part
class until_enough(FieldColumns):
    """Draw more asks from `curriculum`, and score them with `scores`, until the selection `keep` leaves tracks of `groups`
    groups, or `rounds` times.

    With `with_spread` it is dynamic sampling as DAPO has it (Yu et al. 2025, arXiv:2503.14476), with `with_rate` balanced
    online difficulty filtering (Bae et al. 2025, arXiv:2504.03380). DAPO's code draws whole batches anew; here each round
    draws as many asks as groups are missing, so that little is thrown away. All tries stay in the batch: rates of success
    are then over everything that was tried, and it is for the learner to make the same selection: `Learn(on=keep)`.
    `curriculum` and `scores` are the recipe's own, the same objects: a draw is counted once, in its state, and a resumed
    run draws what an unbroken one does.

    *Biased* towards tasks that `keep` likes, on purpose. Steps differ in cost: `again/asked` are the asks that were added,
    `again/rounds` how often, `again/short` the groups that are still missing (then it is learned from what there is).

    >>> import guerdon as gd
    >>> task = gd.tasks.load("countdown:2")
    >>> problems, right, keep = gd.curricula.uniform(task), gd.rewards.verified(task), gd.select.with_spread("correct")
    >>> more = gd.select.until_enough(problems, [right], keep, groups=8)
    >>> more.needs, more.gives
    (('correct',), ('correct',))
    """

    curriculum: Any
    scores: Annotated[list[Any], ColumnField("gives")]
    keep: Annotated[Any, ColumnField("needs")]
    groups: int = knob(default=16, ge=1)
    rounds: int = knob(default=10, ge=0)  # of verl's recipe for DAPO
    by: Group = "ask"

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))

    def __call__(self, batch: Batch, play: Play) -> Batch:
        asked = rounds = 0
        while (missing := self.groups - self._found(batch, play)) > 0 and rounds < self.rounds:
            asks = self.curriculum.draw(missing, play)
            if not asks:
                break
            batch, _ = play_more(batch, asks, self.scores, play)
            asked, rounds = asked + len(asks), rounds + 1
        play.log(**{"again/asked": asked, "again/rounds": rounds, "again/short": max(missing, 0)})
        return batch

    def _found(self, batch: Batch, play: Play) -> int:
        return int(self.keep(batch, play).group(self.by)[1])
