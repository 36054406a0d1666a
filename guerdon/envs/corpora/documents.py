"""Documents: what they are, where they are read from, and the piece of one that a query is about.

Leaves out: cutting long documents into several (give the pieces, with ids of their own) and formats that are not text (PDF).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from guerdon.core.errors import UserError
from guerdon.data.lines import first_twice
from guerdon.data.opening import open_records
from guerdon.envs.corpora.word_index import WORD

IDS = ("id", "_id", "docid", "doc_id")  # columns as collections of documents usually have them
TITLES = ("title", "name")
TEXTS = ("text", "contents", "content", "body", "passage", "document")
ENDINGS = (".txt", ".md", ".rst")  # files of a folder that are documents
LARGEST = 1 << 24  # bytes of a file that is one document


class Document(NamedTuple):
    """A text with a title, which is searched too, and an id, by which it is opened and cited."""

    id: str
    title: str
    text: str

    @property
    def searched(self) -> str:
        return f"{self.title}\n{self.text}"


def documents_of(source: Any) -> tuple[Document, ...]:
    """Documents from a list (of texts, or of rows with `text` and perhaps `title` and `id`), a folder of text files, or a file
    of such rows (JSON lines, CSV, Parquet). Those without an id are numbered from 1.

    >>> documents_of(["Keldor lies in Vastria.", {"id": "x", "text": "Norvex was founded in 1904."}])[0]
    Document(id='1', title='', text='Keldor lies in Vastria.')
    """
    if isinstance(source, str | os.PathLike) and Path(source).is_dir():
        documents = tuple(_of_folder(Path(source)))
    elif isinstance(source, Sequence) and not isinstance(source, str):
        documents = tuple(_of_value(value, number, "the documents") for number, value in enumerate(source, start=1))
    else:
        documents = tuple(_of_records(source))
    if not documents:
        kinds = f"; a folder is read for {', '.join(ENDINGS)}" if isinstance(source, str | os.PathLike) else ""
        raise UserError(f"no documents in {_called(source)}{kinds}")
    twice = first_twice(document.id for document in documents)
    if twice is not None:
        raise UserError(f"two documents of {_called(source)} have the id {twice!r}: give each its own")
    return documents


def _called(source: Any) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else "the list"


def _of_records(source: Any) -> Iterator[Document]:
    name = _called(source)
    for row in open_records(source, name):
        if row.value is None:
            raise UserError(f"{name}, line {row.number}: {row.fault or 'empty'}")
        yield _of_value(row.value, row.number, name)


def _of_value(value: Any, number: int, name: str) -> Document:
    if isinstance(value, Document):
        return value
    if isinstance(value, str):
        return Document(str(number), "", value)
    if not isinstance(value, Mapping):
        raise UserError(f"{name}, row {number}: a document is a text or a row with its `text`, not {value!r:.60}")
    text = _first(value, TEXTS)
    if text is None:
        raise UserError(f"{name}, row {number}: no `text` in it (its columns: {', '.join(map(str, value))})")
    own, title = _first(value, IDS), _first(value, TITLES)
    return Document(" ".join(str(own if own is not None else number).split()), str(title or ""), str(text))


def _first(row: Mapping[Any, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _of_folder(folder: Path) -> Iterator[Document]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in ENDINGS and path.is_file():
            name = path.relative_to(folder).as_posix()
            if path.stat().st_size > LARGEST:
                raise UserError(f"{path} is larger than {LARGEST >> 20} MiB: cut it into several documents")
            try:
                text = path.read_text("utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise UserError(f"cannot read {path}: {error}") from error
            yield Document(" ".join(name.split()), _heading(text) or path.stem, text)


def _heading(text: str) -> str:
    """What a text calls itself: its first line, where that is a heading of Markdown."""
    first = text.lstrip().partition("\n")[0]
    return first.lstrip("#").strip() if first.startswith("#") else ""


def hash_of(documents: Iterable[Document]) -> str:
    """Of what documents say, wherever they were read from."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update(json.dumps(document).encode())
    return digest.hexdigest()[:16]


def excerpt(text: str, words: Iterable[str], weight: Callable[[str], float], most: int) -> str:
    """The part of a text, at most `most` characters and on one line, that contains the words of highest idf.

    >>> excerpt("Much is said. Keldor lies in Vastria. And so on.", ["keldor"], len, 24)
    '... said. Keldor ...'
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    wanted = {word: weight(word) for word in words}
    room = max(most - 8, 1)  # for the dots
    places = [(m.start(), m.end(), wanted.get(m.group().casefold(), 0.0)) for m in WORD.finditer(text)]
    start = _best_start(places, room)
    end = start + room
    cut = text[start:end]
    if end < len(text) and not text[end].isspace() and " " in cut:
        cut = cut.rpartition(" ")[0]
    return f"{'... ' if start else ''}{cut.strip()}{' ...' if start + len(cut) < len(text) else ''}"


def _best_start(places: Sequence[tuple[int, int, float]], room: int) -> int:
    """Where a window of `room` characters that begins with a word is worth most: the middle one of such places, which shows
    what stands on both sides. 0 where nothing is worth anything."""
    best, starts, worth, last = 0.0, [0], 0.0, 0
    for first, (start, _, own) in enumerate(places):
        last = max(last, first)
        while last < len(places) and places[last][1] <= start + room:
            worth += places[last][2]
            last += 1
        if worth > best + 1e-9:
            best, starts = worth, [start]
        elif best and abs(worth - best) <= 1e-9:
            starts.append(start)
        if last > first:
            worth -= own
    return starts[len(starts) // 2]
