"""Labels for the lines of solutions by playing on from each: step labels where nobody checks steps, only answers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, means, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.levels import starts
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play
from guerdon.core.task import Ask
from guerdon.rewards.asking.samples import Roles, check_roles, each_role
from guerdon.rewards.stage.line_marks import line_ends


@part(was="lines_played_on")
class monte_carlo_labels(FieldColumns):
    r"""A step column: on the last token of each line, whether the answer is found from there, as `tries` that go on say it.

    $y_j = \max_i c_i$ over the tries $i$ that go on after line $j$: 1 where any of them is right (hard estimation), or with
    `soft` their mean $\bar c$. The last line has the solution's own score. Math-Shepherd (Wang et al. 2023,
    arXiv:2312.08935), which takes 8 tries and hard labels. `score` is the stage that scored the solutions; it scores what is
    played on too. Every try counts in the budget: `tries` for each line but the last.

    *Assumes* scores of 0 and 1, an environment that does the same again for the same actions, and solutions that do not branch.
    *Biased* for the truth of a line: a policy that repairs errors makes wrong lines right, one that never finds the answer
    makes right lines wrong; and hard labels grow with `tries`. Soft ones are unbiased for the chance to get there.

    A solution without a score is not played on; a line none of whose tries has one has no label. `NAME/rollouts` is logged.

    >>> import guerdon as gd
    >>> stage = gd.rewards.monte_carlo_labels(gd.rewards.verified(gd.tasks.chain(level=2)), tries=4)
    >>> stage.needs, stage.gives
    (('correct',), ('labels',))
    """

    score: Any
    tries: int = knob(default=8, ge=1)
    soft: bool = False
    gives_to: Gives = "labels"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)
        check_scores([self.score], label(self))

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if bool((batch.shared > 1).any()):
            raise UserError("monte_carlo_labels branches solutions itself: play them in an environment that does not")
        column = batch.cols[self.needs[0]]
        value = torch.full((batch.S,), float("nan"), dtype=torch.float32)
        reason = torch.full((batch.S,), int(Reason.NOT_APPLICABLE), dtype=torch.int8)
        ends, asks = [], []
        for track, lines in self._lines(batch, play):
            if bool(column.missing[track]):
                continue
            value[lines[-1]], reason[lines[-1]] = column.value[track], int(Reason.VALUE)
            ends += lines[:-1]
            asks += [self._ask(batch, step) for step in lines[:-1]]
        if asks:
            reached, why = self._played(asks, play)
            value[ends] = reached if self.soft else torch.where(reached.isnan(), reached, (reached > 0).float())
            reason[ends] = why
        play.log(**{f"{self.gives_to}/rollouts": float(self.tries * len(asks))})
        return batch.with_cols({self.gives_to: Column("step", value, reason)})

    def _lines(self, batch: Batch, play: Play) -> list[tuple[int, list[int]]]:
        """Of each track of the role that has a line, the steps that its lines end on."""
        ends = ~line_ends(self.role)(batch, play).cols["line_ends"].missing
        each = [(k, steps[ends[steps]].tolist()) for k, steps in enumerate(batch.steps_by_track())]
        return [(k, lines) for k, lines in each if lines]

    def _ask(self, batch: Batch, step: int) -> Ask:
        """Tries that go on after a step."""
        segment = int(batch.seg[step])
        episode, place = batch.episodes[int(batch.episode[segment])], int(batch.place[segment])
        at = step - int(starts(batch.length)[segment]) + 1
        how = episode.ask.sampling or episode.segments[0].sampling
        return episode.ask.but(n=self.tries, prefix=episode.prefix(place, at), sampling=how)

    def _played(self, asks: list[Ask], play: Play) -> tuple[Tensor, Tensor]:
        """Of each ask the mean score of its tries, and the reason where there is none."""
        played = play_scored(asks, [self.score], play)
        rows = torch.nonzero(played.tracks_of(each_role(self.role))).flatten()
        value, worst = means(played.cols[self.needs[0]], rows, played.ask[played.leaf][rows], len(asks), Reason.FAILED)
        return value.float(), worst.masked_fill(~torch.isnan(value), 0.0).to(torch.int8)
