"""A Column: one number per step, segment or track, and for every missing number the reason why it is missing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from guerdon.core.errors import UserError, caller
from guerdon.core.shown_text import number

Level = Literal["step", "segment", "track", "episode", "ask", "task"]
Per = Literal["step", "segment", "track"]  # what a column may have a number for each of


def same_numbers(a: Tensor, b: Tensor) -> bool:
    """Equal type, shape and values to the last bit, NaN counted as equal to NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    nan = torch.isnan(a)
    return torch.equal(nan, torch.isnan(b)) and torch.equal(a[~nan], b[~nan])


def unexplained(what: str, missing: Tensor, reason: Tensor) -> UserError:
    """A column with NaN and no reason for it is refused: a fault could not be distinguished from a score that does not
    apply."""
    bare = int((missing & (reason == Reason.VALUE)).sum())
    fault = f"{bare} NaN without a reason" if bare else "a number beside a reason why there is none"
    return UserError(
        f"{caller()}: {what} has {fault}: say why with batch.put(..., because=COLUMN), or Column(level, value, reason)"
    )


def missing_rows(value: Tensor) -> Tensor:
    """[N] rows of which any number is NaN."""
    nan = torch.isnan(value)
    return nan if nan.dim() == 1 else nan.flatten(1).any(1)


class Reason(IntEnum):
    """What a column says about an entry. Only VALUE comes with a number; the others are NaN and never become one.

    >>> import guerdon as gd
    >>> [reason.name for reason in gd.Reason]
    ['VALUE', 'NOT_APPLICABLE', 'FAILED', 'TIMED_OUT']
    """

    VALUE = 0
    NOT_APPLICABLE = 1
    FAILED = 2
    TIMED_OUT = 3


@dataclass(frozen=True)
class Column:
    """`value` is NaN exactly where `reason` is not VALUE. `detail` holds JSON per entry: a verdict, an exception.

    Args:
        level: what a row is: "step", "segment" or "track".
        value: the numbers, one for each row.
        reason: why a row has no number, by code; VALUE where it has one.
        detail: JSON for single rows: a verdict, an exception.

    >>> import guerdon as gd, torch
    >>> column = gd.Column.full("track", torch.tensor([1.0, 0.0]))
    >>> column.value.tolist(), column.missing.tolist()
    ([1.0, 0.0], [False, False])
    """

    level: Per
    value: Tensor
    reason: Tensor
    detail: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.level not in get_args(Per):
            raise ValueError(f"a column is per step, per segment or per track, not per {self.level}")
        if len(self.value) != len(self.reason):
            raise ValueError(f"{len(self.value)} values with {len(self.reason)} reasons")
        if not torch.equal(self.missing, self.reason != Reason.VALUE):
            raise unexplained("a column", self.missing, self.reason)

    @classmethod
    def full(cls, level: Per, value: Tensor) -> Column:
        """A column without missing entries."""
        return cls(level, value, torch.zeros(len(value), dtype=torch.int8, device=value.device))

    @classmethod
    def empty(cls, level: Per, size: int, reason: Reason = Reason.NOT_APPLICABLE, like: Tensor | None = None) -> Column:
        """A column without values; `like` says how wide its rows are, where they are more than one number."""
        tail, kind = ((), torch.float32) if like is None else (like.shape[1:], like.dtype)
        kind = kind if kind.is_floating_point else torch.float32
        value = torch.full((size, *tail), float("nan"), dtype=kind)
        return cls(level, value, torch.full((size,), int(reason), dtype=torch.int8))

    def __repr__(self) -> str:
        return f"Column({self.in_words})"

    @property
    def in_words(self) -> str:
        """How many numbers it has, their mean, and how many are missing."""
        lost = int(self.missing.sum())
        return f"{len(self.value)} per {self.level}, mean {number(self.mean)}" + (f", {lost} missing" if lost else "")

    @property
    def mean(self) -> float | None:
        """Of the numbers that are there; None where there is none."""
        there = self.value[~self.missing].double()
        return float(there.mean()) if there.numel() else None

    @property
    def missing(self) -> Tensor:
        return missing_rows(self.value)

    @property
    def broken(self) -> Tensor:
        """Entries whose scorer failed or timed out, as opposed to not applying."""
        return (self.reason == Reason.FAILED) | (self.reason == Reason.TIMED_OUT)

    @property
    def errors(self) -> dict[int, Mapping[str, Any]]:
        """The exceptions of the entries that are broken, by place. Those that inherit a failure have none; and a detail of this
        name that says why a score does not apply is no exception."""
        broken = self.broken
        return {
            place: detail
            for place, detail in sorted(self.detail.items())
            if isinstance(detail, dict) and "error" in detail and bool(broken[place])
        }

    def take(self, index: Tensor) -> Column:
        detail = {}
        if self.detail:
            new = {old: n for n, old in enumerate(index.tolist())}
            detail = {new[old]: d for old, d in self.detail.items() if old in new}
        return Column(self.level, self.value[index], self.reason[index], detail)

    def to(self, device: str | torch.device) -> Column:
        """There it is as sound as here: it is not looked at again, which would be waiting for a GPU."""
        moved = copy.copy(self)
        vars(moved).update(value=self.value.to(device), reason=self.reason.to(device))
        return moved

    def same(self, other: Column) -> bool:
        return (
            self.level == other.level
            and same_numbers(self.value, other.value)
            and torch.equal(self.reason, other.reason)
            and self.detail == other.detail
        )
