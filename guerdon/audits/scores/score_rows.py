"""A file of scores, row by row: columns by any of their names, numbers that may be missing, one line where a row does not fit.

A missing score is NaN here and never a number: null, NaN and an empty field of a CSV are missing. An infinite one is refused.
Leaves out: what rows mean (the protocols), how files are read (`data/opening.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from guerdon.core.errors import UserError
from guerdon.data.data_rows import Records
from guerdon.data.lines import shown
from guerdon.data.opening import open_records, rows_of_columns

CHOSEN = ("chosen_scores", "chosen_score", "scores_chosen", "score_chosen")
REJECTED = ("rejected_scores", "rejected_score", "scores_rejected", "score_rejected", "reject_score")
PROBLEM = (
    "problem",
    "problem_id",
    "prompt_id",
    "prompt",
    "question",
    "query",
    "id",
    "uuid",
)  # what rows of one problem share
MISSING = {"", "nan", "none", "null", "na"}  # what tables write where there is no number


class ScoreRow:
    """One row, with what it says or the line that refuses it."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values, self.where = values, where

    def refuse(self, why: str) -> NoReturn:
        raise UserError(f"{self.where}: {why}")

    def has(self, *names: str) -> str | None:
        """The first of the columns that is there, with a value or without."""
        return next((name for name in names if name in self.values), None)

    def column(self, *names: str) -> str:
        """The same, for a row that is refused where there is none."""
        name = self.has(*names)
        if name is None:
            there = ", ".join(map(str, self.values)) or "none"
            self.refuse(f"no column {' or '.join(names)}; there is {there}")
        return name

    def value(self, *names: str) -> Any:
        """What stands there; lists and objects that a CSV has as text are read."""
        value = self.values[self.column(*names)]
        if isinstance(value, str) and value[:1] in ("[", "{"):
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value

    def text(self, *names: str) -> str:
        value = self.values[self.column(*names)]
        if not isinstance(value, str | int) or isinstance(value, bool):
            self.refuse(f"{self.has(*names)} is text, not {shown(value)}")
        return str(value)

    def word(self, *names: str, default: str = "") -> str:
        """A text that may be left out."""
        name = self.has(*names)
        return default if name is None or self.values[name] is None else self.text(name)

    def problem(self) -> str:
        """What rows of one problem have in common; a row without any such column is its own."""
        name = self.has(*PROBLEM)
        return self.where if name is None or self.values[name] is None else shown_key(self.values[name])

    def number(self, *names: str) -> float:
        return self.as_number(self.value(*names), self.column(*names))

    def whole(self, *names: str) -> int:
        number = self.number(*names)
        if math.isnan(number) or number != int(number):
            self.refuse(f"{self.has(*names)} is a whole number, not {shown(self.value(*names))}")
        return int(number)

    def numbers(self, *names: str) -> list[float]:
        """One number or a list of them, each perhaps in a list of its own."""
        value, name = self.value(*names), self.column(*names)
        return (
            [self.as_number(each, name) for each in value] if isinstance(value, list) else [self.as_number(value, name)]
        )

    def list_of(self, *names: str) -> list[Any]:
        value = self.value(*names)
        if not isinstance(value, list):
            self.refuse(f"{self.has(*names)} is a list, not {shown(value)}")
        return value

    def as_number(self, value: Any, name: str) -> float:
        """A score, NaN where it is missing."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
            return math.nan
        try:
            number = float(value) if isinstance(value, int | float | str) else None
        except ValueError:
            number = None
        if number is None:
            self.refuse(f"{name} is a number, not {shown(value)}")
        if math.isinf(number):
            self.refuse(f"{name} is infinite: leave it out, or give a number")
        return number

    def lengths(self, name: str, many: int) -> list[float | None]:
        """How long each text in a column is, or what the column NAME_length(s) says; None where nothing does."""
        said = self.has(f"{name}_lengths", f"{name}_length")
        if said is not None:
            lengths: list[float | None] = [None if math.isnan(each) else each for each in self.numbers(said)]
        else:
            value = self.value(name) if self.has(name) else None
            one_text = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping) and "role" in value[0]
            texts = value if isinstance(value, list) and not one_text else [value]
            lengths = [text_length(text) for text in texts]
        return lengths if len(lengths) == many else [None] * many


class ScoreRows:
    """The rows of a file."""

    def __init__(self, rows: Sequence[ScoreRow], name: str) -> None:
        self.rows, self.name = rows, name

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ScoreRow]:
        return iter(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for row in self.rows[:100] for name in row.values))


def read_scores(source: Any, name: str = "") -> ScoreRows:
    """The rows of a file, of a list of dictionaries, or of a dictionary of columns.

    >>> rows = read_scores([{"chosen_score": "0.5", "rejected_score": None}])
    >>> [row.numbers("chosen_score") for row in rows], [row.numbers("rejected_score") for row in rows]
    ([[0.5]], [[nan]])
    """
    if isinstance(source, Mapping):
        source = rows_of_columns(source, name or "data")
    records: Records = open_records(source, name, holes=True)
    rows = []
    for row in records:
        where = f"{records.name}, {records.place(row.number)}"
        if row.value is None:
            raise UserError(f"{where}: {row.fault}")
        rows.append(ScoreRow(row.value, where))
    if not rows:
        raise UserError(f"{records.name} holds no rows")
    return ScoreRows(rows, records.name)


def text_length(value: Any) -> float | None:
    """The characters of a text, or of the contents of messages."""
    if isinstance(value, str):
        return float(len(value))
    if isinstance(value, Mapping):
        return text_length(value["messages"] if "messages" in value else value.get("content"))
    if isinstance(value, list):
        lengths = [text_length(each) for each in value]
        return math.fsum(each or 0.0 for each in lengths) if any(each is not None for each in lengths) else None
    return None


def shown_key(value: Any) -> str:
    """A value as the name of a problem: the same for equal values."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
