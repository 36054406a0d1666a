"""Episodes of one turn each, kept as columns: what was asked once for each ask, what was said in one flat array.

The `Episode`s are made when somebody looks at one, and kept.
`core/pack.py` makes a Batch of the columns without looking at any.
Leaves out: how they are played (`engine/columns.py`).

Axes: A asks, E episodes, S steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from guerdon.core.episode import End, Episode, Segment
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling


@dataclass(frozen=True)
class TriedAsk:
    """An ask, and what all of its tries have in common."""

    ask: Ask
    number: int  # among the step's asks
    place: Place  # that the seeds of its tries are derived from
    context: npt.NDArray[np.int64]
    sampling: Sampling
    view: Any


@dataclass(frozen=True, eq=False)
class OneTurn(Sequence[Episode]):
    """The tries at asks, ask by ask. None of them failed: there is no environment's code that could."""

    role: str
    step: int
    version: int  # of the weights that acted
    asked: Sequence[TriedAsk]  # [A]
    action: npt.NDArray[np.int64]  # [S] what was said, episode after episode
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

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """[E] all of them: who looks at one looks at the others too."""
        made = []
        begin = 0
        told = zip(self.length.tolist(), self.text, self.end, strict=True)
        plain = {"parent": -1, "given": 0, "reward": None, "rewards": None, "made": None, "goes_on": False}
        for one in self.asked:
            asked = {"role": self.role, "view": one.view, "context": one.context, "sampling": one.sampling}
            spoken = {**asked, **plain, "version": self.version}
            tried = {"ask": one.ask, "step": self.step, "number": one.number}
            for attempt, seed in enumerate(one.place.derive_each(one.ask.n, "dice")):
                length, text, end = next(told)
                said = slice(begin, begin := begin + length)
                actions, logp = self.action[said].copy(), self.logp[said].copy()
                segment = _unchecked(Segment, {**spoken, "actions": actions, "logp": logp, "text": text, "end": end})
                facts = {**tried, "segments": (segment,), "attempt": attempt, "info": {}, "seed": seed}
                made.append(_unchecked(Episode, facts))
        return tuple(made)


def failed_in(episodes: Sequence[Episode]) -> list[Episode]:
    """Those that failed, columns not looked into: none of theirs did."""
    return [] if isinstance(episodes, OneTurn) else [episode for episode in episodes if episode.failed]


def steps_in(episodes: Sequence[Episode]) -> list[int]:
    """[E] the step that each was played in, columns not looked into."""
    return [episodes.step] * len(episodes) if isinstance(episodes, OneTurn) else [e.step for e in episodes]


def _unchecked(kind: Any, fields: dict[str, Any]) -> Any:
    """A frozen record without its constructor's checks: all rows were checked at once, and setting frozen fields one by one
    takes several times as long."""
    record = object.__new__(kind)
    object.__setattr__(record, "__dict__", fields)
    return record
