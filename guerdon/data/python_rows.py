"""Rows that a Python program holds: lists of dictionaries, data sets with an index, streams that are read once."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from guerdon.core.errors import UserError
from guerdon.data.data_rows import DataRow, Records, hash_of_rows, row_of
from guerdon.data.text_files import JsonLines


class Held(Records):
    """Rows by index: of a list, of a data set."""

    def __init__(self, source: Any, name: str) -> None:
        super().__init__(name)
        self.source = list(source) if isinstance(source, list | tuple) else source
        self._identity = ""

    def __len__(self) -> int:
        return len(self.source)

    def read(self, index: int) -> DataRow:
        return row_of(index + 1, self.source[index])

    def __iter__(self) -> Iterator[DataRow]:
        rows: Iterable[Any] = iter(self.source)
        return itertools.starmap(row_of, enumerate(rows, 1))

    def identity(self) -> str:
        self._identity = self._identity or hash_of_rows(self)
        return self._identity


class Spooled(JsonLines):
    """Rows of a stream, written out once to a temporary file: one that comes but once, or has no index."""

    unit = "row"

    def __init__(self, source: Iterable[Any], name: str) -> None:
        Records.__init__(self, name)
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        for number, given in enumerate(source, 1):
            row = row_of(number, given)
            self.file.write(json.dumps([row.value, row.fault]).encode() + b"\n")
        self.file.flush()
        self.file.seek(0)
        self.index()

    def understand(self, number: int, text: bytes) -> DataRow:
        value, fault = json.loads(text)
        return DataRow(number, value, fault)


def held_rows(source: Any, name: str) -> Records:
    """Rows of whatever holds them: a list of dictionaries, a data set, a frame, or anything that gives them one by one."""
    if hasattr(source, "iloc") and hasattr(source, "to_dict"):  # a frame of pandas', which itself gives its columns
        return Held(source.to_dict("records"), name)
    if isinstance(source, Sequence) or (hasattr(source, "__len__") and hasattr(source, "__getitem__")):
        if isinstance(source, dict) or hasattr(source, "keys"):
            splits = ", ".join(map(str, source))
            raise UserError(
                f"{name} holds several sets ({splits}): give one of them, such as data[{next(iter(source), '')!r}]"
            )
        return Held(source, name)
    if hasattr(source, "__iter__"):
        return Spooled(source, name)
    raise UserError(
        f"{name} holds no rows: give a file, a list of dictionaries or a data set, not {type(source).__name__}"
    )
