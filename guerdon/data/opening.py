"""Rows from what a user gives as data: a path, a data set's id, or an object with rows."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.data.arrow_rows import parquet_rows, table_rows
from guerdon.data.data_rows import Records
from guerdon.data.hub_datasets import hub_rows, is_hub_id
from guerdon.data.lines import opened, parse
from guerdon.data.python_rows import Held, held_rows
from guerdon.data.text_files import Delimited, JsonLines

TABS, COMMAS, ARROW = (".tsv", ".tab"), (".csv",), (".parquet", ".pq")
PACKED = {  # how files begin that hold another
    b"\x1f\x8b": "gzip: unpack it with gunzip",
    b"\x28\xb5\x2f\xfd": "zstd: unpack it with unzstd",
    b"BZh": "bzip2: unpack it with bunzip2",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save the sheet as CSV",
}
PACKED_JSON = ([".jsonl"], [".ndjson"], [".json"])  # of which the .gz is read too
WHOLE = re.compile(rb"(\xef\xbb\xbf)?\s*(\[|\{[ \t\r]*\n)")  # how JSON begins that is one value over many lines
MOST_WHOLE = 1 << 30  # bytes of a file that is one JSON value


def open_records(source: Any, name: str = "", holes: bool = False) -> Records:
    """The rows of a source, which is called `name` where something is wrong with it. With `holes` a NaN in JSON, where it
    is not a number, is a null: programs that score write such files.

    `source` is a file (JSON lines, a JSON list or an object of columns, both also in gzip, CSV, TSV, Parquet), the id of a
    data set, a list of dictionaries, a `datasets.Dataset`, a table of pyarrow's or pandas', or anything that gives
    dictionaries one by one.

    >>> rows = open_records([{"question": "2+2", "answer": 4}], "mine")
    >>> len(rows), rows.columns, rows[0].value["answer"], rows[0].number
    (1, ('question', 'answer'), 4, 1)
    """
    if isinstance(source, Records):
        return source
    records = _open(source, name or (str(source) if isinstance(source, str | os.PathLike) else "data"), holes)
    records.origin = (open_records, (source, records.name, holes))
    return records


def _open(source: Any, name: str, holes: bool) -> Records:
    if isinstance(source, str | os.PathLike):
        if not os.path.lexists(source) and is_hub_id(str(source)):
            return held_rows(hub_rows(str(source), name), name)
        return _open_file(Path(source), name, holes)
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "to_batches"):
        return table_rows(source, name)
    return held_rows(source, name)


def _open_file(path: Path, name: str, holes: bool) -> Records:
    with opened(path, name) as file:
        head = file.read(64)
    if head.startswith(b"\x1f\x8b") and path.suffixes[-1:] == [".gz"] and path.suffixes[-2:-1] in PACKED_JSON:
        return _unpacked(path, name, holes)
    for begin, kind in PACKED.items():
        if head.startswith(begin):
            raise UserError(f"cannot read {name}: it is {kind}")
    suffix = path.suffix.lower()
    if head.startswith(b"PAR1") or suffix in ARROW:
        return parquet_rows(path, name)
    if suffix in (*TABS, *COMMAS):
        return Delimited(path, name, "\t" if suffix in TABS else "")
    if suffix == ".json" and WHOLE.match(head):
        return _listed(path, name, holes)
    return JsonLines(path, name, holes)


def _unpacked(path: Path, name: str, holes: bool) -> Records:
    """JSON in gzip, which data sets are handed out as: it is unpacked in memory."""
    try:
        with opened(path, name) as file, gzip.open(file) as inner:
            text = inner.read(MOST_WHOLE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"cannot read {name}: it is an incomplete gzip file ({error}): fetch it again") from error
    if len(text) > MOST_WHOLE:
        raise UserError(f"cannot read {name}: more than {MOST_WHOLE >> 30} GiB when unpacked; unpack it with gunzip")
    if path.suffixes[-2] == ".json" and WHOLE.match(text[:64]):
        return _whole(text, name, holes)
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(parse(line.decode(), holes))
            except ValueError as error:
                raise UserError(f"cannot read {name}, line {number}: {error}") from error
    return Held(rows, name)


def _listed(path: Path, name: str, holes: bool) -> Records:
    """A file that is one list of objects, or one object of columns."""
    with opened(path, name) as file:
        text = file.read(MOST_WHOLE + 1)
    if len(text) > MOST_WHOLE:
        raise UserError(
            f"cannot read {name}: a list of more than {MOST_WHOLE >> 30} GiB; save it as JSON lines, an object a line"
        )
    return _whole(text, name, holes)


def _whole(text: bytes, name: str, holes: bool) -> Records:
    try:
        value = parse(text.decode("utf-8-sig").strip(), holes)
    except ValueError as error:
        raise UserError(f"cannot read {name}: {error}") from error
    return Held(value if isinstance(value, list) else rows_of_columns(value, name), name)


def rows_of_columns(columns: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Rows of an object that has a list for each column; what is not a list describes the whole, and is skipped.

    >>> rows_of_columns({"id": [1, 2], "score": [0.5, 0.25], "model": "mine"}, "scores")
    [{'id': 1, 'score': 0.5}, {'id': 2, 'score': 0.25}]
    """
    lists = {name: each for name, each in columns.items() if isinstance(each, list)}
    sizes = {len(each) for each in lists.values()}
    if len(sizes) != 1:
        raise UserError(
            f"cannot read {name}: one object, and not one of columns of the same length; save a list of rows"
        )
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
