"""Problems made easier or reworded by how they just went: rewritten problems are tried in the same step and join it.

What is asked goes through `play`, so it counts in the run's budget.
Leaves out: how a problem is rewritten (by rule: `tasks/rewriting.py`), and learning to rewrite.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.extra_play import asks_of, check_scores, play_more
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.part import label, part
from guerdon.core.play import Play


@part
class restructured(FieldColumns):
    """Asks whose tries have a mean `column` of `hard` or less are simplified, those above it and up to `medium` are varied;
    the new asks are played, scored with `scores`, and added to the batch.

    CLPO (Zhang et al. 2025, arXiv:2509.25004): rates of success just sampled say what a problem is worth now, and problems are
    made to fit. `rewrite(asks, how, play)` returns as many asks, how being "simplify" or "vary", with None for what it cannot
    rewrite: rules, or a model that is asked through `play`. The originals stay. An ask none of whose tries has a value is left
    alone. A bound below 0 takes nothing in.

    Column `gives_to` is the rate of each try's own ask, the new ones' included: how easy what it answers is now. Compare tries
    `by="ask"`. *Biased* on purpose: what is learned from is easier than what is asked for. Notes `rewritten/hard` and
    `rewritten/medium` (the shares of asks that are), `rewritten/asked` and, where there are any, `rewritten/rate`, the mean of
    the new asks' rates; and `rewritten/useful`, the share of asks whose tries differ.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> def show(asks, how, play):
    ...     print(how, [ask.task.id for ask in asks])
    ...     return [None] * len(asks)
    >>> batch = restructured(show, [], column="reward")(example_tries([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), ExamplePlay())
    simplify ['0']
    vary ['1']
    >>> batch["rate"].tolist()
    [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    """

    rewrite: Any
    scores: Annotated[list[Any], ColumnField("gives")]
    hard: float = 0.25  # ours; CLPO's released script has 0.3 and 0.7
    medium: float = 0.75  # ours
    column: Needs = "correct"
    gives_to: Gives = "rate"

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))
        if self.medium < self.hard:
            raise UserError(f"restructured: what is hard (up to {self.hard}) ends below medium (up to {self.medium})")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        asks, rate = asks_of(batch), self._rates(batch, "mean")
        is_hard, is_medium = rate <= self.hard, (rate > self.hard) & (rate <= self.medium)
        wanted = []
        for how, which in (("simplify", is_hard), ("vary", is_medium)):
            some = [asks[n] for n in torch.nonzero(which).flatten().tolist()]
            wanted += [new for new in self.rewrite(some, how, play) if new is not None] if some else []
        of = max(len(asks), 1)
        play.log(**{"rewritten/hard": float(is_hard.sum()) / of, "rewritten/medium": float(is_medium.sum()) / of})
        play.log(**{"rewritten/asked": len(wanted)})
        if wanted:
            batch, asked = play_more(batch, wanted, self.scores, play)
            play.log(**{"rewritten/rate": float(self._rates(batch, "mean")[asked:].nanmean())})
        differ = self._rates(batch, "max") > self._rates(batch, "min")
        play.log(**{"rewritten/useful": float(differ.double().mean()) if len(differ) else 0.0})
        rate_K = self._rates(batch, "mean")[batch.ask[batch.leaf]]
        return batch.with_cols({self.gives_to: Column("track", rate_K, rate_K.isnan().to(torch.int8))})

    def _rates(self, batch: Batch, by: Any) -> Tensor:
        """[asks] of the tries at each ask that have a value; NaN where none has."""
        column = batch.track_column(self.column, label(self))
        return batch.up(column.value, "ask", of="track", by=by)
