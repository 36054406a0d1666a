"""A file of scores, row by row, and the protocols that read it; a reward may score the file's texts first.

Columns have any of their names, and numbers may be missing: null, NaN and an empty field of a CSV are NaN here.
An infinite score is refused, in one line. A protocol goes through the rows and notes on each what it is worth by the published
rule; every number that it reports is a mean of such notes, or follows from means, so the same rule gives the number and its
bootstrap interval. Where a reward scores the texts, a row's other columns are fields of its samples; where it gives no score,
the score is missing; texts that are lists of messages are not scored.
Leaves out: the rules themselves, a file each, and how files are read (`data/opening.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from guerdon.core.errors import UserError
from guerdon.data.data_rows import Records
from guerdon.data.lines import shown
from guerdon.data.opening import open_records, rows_of_columns
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.stage.scorer import score_samples

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


def scored_by(reward: Any, rows: ScoreRows, protocol: ScoreProtocol) -> ScoreRows:
    """The rows with the scores that a reward (a function, a formula, FILE.py:NAME, a trained model) gives to their texts."""
    if not protocol.texts:
        raise UserError(f"{protocol.name} needs scores of steps or verdicts: a reward of whole texts cannot give them")
    formula = find_reward(reward) if isinstance(reward, str) else reward
    samples: list[dict[str, Any]] = []
    groups: list[int] = []
    for number, row in enumerate(rows):
        for slot in protocol.texts:
            texts = _texts(row, slot)
            samples += [_sample(row.values, slot, text) for text in texts]
            groups += [number] * len(texts)
    scores = iter(score_samples(formula, samples, groups).whole)
    return ScoreRows([_scored(row, protocol.texts, scores) for row in rows], rows.name)


def _texts(row: ScoreRow, slot: TextSlot) -> Sequence[str]:
    value = row.value(slot.text)
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        row.refuse(f"{slot.text} is a text or a list of texts where a reward is to score it")
    return texts


def _sample(values: Mapping[str, Any], slot: TextSlot, text: str) -> dict[str, Any]:
    own = {name: value for name, value in values.items() if name not in (slot.text, "completion")}
    prompt = values.get(slot.prompt)
    return {**own, "prompt": prompt if isinstance(prompt, str) else "", "completion": text}


def _scored(row: ScoreRow, slots: Sequence[TextSlot], scores: Any) -> ScoreRow:
    given = {slot.score: [next(scores) for _ in _texts(row, slot)] for slot in slots}
    return ScoreRow({**row.values, **given}, row.where)


Array = NDArray[Any]
Means = dict[str, Array]  # a number for each draw, by the name of what it measures
Derive = Callable[[Means], Means]


class ScoredPair(NamedTuple):
    """A chosen answer against a rejected one: by how much it is scored higher, or how likely it is said to be better."""

    problem: str
    margin: float
    probability: float


class ScoredTry(NamedTuple):
    """One answer: its score, whether it is right, and how long it is (None where the file does not say)."""

    problem: str
    score: float
    right: float | None
    length: float | None


class TextSlot(NamedTuple):
    """What a reward is asked for where a file has texts alone: the column its score goes to, and where the texts are."""

    score: str
    prompt: str
    text: str


@dataclass(frozen=True)
class ScoreSettings:
    """Options for reading a file; each protocol uses those it knows."""

    threshold: float | str = 0.5
    seed: int = 0


@dataclass
class Ledger:
    """What a protocol notes. A measure is called `name` or `group/name`; one that begins with `_` is not reported itself."""

    problems: list[str] = field(default_factory=list)  # of each row
    strata: list[str] = field(default_factory=list)  # within which problems are resampled
    notes_of_rows: list[Mapping[str, float]] = field(default_factory=list)
    pairs: list[ScoredPair] = field(default_factory=list)
    tries: list[ScoredTry] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    derive: Derive = field(default=lambda means: {})
    plain: tuple[str, ...] = ()  # measures that are not shares, or groups of them

    def note(self, problem: str, stratum: str, **values: float) -> None:
        self.notes(problem, stratum, values)

    def notes(self, problem: str, stratum: str, values: Mapping[str, float]) -> None:
        """What one row is worth by each measure that is about it."""
        self.problems.append(problem)
        self.strata.append(stratum)
        self.notes_of_rows.append(values)

    def count(self, what: str, many: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + many

    def pair(self, problem: str, chosen: float, rejected: float) -> None:
        if not math.isnan(chosen - rejected):
            self.pairs.append(ScoredPair(problem, chosen - rejected, sigmoid(chosen - rejected)))

    def answer(self, problem: str, score: float, right: float | None, length: float | None = None) -> None:
        if not math.isnan(score):
            self.tries.append(ScoredTry(problem, score, right, length))


@dataclass(frozen=True)
class ScoreProtocol:
    """A published way to evaluate a reward model by its scores."""

    name: str
    says: str
    holds: str  # what a row holds
    source: str  # whom it follows
    read: Callable[[ScoreRows, ScoreSettings], Ledger]
    texts: tuple[TextSlot, ...] = ()


PROTOCOLS: dict[str, ScoreProtocol] = {}


def protocol(
    name: str, says: str, holds: str, source: str, texts: Sequence[TextSlot] = ()
) -> Callable[[Callable[[ScoreRows, ScoreSettings], Ledger]], Callable[[ScoreRows, ScoreSettings], Ledger]]:
    """Puts the function that reads a file by a protocol on the list."""

    def enlist(read: Callable[[ScoreRows, ScoreSettings], Ledger]) -> Callable[[ScoreRows, ScoreSettings], Ledger]:
        PROTOCOLS[name] = ScoreProtocol(name, says, holds, source, read, tuple(texts))
        return read

    return enlist


def sigmoid(x: float) -> float:
    """How likely the higher score is the better answer, by Bradley and Terry.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def mean_of(means: Means, names: Sequence[str]) -> Array:
    """The plain mean of several measures; NaN in draws where one of them has no number."""
    return np.mean([means[name] for name in names], axis=0)  # type: ignore[no-any-return]
