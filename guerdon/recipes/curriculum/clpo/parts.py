"""Problems rewritten by how they just went, and a KL that holds less where a problem is harder: the parts of CLPO.

Rewritten problems are tried in the same step and join its batch. What is asked goes through `play`, so it counts in the run's
budget.
Leaves out: how a problem is rewritten (by rule: `rewriting.py` beside this file), and learning to rewrite.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from guerdon.losses.penalties import kl
from guerdon.losses.reduce import Members, reduce


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

    shelf = "select"

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


@part
class eased_kl(kl):
    r"""$w\,\mathrm{KL}(\pi\|\pi_{to})$ with, for each track, $w\,p$ in place of $w$: $p$ is its value in `column`, the success
    rate of its problem. On what is never solved the policy is free to leave the other model, on what is always solved it is
    held as `kl` holds it. A track without a value is not held.

    After the difficulty-aware regularisation of CLPO (Zhang et al. 2025, arXiv:2509.25004); that it is in proportion is ours,
    its released code halves it on hard problems. Assumes rates from 0 to 1. Estimates and their gradients are those of `kl`,
    unbiased or not as it says; as the divergence from the other model over all problems it is biased towards the easy ones, on
    purpose.

    >>> import torch
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], steps=2, rate=[0.25, 0.25], reference__logp=[-1.0] * 4)
    >>> round(float(eased_kl(1.0)(batch, {"logp": torch.full((4,), -1.5)})[0]), 4)  # a quarter of 0.1487
    0.0372
    """

    column: Needs = "rate"

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        gap, metrics = self.gaps(batch, live["logp"])
        members = Members.of(batch)  # the tracks of a trunk may differ in how much they are held
        held_M = batch[self.column].nan_to_num(0.0).to(gap)[members.track]
        return self.weight * reduce(gap[members.step] * held_M, batch, self.mean, self.constant, members), metrics
