"""What happened: a Segment is one stretch of actions by one role, an Episode is a tree of them.

`parent` points at an earlier segment of the same episode.
Under a parent of the *same role* a segment continues its memory:
its full context is the parent's context, the parent's actions, then its own `context`.
Under a parent of *another role* it only hangs there (a judge's call below what it judged) and its own `context` is all
it saw.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.arrays import equal
from guerdon.core.errors import UserError
from guerdon.core.lazy import in_notebook
from guerdon.core.shown_text import cut
from guerdon.core.task import Ask, Prefix, Sampling, Task

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float32)
USUAL = (("context", INT), ("actions", INT), ("logp", FLOAT), ("rewards", FLOAT))
SHOWN = 60  # characters of a text in a line


class End(StrEnum):
    """Why a segment stopped. Four different facts that must never be mixed up; numbered in this order, so new ones go last.

    >>> import guerdon as gd
    >>> [end.value for end in gd.End]
    ['done', 'cut', 'failed', 'stopped']
    """

    DONE = "done"  # the actor finished
    CUT = "cut"  # a limit stopped it: what would have come is unknown
    FAILED = "failed"  # something broke: nothing may be learned from it
    STOPPED = "stopped"  # it generated a stop string: complete as with DONE, but its turn may continue


@dataclass(frozen=True)
class Segment:
    """Actions one role took in a row, with what it had just been shown. A segment without actions is allowed.

    Args:
        role: who acted.
        text: the actions as text.
        parent: number of the segment it continues; -1 starts an episode.
        sampling: how the actions were sampled.
        end: how it ended: DONE, CUT or FAILED.
        goes_on: it continues its parent's turn.

    >>> import guerdon as gd
    >>> segment = gd.Segment("policy", "2 + 2 =", context=[5, 6], actions=[4, 1], logp=[-0.1, -0.2], text="4")
    >>> len(segment.actions), segment.end
    (2, <End.DONE: 'done'>)
    """

    role: str
    view: Any  # what the environment showed, as JSON and arrays: text, messages, a picture, an observation
    context: npt.NDArray[
        Any
    ]  # [C] the view as the model read it, tokens or floats; only what is new since a same-role parent
    actions: npt.NDArray[Any]  # [T] token ids or choices, [T, A] for continuous actions
    logp: npt.NDArray[np.float32]  # [T] log-prob when it was sampled; NaN for actions that were recited, not sampled
    text: str = ""
    parent: int = -1
    sampling: Sampling = field(default_factory=Sampling)
    version: int = 0  # of the weights that acted
    given: int = 0  # leading actions that were supplied, not sampled: seen, never trained on
    reward: float | None = None  # what the environment paid for it as a whole, if it did ...
    end: End = End.DONE
    rewards: npt.NDArray[np.float32] | None = None  # [T] ... and for each of its actions, if it did
    made: Any = None  # what the actions produce where that is not text: a picture, a state
    goes_on: bool = (
        False  # whether it continues its parent's turn: its view was put in raw, and nothing was closed or opened
    )

    def __post_init__(self) -> None:
        """One type for each array, so that what is packed or stored comes back the same; and lengths that fit."""
        for name, usual in USUAL:
            given = getattr(self, name)
            if given is None or getattr(given, "dtype", None) is usual:  # nearly all are
                continue
            is_float = name in ("logp", "rewards") or (np.asarray(given).dtype.kind == "f" and len(given) > 0)
            kind = FLOAT if is_float else INT
            if getattr(given, "dtype", None) != kind:
                object.__setattr__(self, name, np.asarray(given, kind))
        if self.context.ndim != 1:
            raise UserError(f"a context is one row of numbers, not {self.context.shape} (of {self.role!r}): flatten it")
        if self.rewards is not None and len(self.rewards) != len(self.actions):
            raise UserError(
                f"{self.role!r} was paid {len(self.rewards)} numbers for {len(self.actions)} actions: pay one for each"
            )
        if len(self.logp) != len(self.actions):
            raise ValueError(f"a segment of {self.role!r}: {len(self.logp)} log-probs for {len(self.actions)} actions")
        if not 0 <= self.given <= len(self.actions):
            raise ValueError(f"a segment of {self.role!r}: {self.given} of {len(self.actions)} actions are given")

    def __repr__(self) -> str:
        return f"Segment({self.role!r}, {len(self.actions)} actions, {cut(self.text, SHOWN)!r}, {self.end})"

    def but(self, **changes: Any) -> Segment:
        return dataclasses.replace(self, **changes)

    def same(self, other: Segment) -> bool:
        """Equal to the last bit (NaN equals NaN)."""
        for f in dataclasses.fields(self):
            a, b = getattr(self, f.name), getattr(other, f.name)
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.size == b.size == 0:
                continue  # empty actions are equal, whatever their type
            if not equal(a, b) and not (f.name == "reward" and a != a and b != b):
                return False
        return True


@dataclass(frozen=True)
class Episode:
    """One try at an ask. (`step`, `number`, `attempt`) names it inside a run: the step, which ask of it, which try.

    Args:
        ask: what was asked.
        segments: the turns, a parent before its children.
        step: the run's step.
        number: which ask of the step.
        attempt: which try at the ask.

    >>> import guerdon as gd
    >>> turn = gd.Segment("policy", "2 + 2 =", context=[5, 6], actions=[4, 1], logp=[-0.1, -0.2], text="4")
    >>> gd.Episode(gd.Ask(gd.Task("7", "2 + 2 =", "4")), (turn,)).task.answer
    '4'
    """

    ask: Ask
    segments: tuple[Segment, ...]
    step: int = 0
    number: int = 0
    attempt: int = 0
    info: dict[str, Any] = field(default_factory=dict)  # JSON: outcomes, and `error` when the environment broke
    seed: int = 0  # of the environment's own dice

    def __post_init__(self) -> None:
        for i, s in enumerate(self.segments):
            if not -1 <= s.parent < i:
                raise ValueError(f"episode {self.key}: the parent of segment {i} is {s.parent}, not an earlier one")

    def __repr__(self) -> str:
        last = f", {cut(self.segments[-1].text, SHOWN)!r}" if self.segments else ""
        many = f"{len(self.segments)} segment{'s' * (len(self.segments) != 1)}"
        return f"Episode({self.key} of {self.task.key}: {many}{last}{', failed' * self.failed})"

    _repr_html_ = in_notebook

    @property
    def task(self) -> Task:
        return self.ask.task

    @property
    def key(self) -> str:
        return f"{self.step}.{self.number}.{self.attempt}"

    @property
    def failed(self) -> bool:
        return "error" in self.info

    def but(self, **changes: Any) -> Episode:
        return dataclasses.replace(self, **changes)

    def same(self, other: Episode) -> bool:
        mine = (self.ask, self.key, self.info, self.seed, len(self.segments))
        if mine != (other.ask, other.key, other.info, other.seed, len(other.segments)):
            return False
        seen = equal(self.ask.view, other.ask.view)
        return seen and all(a.same(b) for a, b in zip(self.segments, other.segments, strict=True))

    def prefix(self, segment: int, step: int) -> Prefix:
        """A start for another try: everything up to `step` actions into segment number `segment`."""
        return Prefix(self.key, segment, step, self.segments[: segment + 1], self.seed)
