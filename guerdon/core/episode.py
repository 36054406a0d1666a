"""What happened: a Segment is one stretch of actions by one role, an Episode is a tree of them.

`parent` points at an earlier segment of the same episode. Under a parent of the *same role* a segment continues its
memory: its full context is the parent's context, the parent's actions, then its own `context`. Under a parent of
*another role* it only hangs there (a judge's call below what it judged) and its own `context` is all it saw.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.task import Ask, Prefix, Sampling, Task

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float32)


class End(StrEnum):
    """Why a segment stopped. Three different facts that must never be mixed up."""

    DONE = "done"  # the actor finished
    CUT = "cut"  # a limit stopped it: what would have come is unknown
    FAILED = "failed"  # something broke: nothing may be learned from it


@dataclass(frozen=True)
class Segment:
    """Actions one role took in a row, with what it had just been shown. A segment without actions is allowed."""

    role: str
    view: Any  # what the environment showed, as JSON: text, messages, an observation
    context: npt.NDArray[np.int64]  # the view as the model read it; only what is new since a same-role parent
    actions: npt.NDArray[Any]  # [T] token ids or choices, [T, A] for continuous actions
    logp: npt.NDArray[np.float32]  # [T] log-prob when it was sampled; NaN for actions that were recited, not sampled
    text: str = ""
    parent: int = -1
    sampling: Sampling = field(default_factory=Sampling)
    version: int = 0  # of the weights that acted
    given: int = 0  # leading actions that were put in the actor's mouth: seen, never learned
    reward: float | None = None  # what the environment paid, if it did
    end: End = End.DONE

    def __post_init__(self) -> None:
        """One type for each array, so that what is packed or stored comes back the same; and lengths that fit."""
        is_float = np.asarray(self.actions).dtype.kind == "f" and len(self.actions) > 0
        for name, kind in (("context", INT), ("actions", FLOAT if is_float else INT), ("logp", FLOAT)):
            given = getattr(self, name)
            if getattr(given, "dtype", None) != kind:
                object.__setattr__(self, name, np.asarray(given, kind))
        if len(self.logp) != len(self.actions):
            raise ValueError(f"a segment of {self.role!r}: {len(self.logp)} log-probs for {len(self.actions)} actions")
        if not 0 <= self.given <= len(self.actions):
            raise ValueError(f"a segment of {self.role!r}: {self.given} of {len(self.actions)} actions are given")

    def but(self, **changes: Any) -> Segment:
        return dataclasses.replace(self, **changes)

    def same(self, other: Segment) -> bool:
        """Equal to the last bit (NaN equals NaN)."""
        for f in dataclasses.fields(self):
            a, b = getattr(self, f.name), getattr(other, f.name)
            if isinstance(a, np.ndarray):
                if a.size == b.size == 0:  # no actions are no actions, of whichever kind
                    continue
                if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                    return False
            elif a != b and not (f.name == "reward" and a != a and b != b):
                return False
        return True


@dataclass(frozen=True)
class Episode:
    """One try at an ask. (`step`, `number`, `attempt`) names it inside a run: the step, which ask of it, which try."""

    ask: Ask
    segments: tuple[Segment, ...]
    step: int = 0
    number: int = 0
    attempt: int = 0
    info: dict[str, Any] = field(default_factory=dict)  # JSON: outcomes, and `error` when the environment broke

    def __post_init__(self) -> None:
        for i, s in enumerate(self.segments):
            if not -1 <= s.parent < i:
                raise ValueError(f"episode {self.key}: the parent of segment {i} is {s.parent}, not an earlier one")

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
        mine = (self.ask, self.key, self.info, len(self.segments))
        return mine == (other.ask, other.key, other.info, len(other.segments)) and all(
            a.same(b) for a, b in zip(self.segments, other.segments, strict=True)
        )

    def prefix(self, segment: int, step: int) -> Prefix:
        """A start for another try: everything up to `step` actions into segment number `segment`."""
        return Prefix(self.key, segment, step, self.segments[: segment + 1])
