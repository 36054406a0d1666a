"""What rows are, whatever they come from: numbered, each a value or what is wrong with it, read when they are asked for.

Leaves out: where they are found (`opening.py`), and what their columns mean.
"""

from __future__ import annotations

import abc
import datetime
import decimal
import hashlib
import itertools
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.data.lines import DEEPEST, DIGITS, shown

LOOKED_AT = 100  # rows whose columns are listed
CACHED = 256  # rows kept as they were read last


@dataclass(frozen=True)
class DataRow:
    """One row: an object by column, or what is wrong with it. `number` is what people find it by: see `Records.unit`."""

    number: int
    value: Mapping[str, Any] | None = None
    fault: str = ""


class Records(abc.ABC):
    """The rows of a source, by index. They are read when they are asked for: a million of them take little memory.

    `name` is what the source is called in messages; `unit` what a row's `number` counts, "line" or "row"; `typed` whether
    numbers and text are distinct (a CSV has only text). The same index gives the same row, always.
    """

    name: str
    unit: str = "row"
    typed: bool = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._cache: OrderedDict[int, DataRow] = OrderedDict()
        self._columns: tuple[str, ...] | None = None
        self.origin: tuple[Callable[..., Records], tuple[Any, ...]] | None = None  # a call that opens it again

    @abc.abstractmethod
    def __len__(self) -> int: ...

    @abc.abstractmethod
    def identity(self) -> str:
        """A hash of the content: the same wherever the source lies."""

    @abc.abstractmethod
    def read(self, index: int) -> DataRow:
        """A row, read again."""

    def __getitem__(self, index: int) -> DataRow:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.name} has {len(self)} rows, none of index {index}")
        index %= len(self)
        row = self._cache.pop(index, None) or self.read(index)
        self._cache[index] = row
        if len(self._cache) > CACHED:
            self._cache.popitem(last=False)
        return row

    def __iter__(self) -> Iterator[DataRow]:
        """All rows from the first to the last, each forgotten at once."""
        return map(self.read, range(len(self)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the first hundred rows, in the order in which they appear."""
        if self._columns is None:
            names = (name for row in itertools.islice(self, LOOKED_AT) for name in row.value or ())
            self._columns = tuple(dict.fromkeys(names))
        return self._columns

    def place(self, number: int) -> str:
        """Where a row is, for people: `line 4`."""
        return f"{self.unit} {number}"

    def __deepcopy__(self, memo: Any) -> Records:
        """Nothing in it changes: copies of what uses it share it."""
        return self

    def __reduce__(self) -> Any:
        """Another process opens it again."""
        return self.origin or super().__reduce__()


def hash_of_rows(rows: Records) -> str:
    """An identity for rows that lie in no file: of their values, in order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row.value if not row.fault else [row.fault], ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()[:16]


def row_of(number: int, given: Any) -> DataRow:
    """A row from a user's program: an object of JSON values, or why it is not one."""
    if not isinstance(given, Mapping):
        return DataRow(number, fault=f"not an object by column but {shown(given)}")
    try:
        return DataRow(number, {k: v for k, v in ((_key(k), plain(v)) for k, v in given.items()) if v is not LEFT_OUT})
    except ValueError as error:
        return DataRow(number, fault=str(error))


LEFT_OUT = object()  # a value that JSON has no form for: a picture, bytes


def plain(value: Any, depth: int = 1) -> Any:
    """A value as JSON has it: dates as text, NaN, which tables write for a missing number, as null; or LEFT_OUT."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        if value.bit_length() > DIGITS * 3:
            raise ValueError(f"a number of more than {DIGITS} digits")
        return int(value)
    if isinstance(value, float | decimal.Decimal):
        return _number(float(value))
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if depth >= DEEPEST:
        raise ValueError(f"more than {DEEPEST} values inside of each other")
    if isinstance(value, Mapping):
        inner = {_key(k): plain(v, depth + 1) for k, v in value.items()}
        return {k: v for k, v in inner.items() if v is not LEFT_OUT}
    if isinstance(value, list | tuple):
        return [None if v is LEFT_OUT else v for v in (plain(v, depth + 1) for v in value)]
    if isinstance(value, Path):
        return _text(str(value))
    as_lists = getattr(value, "tolist", None)  # of arrays and tensors, and of their numbers
    return plain(as_lists(), depth + 1) if callable(as_lists) else LEFT_OUT


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"a column is called by text, not {shown(key)}")
    return _text(key)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character, {text[error.start]!a}, is not text") from error
    return str(text)


def _number(value: float) -> float | None:
    if math.isinf(value):
        raise ValueError("an infinite number is beyond all that a computer calculates with")
    return None if math.isnan(value) else value
