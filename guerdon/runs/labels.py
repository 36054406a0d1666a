"""Labels that people gave to what a run sampled: `RUN/labels/labels.jsonl`, appended a line at a time and never rewritten.

A line is a person's label of one sample (`right`, `wrong`, `hack`, a `note`), of two (`better`: the first than the other;
`level`: neither), or withdraws a label (`withdrawn`). The last line about a thing counts. Each holds the text it is
about, so that the file stands alone; each ends with its number and a checksum, as events do. Who appends holds the file's lock,
so several studios at once lose nothing; a torn last line is passed over and cut off by the next writer.
Leaves out: the files that other verbs take, which follow from these lines (`label_files.py`).
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.runs.checksums import line_sum, seal_line
from guerdon.runs.whole_files import disk_errors

FOLDER, FILE = "labels", "labels.jsonl"
VERDICTS = ("right", "wrong", "hack")
PAIRED = ("better", "level")
KINDS = (*VERDICTS, "note", *PAIRED)
WITHDRAWN = "withdrawn"
PLACE = ("step", "episode", "segment")
Row = dict[str, Any]
Place = tuple[int, str, int]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class LabelBook:
    """The labels of a file: those that are valid, in the order they were given, and how many lines are damaged."""

    labels: list[Row]
    damaged: int = 0
    lines: int = 0

    def of(self, place: Place) -> list[Row]:
        """The labels of one sample, those of pairs that it is in among them."""
        return [row for row in self.labels if place in places_of(row)]

    @property
    def verdicts(self) -> dict[Place, str]:
        """The labels of each judged sample."""
        return {place_of(row): row["kind"] for row in self.labels if row["kind"] in VERDICTS}


def place_of(row: Mapping[str, Any]) -> Place:
    return row["step"], row["episode"], row["segment"]


def places_of(row: Mapping[str, Any]) -> list[Place]:
    """The sample that a label is about, or the two."""
    return [place_of(row), *([place_of(row["other"])] if row.get("other") else [])]


def read_labels(run: Path) -> LabelBook:
    """The labels of the run in a folder; empty where there are none."""
    try:
        with open(_file(run), "rb", opener=_reading) as file:
            return _book(file.read())
    except FileNotFoundError:
        return LabelBook([])
    except OSError as error:
        raise UserError(f"cannot read {run / FOLDER / FILE}: {error.strerror}") from error


def add_label(run: Path, row: Mapping[str, Any], then: Callable[[LabelBook], None] = lambda book: None) -> LabelBook:
    """Append a label; `then` receives all valid labels, before another process may write."""
    _check(row)
    with _held(run) as file:
        book = _append(file, [row])
        then(book)
    return book


def withdraw(
    run: Path, place: Place | None, kind: str = "", then: Callable[[LabelBook], None] = lambda book: None
) -> tuple[LabelBook, Row | None]:
    """Take back the label that was given last, of all or of one sample, of any kind or one; and which it was, if there was."""
    with _held(run) as file:
        before = _book(_content(file))
        there = before.labels if place is None else before.of(place)
        last = [row for row in there if kind in ("", row["kind"])][-1:]
        taken = [{"kind": WITHDRAWN, "of": row["kind"], **_where(row)} for row in last]
        book = _append(file, taken) if taken else before
        then(book)
    return book, last[0] if last else None


# --- lines ----------------------------------------------------------------------------------------------------------


def _where(row: Mapping[str, Any]) -> Row:
    other = {"other": {name: row["other"][name] for name in PLACE}} if row.get("other") else {}
    return {**{name: row[name] for name in PLACE}, **other}


def _key(row: Mapping[str, Any]) -> Key:
    """What a line is about: the last one with the same counts."""
    kind = row["of"] if row["kind"] == WITHDRAWN else row["kind"]
    if kind in PAIRED:
        return "pair", *sorted(places_of(row))
    return "verdict" if kind in VERDICTS else kind, place_of(row)


def _check(row: Mapping[str, Any]) -> None:
    if not _is_label(row) or row["kind"] == WITHDRAWN:
        raise UserError(f"a label is one of {', '.join(KINDS)} about a step, an episode and a segment")
    if row["kind"] in PAIRED and place_of(row) == place_of(row["other"]):
        raise UserError("a sample cannot be better than itself: choose another try")


def _is_label(row: Any) -> bool:
    """Whether a line is well-formed."""
    if not isinstance(row, dict) or not _is_place(row):
        return False
    kind = row.get("of") if row.get("kind") == WITHDRAWN else row.get("kind")
    return kind in KINDS and (kind not in PAIRED or _is_place(row.get("other")))


def _is_place(row: Any) -> bool:
    return isinstance(row, dict) and all(
        type(row.get(name)) is kind for name, kind in zip(PLACE, (int, str, int), strict=True)
    )


def _parsed(line: bytes) -> Row | None:
    """A line's label; None where it is torn, damaged or none. Lines without a checksum, written by hand, are accepted."""
    try:
        row = json.loads(line) if line_sum(line) is not False else None
    except (ValueError, RecursionError):
        return None
    return row if _is_label(row) else None


def _book(content: bytes) -> LabelBook:
    *lines, tail = content.split(b"\n")
    rows = [_parsed(line) for line in lines if line.strip()]
    last = _parsed(tail)  # a torn one is not damage
    return _standing([row for row in (*rows, last) if row is not None], rows.count(None))


def _standing(rows: Iterable[Row], damaged: int) -> LabelBook:
    labels: dict[Key, Row] = {}
    lines = damaged
    for row in rows:
        lines += 1
        labels.pop(_key(row), None)  # repeated labels go to the end
        if row["kind"] != WITHDRAWN:
            labels[_key(row)] = row
    return LabelBook(list(labels.values()), damaged, lines)


# --- the file -------------------------------------------------------------------------------------------------------


def _file(run: Path) -> Path:
    """Where labels lie. A folder from another person may hold links that lead outside: nothing is written through them."""
    folder = run / FOLDER
    if folder.is_symlink():
        raise UserError(f"{folder} is a link: labels are kept in the run's own folder, so remove it")
    return folder / FILE


def _reading(path: str, flags: int) -> int:
    """Neither a link nor a pipe that would wait for ever."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise UserError(f"{path} is not a file")


@contextmanager
def _held(run: Path) -> Iterator[int]:
    """The file, made if need be, and this writer's alone."""
    path = _file(run)
    with disk_errors(path):
        path.parent.mkdir(exist_ok=True)
        file = _reading(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        with disk_errors(path):
            yield file
    finally:
        os.close(file)


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _append(file: int, rows: Sequence[Mapping[str, Any]]) -> LabelBook:
    """Write lines at the end, where a torn one is cut off and one that lost nothing but its end gets it."""
    content = _content(file)
    whole = content.rfind(b"\n") + 1
    lead = b""
    if content[whole:]:
        if _parsed(content[whole:]) is None:
            os.ftruncate(file, whole)
            content = content[:whole]
        else:
            lead = b"\n"
    number = _book(content).lines
    stamped = [{**row, "time": time.time(), "line": number + n} for n, row in enumerate(rows, start=1)]
    added = lead + b"".join(seal_line(row) + b"\n" for row in stamped)
    left = memoryview(added)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)
    return _book(content + added)
