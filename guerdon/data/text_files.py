"""Rows of a text file, JSON lines or CSV: where each begins is remembered, 16 bytes a row, and its content is read on demand.

A file is read where it lies while it is in use; one that is written to meanwhile is refused.
Leaves out: what is wrong with a line of JSON (`lines.py`).
"""

from __future__ import annotations

import abc
import array
import csv
import hashlib
import io
import os
import re
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from guerdon.core.errors import UserError
from guerdon.data import lines
from guerdon.data.data_rows import DataRow, Records
from guerdon.data.lines import BLANK, decoded, first_twice, opened, read_line, shown, too_long, where_text_begins

DELIMITERS = ",;\t"
BLOCK = 1 << 18  # bytes that are read at a time by who goes through all rows
UNREAD = "surrogateescape"  # bytes that are not text pass the reader of CSV, so that the refusal names their row


class TextRecords(Records):
    """Rows that lie in a file one after the other. `starts` has where, in bytes, each begins, and where the last one ends;
    `numbers` the line that each begins in."""

    unit = "line"

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(name)
        with opened(path, name) as file:
            self.file: IO[bytes] = os.fdopen(os.dup(file.fileno()), "rb")
        weakref.finalize(self, self.file.close)
        self.index()

    def index(self) -> None:
        """One pass over the file: where rows begin."""
        self._as_it_was = self._state()
        starts, numbers = array.array("q"), array.array("q")
        self.file.seek(where_text_begins(self.file.read(4), self.name))
        for start, number in self.find_rows(self.file):
            starts.append(start)
            numbers.append(number)
        starts.append(self.file.tell())
        self.starts, self.numbers = (np.array(places, np.int64) for places in (starts, numbers))

    @abc.abstractmethod
    def find_rows(self, file: IO[bytes]) -> Iterator[tuple[int, int]]:
        """The place and the line of each row's beginning, in a file that stands at its first character."""

    @abc.abstractmethod
    def understand(self, number: int, text: bytes) -> DataRow:
        """The value of a row's bytes."""

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, index: int) -> DataRow:
        start, number = int(self.starts[index]), int(self.numbers[index])
        size = int(self.starts[index + 1]) - start
        if size > lines.LONGEST:
            return DataRow(number, fault=too_long())
        self._refuse_changed()
        return self.understand(number, os.pread(self.file.fileno(), size, start))

    def __iter__(self) -> Iterator[DataRow]:
        first, fd = 0, self.file.fileno()
        while first < len(self):
            fits = int(np.searchsorted(self.starts, self.starts[first] + min(BLOCK, lines.LONGEST), side="right")) - 1
            last = min(max(fits, first + 1), len(self))
            places, numbers = self.starts[first : last + 1].tolist(), self.numbers[first:last].tolist()
            if places[-1] - places[0] > lines.LONGEST:  # one row alone
                yield self.read(first)
            else:
                self._refuse_changed()
                block = os.pread(fd, places[-1] - places[0], places[0])
                for number, start, end in zip(numbers, places[:-1], places[1:], strict=True):
                    yield self.understand(number, block[start - places[0] : end - places[0]])
            first = last

    def identity(self) -> str:
        self._refuse_changed()
        self.file.seek(0)
        return hashlib.file_digest(self.file, "sha256").hexdigest()[:16]  # type: ignore[arg-type]

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self.file.fileno())
        return status.st_mtime_ns, status.st_size

    def _refuse_changed(self) -> None:
        if self._state() != self._as_it_was:
            raise UserError(f"{self.name} was written to while it was in use: start again with the file as it is now")


class JsonLines(TextRecords):
    """One JSON object a line; blank lines are passed over. With `holes` a NaN is read, as null."""

    holes = False

    def __init__(self, path: Path, name: str, holes: bool = False) -> None:
        self.holes = holes
        super().__init__(path, name)

    def find_rows(self, file: IO[bytes]) -> Iterator[tuple[int, int]]:
        start, number = file.tell(), 0
        while text := file.readline(lines.LONGEST + 1):
            number += 1
            size, is_blank = len(text), not text.strip(BLANK)
            while not text.endswith(b"\n") and (text := file.readline(lines.LONGEST)):
                size, is_blank = size + len(text), False
            if not is_blank:
                yield start, number
            start += size

    def understand(self, number: int, text: bytes) -> DataRow:
        line = read_line(number, text, self.holes)
        if line.fault or isinstance(line.value, dict):
            return DataRow(number, line.value, line.fault)
        return DataRow(number, fault="not a JSON object")


class Delimited(TextRecords):
    """CSV: a header, then rows of as many fields, quoted where they hold a delimiter, a quote or a newline. All values are
    text, an empty field is nothing, and rows without anything in them are passed over, as are columns without a name."""

    typed = False

    def __init__(self, path: Path, name: str, delimiter: str = "") -> None:
        self.delimiter = delimiter
        self.header: list[str] = []
        csv.field_size_limit(max(csv.field_size_limit(), lines.LONGEST))  # of the whole process: Python has no other
        super().__init__(path, name)

    def find_rows(self, file: IO[bytes]) -> Iterator[tuple[int, int]]:
        at = file.tell()
        self.delimiter = self.delimiter or likely_delimiter(file.readline(lines.LONGEST))
        file.seek(at)
        place = [at, 1]  # the byte and the line that the reader is at
        reader = self._reader(_given(file, place))
        while True:
            start, number = place
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if not self.header:
                    raise UserError(f"cannot read {self.name}: its header is not CSV: {error}") from error
                fields = [UNREAD]  # it is read again, and reported then
            if not any(field.strip() for field in fields):
                continue
            if self.header:
                yield start, number
            else:
                self.header = self._header(fields)

    def _reader(self, texts: Iterable[str]) -> Iterator[list[str]]:
        return csv.reader(texts, delimiter=self.delimiter, strict=True)

    def _header(self, fields: list[str]) -> list[str]:
        try:
            names = [decoded(field.encode(errors=UNREAD)).strip() for field in fields]
        except ValueError as error:
            raise UserError(f"cannot read {self.name}: its header is {error}; save it as UTF-8") from error
        twice = first_twice(filter(None, names))
        if twice is not None:
            raise UserError(f"cannot read {self.name}: its header has the column {shown(twice)} twice: rename one")
        return names

    def understand(self, number: int, text: bytes) -> DataRow:
        try:
            fields = next(self._reader(io.StringIO(decoded(text), newline="\n")))
        except ValueError as error:
            return DataRow(number, fault=str(error))
        except csv.Error as error:
            return DataRow(number, fault=f"not CSV: {error}")
        if len(fields) != len(self.header):
            return DataRow(number, fault=f"{len(fields)} fields, where the header has {len(self.header)}")
        named = zip(self.header, fields, strict=True)
        return DataRow(number, {name: field or None for name, field in named if name})


def _given(file: IO[bytes], place: list[int]) -> Iterator[str]:
    """The lines of a file for a reader of CSV, `place` kept up to date. One that is too long is a word in their place."""
    while text := file.readline(lines.LONGEST + 1):
        size, is_whole = len(text), True
        while not text.endswith(b"\n") and (more := file.readline(lines.LONGEST)):
            text, size, is_whole = more, size + len(more), False
        place[0] += size
        place[1] += 1
        yield text.decode(errors=UNREAD) if is_whole else UNREAD


def likely_delimiter(header: bytes) -> str:
    """What fields are separated by: the one of comma, semicolon and tab that a header has most of, outside of quotes."""
    bare = re.sub(rb'"[^"]*"', b"", header).decode(errors=UNREAD)
    return max(DELIMITERS, key=bare.count)
