"""Rows of a table as Arrow has them: a Parquet file, or a table in memory.

A Parquet file is spelled out once, a few thousand rows at a time, into a temporary file that is read where it lies:
a row group, which is the least that Parquet can be read by, may be as large as the file.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from guerdon.core.errors import UserError
from guerdon.data.data_rows import DataRow, Records, hash_of_rows, row_of
from guerdon.data.lines import first_twice, opened, shown

AT_ONCE = 2048  # rows of a batch
UNREADABLE = (ValueError, OverflowError, KeyError)  # text that is not UTF-8, years beyond 9999, unknown time zones
BUFFER = 1 << 20  # bytes of a column that are read at a time


class ArrowRows(Records):
    """Rows in batches. `firsts` has the number of rows before each batch, and of all."""

    def __init__(self, batches: list[Any], name: str, digest: str = "") -> None:
        super().__init__(name)
        self.batches, self._identity = batches, digest
        self.firsts = np.cumsum([0, *(batch.num_rows for batch in batches)])

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def read(self, index: int) -> DataRow:
        batch = int(np.searchsorted(self.firsts, index, side="right")) - 1
        return self._row(index, self.batches[batch].slice(index - int(self.firsts[batch]), 1))

    def __iter__(self) -> Iterator[DataRow]:
        index = 0
        for batch in self.batches:
            try:
                rows = [row_of(index + 1 + at, given) for at, given in enumerate(batch.to_pylist())]
            except UNREADABLE:
                rows = [self._row(index + at, batch.slice(at, 1)) for at in range(batch.num_rows)]
            yield from rows
            index += batch.num_rows

    def _row(self, index: int, batch: Any) -> DataRow:
        """The row of a batch of one. Where Arrow holds what Python has not, that is a fault of the row."""
        try:
            return row_of(index + 1, batch.to_pylist()[0])
        except UNREADABLE:
            return DataRow(index + 1, fault=_fault(batch))

    def identity(self) -> str:
        self._identity = self._identity or hash_of_rows(self)
        return self._identity


def _fault(batch: Any) -> str:
    """What is wrong with a row that cannot be read, by its columns."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.to_pylist()
        except UnicodeDecodeError as error:
            return f"{shown(name)} is not UTF-8: byte 0x{error.object[error.start]:02x}"
        except KeyError:
            return f"{shown(name)} has a time zone that is not known: {shown(str(column.type))}"
        except UNREADABLE as error:
            return f"{shown(name)} cannot be read: {shown(str(error))}"
    return "it cannot be read"


def parquet_rows(path: Path, name: str) -> ArrowRows:
    """The rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened(path, name) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        file.seek(0)
        try:
            source = pq.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)  # or it reads whole row groups
            names = source.schema_arrow.names
            _refuse_twice(names, name)
            with tempfile.NamedTemporaryFile(suffix=".arrow") as spelled:
                with pa.ipc.new_file(spelled, source.schema_arrow) as sink:
                    for batch in source.iter_batches(AT_ONCE, use_threads=False):
                        sink.write_batch(batch)
                spelled.flush()
                reader = pa.ipc.open_file(pa.memory_map(spelled.name))  # it stays readable when its name is gone
                batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        except (pa.ArrowException, OSError, ValueError) as error:
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UserError(f"cannot read {name}: {line.rstrip('.')}") from error
    return ArrowRows(batches, name, digest)


def table_rows(table: Any, name: str) -> ArrowRows:
    """The rows of a table of pyarrow's."""
    _refuse_twice(table.column_names, name)
    return ArrowRows(table.to_batches(AT_ONCE), name)


def _refuse_twice(names: list[str], name: str) -> None:
    twice = first_twice(names)
    if twice is not None:
        raise UserError(f"cannot read {name}: it has the column {shown(twice)} twice: rename one")
