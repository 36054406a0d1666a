"""Moves in a world of several turns, made from the moves of an oracle policy: marked, undone, varied, spoiled.

Leaves out: in which order they are made (`worlds.py`), and what they earn, which the task says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MARK = re.compile(r"^(?:[=#>]+\s*|[A-Za-z_]+(?::\s*|\s+))")  # what a move begins with: `= `, `stop `, `search: `
SETS = re.compile(r"^(\w+ +(\d+)(?:: ?| ))(.*)$", re.DOTALL)  # a move that writes something into a numbered place
LISTED = re.compile(r"\[(\d+)\] (\w+)")  # a numbered thing on a page, and what it is
SOURCE = re.compile(r"\[([A-Za-z]\w*\d)\]")  # the name of a document
MOVES = re.compile(r"(?:\bmoves?(?: a turn)?):\s*(.+)", re.IGNORECASE)
PLACE = re.compile(r"\b(?:[A-Z]{1,12}|words|id|text|answer)\b")  # a placeholder in a list of moves
ODD = ("nan", "inf", "-inf", "1e999", "", "0", "None", "???", "1/0", ".*", "[]", "true", "yes")
MANY = 10  # different moves that are made one after the other


def mark_of(turns: Sequence[str]) -> str:
    """What all of these last words begin with, up to where they say something of their own; "" where they have nothing in
    common.

    >>> mark_of(["= 12", "= 7"]), mark_of(["stop", "stop"]), mark_of(["order: tea=green", "order: cup=2"])
    ('= ', '', 'order: ')
    """
    match = MARK.match(turns[0].rpartition("\n")[2]) if turns else None
    mark = match[0] if match else ""
    if all(turn.rpartition("\n")[2].startswith(mark) for turn in turns):
        return mark
    own = [MARK.match(turn.rpartition("\n")[2]) for turn in turns]  # `order: ` here and `book: ` there
    return mark if all(each is not None and each[0].rstrip().endswith(":") for each in own) else ""


def answer_of(last: str, mark: str) -> str:
    """What last words say after their mark, which may be another than here.

    >>> answer_of("book: day=friday", "order: ")
    'day=friday'
    """
    line = last.rpartition("\n")[2]
    own = MARK.match(line)
    return line.removeprefix(mark) if line.startswith(mark) or own is None else line[own.end() :]


def undone(move: str, views: Sequence[str]) -> str | None:
    """The move that puts back what stood there, where the move writes into a numbered place that was shown."""
    match = SETS.match(move)
    if match is None:
        return None
    number = match[2]
    shown = re.compile(rf'^{number}:(.*)$|\[{number}\] \w+ "[^"]*" = "([^"]*)"', re.MULTILINE)
    for view in reversed(views):
        old = shown.search(view)
        if old is not None:
            text = old[1] if old[1] is not None else old[2]
            return None if text.strip() == match[3].strip() else f"{match[1].rstrip(' ') if old[1] else match[1]}{text}"
    return None


def spoiled(move: str) -> str | None:
    """A move that writes something else into the same place."""
    match = SETS.match(move)
    return f"{match[1]}x" if match else None


def varied(turn: str, words: Sequence[str], numbers: bool = True) -> list[str]:
    """The same kind of move with something else in it: other words after its mark, or other numbers."""
    mark = mark_of([turn])
    if re.search(r"\d", turn) and numbers:
        return [re.sub(r"\d+", lambda m, by=by: str(int(m[0]) + by), turn) for by in range(1, MANY + 1)]  # type: ignore[misc]
    return [f"{mark}{word}" for word in words[:MANY]] if mark and mark.strip() != turn.strip() else []


def asking_for(turn: str, text: str) -> str | None:
    """The same kind of move with a text as all that it asks for; None where no text in it can be separated from the move.

    >>> asking_for("calc 3*4", "12"), asking_for('{"name": "calc", "arguments": {"expression": "3*4"}}', "12")
    ('calc 12', '{"name": "calc", "arguments": {"expression": "12"}}')
    """
    argument = re.search(r'("arguments"\s*:\s*\{.*?:\s*)"(?:[^"\\]|\\.)*"', turn, re.DOTALL)
    if argument is not None:
        return turn[: argument.end(1)] + json.dumps(text) + turn[argument.end() :]
    mark = mark_of([turn])
    return f"{mark}{text}" if mark and mark.strip() != turn.strip() else None


def small_numbers(turn: str) -> list[str]:
    """The move with its numbers small: the least of everything, here and there."""
    count = len(re.findall(r"\d+", turn))
    made = []
    for last in range(1, 5) if 0 < count <= 3 else ():
        left = iter([1] * (count - 1) + [last])
        made.append(re.sub(r"\d+", lambda m, left=left: str(next(left)), turn))  # type: ignore[misc]
    return made


def named_moves(view: str, words: Sequence[str]) -> list[str]:
    """The moves that a world describes, their placeholders filled in: a word, a number, the name of a document."""
    told = MOVES.search(view)
    if told is None:
        return []
    parts = re.split(r"\s*\|\s*|,\s+", told[1].strip())
    word = words[0] if words else "it"
    return [
        PLACE.sub(lambda m: {"id": "d1", "words": word}.get(m[0], "1" if m[0].isupper() else word), p) for p in parts
    ]


def sources_in(views: Sequence[str]) -> list[str]:
    """Names of documents: those that were shown, and the first few of the same kind."""
    shown = list(dict.fromkeys(name for view in views for name in SOURCE.findall(view)))
    letters = re.match(r"[A-Za-z]+", shown[0])[0] if shown else ""  # type: ignore[index]
    return list(dict.fromkeys([*shown, *(f"{letters}{n}" for n in range(1, MANY + 1) if shown)]))


def beside(move: str, view: str) -> list[str]:
    """The same move on every other thing of its kind that is shown: `click 2` for each button beside that of `click 4`."""
    match = re.match(r"^(\w+) (\d+)$", move.strip())
    if match is None:
        return []
    kinds = dict(LISTED.findall(view))
    mine = kinds.get(match[2])
    return [f"{match[1]} {n}" for n, kind in kinds.items() if n != match[2] and kind == mine][:MANY]


def common_words(texts: Sequence[str]) -> list[str]:
    """The words that most texts have, those that nearly all have last: they distinguish nothing."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in dict.fromkeys(re.findall(r"[a-z]{4,}", text.lower())):
            counts[word] = counts.get(word, 0) + 1
    often = [word for word, count in counts.items() if count > 1]
    mine = often if len(often) >= MANY else list(counts)
    return sorted(mine, key=lambda word: (counts[word] > 0.9 * len(texts), -counts[word]))


def titles_in(meta: Mapping[str, Any]) -> list[str]:
    """What the documents of a world are called, three in a line: who asks for these sees them all."""
    rows = meta.get("documents", ())
    titles = [str(row[1]) for row in rows if isinstance(row, list | tuple) and len(row) > 1]
    return [" ".join(titles[n : n + 3]) for n in range(0, len(titles), 3)]


def parts_of(answer: str) -> list[str]:
    """An answer of several parts without some of them: each alone, all but the last, the first half."""
    parts = re.split(r",\s*|;\s*", answer)
    if len(parts) < 2:
        words = answer.split()
        return [" ".join(words[: len(words) // 2]), words[0]] if len(words) > 1 else []
    return list(dict.fromkeys([*parts[:3], ", ".join(parts[:-1]), ", ".join(parts[: (len(parts) + 1) // 2])]))


def in_all_places(turns: Sequence[str], views: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """For each move on a numbered thing: where it stands, and the same on all things beside."""
    for n, (turn, view) in enumerate(zip(turns, views, strict=True)):
        every = beside(turn, view)
        if every:
            yield n, every
