"""Where lines end: a step column for whoever cuts tracks at their lines."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import part
from guerdon.core.play import Play, players
from guerdon.rewards.asking.samples import Roles, Samples, check_roles
from guerdon.rewards.model.model_reading import SampleTokens


@part
class line_ends(FieldColumns):
    """A step column: on the last token of every line its number, from 1; no other step has one.

    A line ends where text follows it, so blank lines and the end of an answer belong to the line before. Lines are those of the
    text as the model that acted spells it; of a model without text there are none to be had, and the run says so. In a tree a
    step has the number that the last of its tracks gives it; they agree, for they spell the same beginning.

    >>> import guerdon as gd
    >>> gd.rewards.line_ends().gives
    ('line_ends',)
    """

    role: Roles = "policy"
    gives_to: Gives = "line_ends"

    def __post_init__(self) -> None:
        check_roles(self)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = torch.full((batch.S,), float("nan"))
        samples = Samples.of_batch(batch, play, self.role)
        assert samples.track is not None
        tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
        for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
            for number, line in enumerate(tokens.cut(steps, "line", names[k] or fields["role"]) if len(steps) else ()):
                value[line[-1]] = number + 1
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})
