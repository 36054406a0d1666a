"""Episodes of one turn each, kept as columns: the question once for each ask, all answers in one flat array.

The `Episode`s are built on first access, and kept.
`core/pack.py` makes a Batch of the columns without looking at any.
Leaves out: how they are played (`engine/columns.py`).

Axes: A asks, E episodes, S steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from guerdon.core.episode import End, Episode, Segment
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class TriedAsk:
    """An ask, and what all of its tries have in common."""

    ask: Ask
    number: int  # among the step's asks
    place: Place  # that the seeds of its tries are derived from
    context: npt.NDArray[np.int64]
    sampling: Sampling
    view: Any

    @property
    def seeds(self) -> list[int]:
        """Of the dice of each try."""
        return self.place.derive_each(self.ask.n, "dice")


@dataclass(frozen=True, eq=False)
class OneTurn(Sequence[Episode]):
    """The tries at asks, ask by ask. None of them failed: there is no environment's code that could."""

    role: str
    step: int
    version: int  # of the weights that acted
    asked: Sequence[TriedAsk]  # [A]
    action: npt.NDArray[np.int64]  # [S] the answers, episode after episode
    logp: npt.NDArray[np.float32]  # [S]
    length: npt.NDArray[np.int64]  # [E]
    text: Sequence[str]  # [E]
    end: Sequence[End]  # [E]
    ask_E: npt.NDArray[np.int64] = field(init=False, repr=False)  # [E] which of `asked`

    def __post_init__(self) -> None:
        tries = [each.ask.n for each in self.asked]
        assert len(self.length) == len(self.text) == len(self.end) == sum(tries), "not a row for each try"
        assert len(self.action) == len(self.logp) == self.length.sum(), "not a log-prob for each action"
        assert self.action.dtype == np.int64 and self.logp.dtype == np.float32, "not tokens and their log-probs"
        vars(self).update(ask_E=np.repeat(np.arange(len(tries)), tries))

    def __len__(self) -> int:
        return len(self.text)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    @overload
    def __getitem__(self, at: int) -> Episode: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Episode]: ...

    def __getitem__(self, at: int | slice) -> Episode | Sequence[Episode]:
        if isinstance(at, slice) and range(len(self))[at] == range(len(self)):
            return self
        return self.episodes[at]

    @property
    def seeds(self) -> list[int]:
        """[E]"""
        return [seed for one in self.asked for seed in one.seeds]

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """[E] all of them: who looks at one looks at the others too."""
        actions, logps = by_row(self.action, self.length), by_row(self.logp, self.length)
        tries = Tries(self.role, self.step, self.version, self.asked)
        return tuple(tries.episodes(range(len(self)), actions, logps, self.text, self.end))


class Tries:
    """Makes episodes of one turn: rows of them at a time, [E] in the order of the tries, ask by ask."""

    def __init__(self, role: str, step: int, version: int, asked: Sequence[TriedAsk]) -> None:
        plain = {"parent": -1, "given": 0, "reward": None, "rewards": None, "made": None, "goes_on": False}
        self.said: list[dict[str, Any]] = []  # [E] what is known of a try's segment before it is played ...
        self.facts: list[dict[str, Any]] = []  # ... and of its episode
        for one in asked:
            shown = {"role": role, "view": one.view, "context": one.context, "sampling": one.sampling}
            self.said += [{**shown, **plain, "version": version}] * one.ask.n
            tried = {"ask": one.ask, "step": step, "number": one.number}
            self.facts += [{**tried, "attempt": attempt, "seed": seed} for attempt, seed in enumerate(one.seeds)]

    def episodes(
        self,
        rows: Sequence[int],
        actions: Sequence[npt.NDArray[np.int64]],
        logps: Sequence[npt.NDArray[np.float32]],
        texts: Sequence[str],
        ends: Sequence[End],
    ) -> list[Episode]:
        """The tries in some rows, from the answer of each."""
        made = []
        for e, action, logp, text, end in zip(rows, actions, logps, texts, ends, strict=True):
            segment = _unchecked(Segment, {**self.said[e], "actions": action, "logp": logp, "text": text, "end": end})
            made.append(_unchecked(Episode, {**self.facts[e], "segments": (segment,), "info": {}}))
        return made


def by_row(flat: npt.NDArray[T], length: npt.NDArray[np.int64]) -> list[npt.NDArray[T]]:
    """Copies of the rows of a flat array, in which they lie one after the other."""
    return [flat[begin:end].copy() for begin, end in itertools.pairwise([0, *np.cumsum(length).tolist()])]


def asks_in(episodes: Sequence[Episode]) -> list[Ask]:
    """[E] what each is a try at, columns not looked into."""
    if isinstance(episodes, OneTurn):
        return [one.ask for one in episodes.asked for _ in range(one.ask.n)]
    return [episode.ask for episode in episodes]


def failed_in(episodes: Sequence[Episode]) -> list[Episode]:
    """Those that failed, columns not looked into: none of theirs did."""
    return [] if isinstance(episodes, OneTurn) else [episode for episode in episodes if episode.failed]


def views_in(episodes: Sequence[Episode], episode: Sequence[int], place: Sequence[int]) -> list[Any]:
    """[G] what was shown before segments, each the one at a place of an episode; columns not looked into."""
    if isinstance(episodes, OneTurn):
        asked = episodes.ask_E.tolist()
        return [episodes.asked[asked[e]].view for e in episode]
    return [episodes[e].segments[i].view for e, i in zip(episode, place, strict=True)]


def texts_in(episodes: Sequence[Episode], episode: Sequence[int], place: Sequence[int]) -> list[str]:
    """[N] the texts of segments, each the one at a place of an episode; columns not looked into."""
    if isinstance(episodes, OneTurn):
        return [episodes.text[e] for e in episode]
    return [episodes[e].segments[i].text for e, i in zip(episode, place, strict=True)]


def steps_in(episodes: Sequence[Episode]) -> list[int]:
    """[E] the step that each was played in, columns not looked into."""
    return [episodes.step] * len(episodes) if isinstance(episodes, OneTurn) else [e.step for e in episodes]


def _unchecked(kind: Any, fields: dict[str, Any]) -> Any:
    """A frozen record without its constructor's checks: all rows were checked at once, and setting frozen fields one by one
    takes several times as long."""
    record = object.__new__(kind)
    object.__setattr__(record, "__dict__", fields)
    return record
