"""From what somebody calls their data to its rows: a path, a data set's id, or an object that holds rows."""

from __future__ import annotations

import gzip
import os
import zlib
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
MOST_WHOLE = 1 << 30  # bytes of a file that is one JSON value


def open_records(source: Any, name: str = "") -> Records:
    """The rows of a source, which is called `name` where something is wrong with it.

    `source` is a file (JSON lines, a JSON list, CSV, TSV, Parquet), the id of a data set, a list of dictionaries, a
    `datasets.Dataset`, a table of pyarrow's or pandas', or anything that gives dictionaries one by one.

    >>> rows = open_records([{"question": "2+2", "answer": 4}], "mine")
    >>> len(rows), rows.columns, rows[0].value["answer"], rows[0].number
    (1, ('question', 'answer'), 4, 1)
    """
    if isinstance(source, Records):
        return source
    records = _open(source, name or (str(source) if isinstance(source, str | os.PathLike) else "data"))
    records.origin = (open_records, (source, records.name))
    return records


def _open(source: Any, name: str) -> Records:
    if isinstance(source, str | os.PathLike):
        if not os.path.lexists(source) and is_hub_id(str(source)):
            return held_rows(hub_rows(str(source), name), name)
        return _open_file(Path(source), name)
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "to_batches"):
        return table_rows(source, name)
    return held_rows(source, name)


def _open_file(path: Path, name: str) -> Records:
    with opened(path, name) as file:
        head = file.read(64)
    if head.startswith(b"\x1f\x8b") and path.suffixes[-2:] in ([".jsonl", ".gz"], [".ndjson", ".gz"]):
        return _unpacked(path, name)
    for begin, kind in PACKED.items():
        if head.startswith(begin):
            raise UserError(f"cannot read {name}: it is {kind}")
    suffix = path.suffix.lower()
    if head.startswith(b"PAR1") or suffix in ARROW:
        return parquet_rows(path, name)
    if suffix in (*TABS, *COMMAS):
        return Delimited(path, name, "\t" if suffix in TABS else "")
    if suffix == ".json" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return _listed(path, name)
    return JsonLines(path, name)


def _unpacked(path: Path, name: str) -> Records:
    """JSON lines in gzip, which data sets are handed out as: they are unpacked in memory."""
    try:
        with opened(path, name) as file, gzip.open(file) as inner:
            text = inner.read(MOST_WHOLE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"cannot read {name}: it is no whole gzip ({error}): fetch it again") from error
    if len(text) > MOST_WHOLE:
        raise UserError(f"cannot read {name}: more than {MOST_WHOLE >> 30} GiB when unpacked; unpack it with gunzip")
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(parse(line.decode()))
            except ValueError as error:
                raise UserError(f"cannot read {name}, line {number}: {error}") from error
    return Held(rows, name)


def _listed(path: Path, name: str) -> Records:
    """A file that is one list of objects."""
    with opened(path, name) as file:
        text = file.read(MOST_WHOLE + 1)
    if len(text) > MOST_WHOLE:
        raise UserError(
            f"cannot read {name}: a list of more than {MOST_WHOLE >> 30} GiB; save it as JSON lines, an object a line"
        )
    try:
        rows = parse(text.decode("utf-8-sig").strip())
    except ValueError as error:
        raise UserError(f"cannot read {name}: {error}") from error
    return Held(rows, name)
