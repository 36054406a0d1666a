"""What a protocol is, what it makes of a file, and the list of all of them.

A protocol goes through a file's rows and notes on each what it is worth by the published rule. Every number that it reports is
a mean of such notes, or follows from means: so the same rule gives the number and, over problems drawn anew, its interval.
Leaves out: the rules themselves, a file each, and what is measured beside them (`score_extras.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from guerdon.audits.scores.score_rows import ScoreRows

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
    """What somebody may say about how a file is read; protocols take from it what they know."""

    threshold: float | str = 0.5
    seed: int = 0


@dataclass
class Ledger:
    """What a protocol notes. A measure is called `name` or `group/name`; one that begins with `_` is not reported itself."""

    problems: list[str] = field(default_factory=list)  # of each row
    strata: list[str] = field(default_factory=list)  # within which problems are drawn anew
    notes_of_rows: list[Mapping[str, float]] = field(default_factory=list)
    pairs: list[ScoredPair] = field(default_factory=list)
    tries: list[ScoredTry] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    derive: Derive = field(default=lambda means: {})
    plain: tuple[str, ...] = ()  # measures that are no shares, or groups of such

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
