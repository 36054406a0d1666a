"""Which columns a part reads and writes, declared by its fields.

    @part
    class centre(FieldColumns):
        reward: Needs = "reward"
        gives_to: Gives = "advantage"

`centre().needs` is then `("reward",)` and `centre().gives` is `("advantage",)`, in the order of the fields.
A field may hold one name ("" or None: no column), several, or parts, which count with what they need themselves.
Leaves out: columns that do not follow from fields alone; a part that has such defines `needs` or `gives` itself.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal


@dataclass(frozen=True)
class ColumnField:
    """Declares that a field names columns; with `readings`, that it names a model of which these are wanted."""

    kind: Literal["needs", "gives"]
    readings: tuple[str, ...] = ()


Needs = Annotated[str, ColumnField("needs")]
Gives = Annotated[str, ColumnField("gives")]
LogpOf = Annotated[str, ColumnField("needs", ("logp",))]


class FieldColumns:
    """Base of parts whose columns follow from their fields."""

    @property
    def needs(self) -> tuple[str, ...]:
        return _columns(self, "needs")

    @property
    def gives(self) -> tuple[str, ...]:
        return _columns(self, "gives")


def _columns(part: Any, kind: str) -> tuple[str, ...]:
    marked: list[tuple[str, ColumnField]] = _marked(type(part))  # type: ignore[arg-type]  # mypy takes types for unhashable
    names = (n for field, mark in marked if mark.kind == kind for n in _names(getattr(part, field), mark))
    return tuple(dict.fromkeys(names))


def _names(value: Any, mark: ColumnField) -> Iterator[str]:
    if isinstance(value, str):
        if value:
            yield from (f"{value}.{reading}" for reading in mark.readings) if mark.readings else (value,)
    elif isinstance(value, Mapping | list | tuple):
        for each in value:
            yield from _names(each, mark)
    elif value is not None:
        yield from getattr(value, mark.kind)


@functools.cache
def _marked(cls: type[Any]) -> list[tuple[str, ColumnField]]:
    """The fields of a part that name columns, in their order."""
    hints = typing.get_type_hints(cls, include_extras=True)
    marks = ((name, getattr(hints.get(name), "__metadata__", ())) for name in getattr(cls, "__dataclass_fields__", {}))
    return [(name, mark) for name, metadata in marks for mark in metadata if isinstance(mark, ColumnField)]
