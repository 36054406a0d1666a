"""Parts written as plain functions: keyword-only parameters are knobs, the others are what the function is called with.

`stage` decorates a function of columns, `losses.loss` one of log-probs. Both give an ordinary part: a class with knobs.
Leaves out: rewards (`rewards.reward`), whose parameters are fields of a sample.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.knob_values import type_hints
from guerdon.core.part import knob, label, part, source_hash
from guerdon.core.play import Play
from guerdon.core.schedule import settled

NONE = inspect.Parameter.empty


class FunctionPart(FieldColumns):
    """Base of the parts that `part_of` makes."""

    function: ClassVar[Callable[..., Any]]

    def call(self, known: Mapping[str, Any], read: Callable[[str], Any]) -> Any:
        """The function's result: of `known` values, of columns as `read` gives them, and of the knobs."""
        own = inspect.signature(self.function).parameters.values()
        inputs = [p.name for p in own if p.kind is not p.KEYWORD_ONLY]
        values = [known[name] if name in known else read(getattr(self, name)) for name in inputs]
        return self.function(*values, **{p.name: getattr(self, p.name) for p in own if p.kind is p.KEYWORD_ONLY})


def part_of(
    function: Callable[..., Any],
    base: type,
    given: Collection[str],
    more: Mapping[str, tuple[Any, Any]],
    **members: Any,
) -> Any:
    """A part class with `base` as its base. A parameter that is not among `given` names a column, and becomes a knob that
    holds the column's name. `more` are the knobs that every part of this kind has, {name: (type, default)}."""
    hints, own, columns = type_hints(function), {}, {}
    for p in inspect.signature(function).parameters.values():
        if p.name in more or p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            why = "is a knob of every such part" if p.name in more else "stands for any number of parameters"
            raise UserError(f"{function.__name__}: parameter {p.name!r} {why}: give it a name of its own")
        if p.kind is p.KEYWORD_ONLY:
            own[p.name] = (hints.get(p.name, Any), p.default)
        elif p.name not in given:
            columns[p.name] = (Needs, p.name)
    fields = dict(sorted({**own, **columns, **more}.items(), key=lambda field: field[1][1] is not NONE))
    for name, (_, default) in fields.items():
        if default is not NONE:
            members[name] = default if isinstance(default, dataclasses.Field) else knob(default=default)
    members |= {name: getattr(function, name) for name in ("__module__", "__qualname__", "__doc__")}
    members |= {
        "__annotations__": {name: hint for name, (hint, _) in fields.items()},
        "function": staticmethod(function),
    }
    if not function.__module__.startswith("guerdon."):  # the user's own: an edit makes another recipe
        members["identity"] = lambda self: source_hash(function)
    return part(type(function.__name__, (base,), members))


class FunctionStage(FunctionPart):
    """Base of what `stage` makes."""

    per: ClassVar[Literal["track", "step"]]
    optional: ClassVar[bool]
    gives_to: str
    role: str

    def __call__(self, batch: Batch, play: Play) -> Batch:
        now = settled(self, play.step, play.steps)
        value = now.call({"batch": batch, "play": play}, lambda name: self._values(batch, name))
        if isinstance(value, Batch):
            return value
        read = [batch.cols[name] for name in self.needs]
        if self.optional:
            read.append(_without_value(batch, self.per))
        if not self.role:
            return batch.put(self.gives_to, self.per, value, because=read)
        mine = batch.tracks_of([self.role])
        mine = mine if self.per == "track" else batch.down(mine.float(), "track") > 0
        column = batch.put(self.gives_to, self.per, torch.where(mine, value, 0.0), because=read).cols[self.gives_to]
        others = batch.cols.get(self.gives_to) or Column.empty(self.per, len(value), Reason.NOT_APPLICABLE)
        if others.level != self.per:
            raise UserError(f"{label(self)} gives {self.gives_to!r} per {self.per}, and there it is per {others.level}")
        detail = {row: said for row, said in others.detail.items() if not mine[row]}
        value, reason = torch.where(mine, column.value, others.value), torch.where(mine, column.reason, others.reason)
        return batch.with_cols({self.gives_to: Column(self.per, value, reason, detail)})

    def _values(self, batch: Batch, name: str) -> Tensor:
        return batch.per_step(name) if self.per == "step" else batch.track_column(name, label(self)).value


def _without_value(batch: Batch, per: Literal["track", "step"]) -> Column:
    """Why a function may give a row no value: its track failed, or the number is not defined there."""
    failed = batch.failed_K.float()
    failed = failed if per == "track" else batch.down(failed, "track")
    reason = torch.where(failed > 0, int(Reason.FAILED), int(Reason.NOT_APPLICABLE)).to(torch.int8)
    return Column(per, torch.full_like(failed, float("nan")), reason)


def stage(
    gives: str,
    per: Literal["track", "step"] = "track",
    role: str = "",
    shelf: Literal["", "scores", "credit", "select"] = "credit",
    optional: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Make a stage of a function from columns to a column.

    Positional parameters name what the function reads: `batch`, `play`, or a column, which it gets as a tensor with a number
    per track [K] or per step [S]. Keyword-only parameters are knobs. The result is added as the column `gives`, NaN where
    there is no value; or it is a whole `Batch`. The part has the knobs `gives_to` and `role`, and one for each column that it
    reads, so a recipe can read and write others.

    Args:
        gives: name of the column that the function computes.
        per: what a number is for: "track" or "step".
        role: compute it for tracks of this role alone; other tracks keep the value that they had.
        shelf: what the stage does in a recipe: "scores", "credit" or "select"; "" for none of these.
        optional: whether NaN may mean that a row has no value although all columns have one; it is *not applicable* there, or
            *failed* where the track failed. Otherwise such a NaN is an error.

    Example:
        >>> import guerdon as gd
        >>> from guerdon.core.example import ExamplePlay, example_tries
        >>> @gd.stage(gives="pay")
        ... def spread(reward, batch, *, scale: float = 2.0):
        ...     return scale * (reward - batch.mean_by(reward))
        >>> spread(scale=1.0)(example_tries([[1.0, 0.0]]), ExamplePlay())["pay"].tolist()
        [0.5, -0.5]
        >>> spread(scale=1.0, reward="other").needs, spread().gives
        (('other',), ('pay',))
    """

    def decorate(function: Callable[..., Any]) -> Any:
        more = {"gives_to": (Gives, gives), "role": (str, role)}
        return part_of(function, FunctionStage, ("batch", "play"), more, per=per, shelf=shelf, optional=optional)

    return decorate
