"""Scores of many samples at once: a number each, or the reason why there is none. What the algebra of rewards computes with.

A sample's score may come in steps (one number for each turn, line or action); its value is then their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.rewards.plain import Answer, Score

LINE = 120  # characters of a cause
LARGEST = torch.finfo(torch.float32).max  # what a column holds


class Outcome(NamedTuple):
    """What one call of a reward came to. Only VALUE has a number; `steps` are its parts along the sample, if it has any."""

    reason: Reason
    value: float = math.nan
    detail: Any = None
    steps: tuple[float, ...] | None = None


def outcome_from(answer: Answer) -> Outcome:
    """What a call came to, typed. The detail tells of tries, where there were more than one."""
    if type(answer.value) is float and answer.tries == 1:  # nearly all are
        return outcome_of(answer.value)
    if answer.kind == "value":
        found = outcome_of(answer.value)
    else:
        reason = Reason.FAILED if answer.kind == "failed" else Reason.TIMED_OUT
        found = Outcome(reason, detail={"error": answer.error})
    return found if answer.tries == 1 else found._replace(detail={**(found.detail or {}), "tries": answer.tries})


def outcomes_from(answers: Sequence[Answer]) -> list[Outcome]:
    """The same for many; one answer that stands in several places is one outcome there too."""
    made = {key: outcome_from(answer) for key, answer in {id(answer): answer for answer in answers}.items()}
    return [made[id(answer)] for answer in answers]


def shared_out(answer: Answer, size: int) -> list[Outcome]:
    """What one call about `size` samples came to, for each of them."""
    if answer.kind != "value":
        return [outcome_from(answer)] * size
    value = answer.value.tolist() if hasattr(answer.value, "tolist") else answer.value
    if isinstance(value, list | tuple) and len(value) == size:
        return [outcome_from(answer._replace(value=each)) for each in value]
    what = f"{len(value)} scores" if isinstance(value, list | tuple) else repr(value)
    error = f"ValueError: a batched reward returned {what} for {size} samples"
    return [outcome_from(answer._replace(kind="failed", value=None, error=error))] * size


def outcome_of(found: Any) -> Outcome:
    """What a reward returned, typed."""
    if type(found) is float and math.isfinite(found):  # nearly all are
        return Outcome(Reason.VALUE, found)
    if found is None:
        return Outcome(Reason.NOT_APPLICABLE)
    if isinstance(found, dict) and found.get("__dataclass__") == "Score":  # as it comes from a worker
        found = Score(**{name: value for name, value in found.items() if name != "__dataclass__"})
    if isinstance(found, Score):
        plain = outcome_of(found.value)
        detail = {k: v for k, v in (("why", found.why), ("parts", found.parts)) if v}
        return Outcome(plain.reason, plain.value, {**detail, **(plain.detail or {})} or None, plain.steps)
    if hasattr(found, "tolist"):  # an array
        found = found.tolist()
    if isinstance(found, list | tuple):
        return _along(found)
    try:
        if isinstance(found, str | bytes):
            raise TypeError
        value = float(found)
    except (TypeError, ValueError, OverflowError):
        return Outcome(Reason.FAILED, detail={"error": f"TypeError: a reward returned {_brief(found)}, not a number"})
    if not math.isfinite(value):
        return Outcome(Reason.FAILED, detail={"error": f"ValueError: a reward returned {value}"})
    return Outcome(Reason.VALUE, value)


def _brief(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= LINE else f"{text[:LINE]}..."


def _along(found: Sequence[Any]) -> Outcome:
    """A number for each step; one that is missing or no number breaks them all."""
    each = [outcome_of(x) for x in found]
    bad = next((o for o in each if o.reason is not Reason.VALUE or o.steps is not None), None)
    if bad is not None or not each:
        return Outcome(
            Reason.FAILED, detail={"error": f"TypeError: a reward returned {_brief(found)}, not a number a step"}
        )
    return Outcome(Reason.VALUE, math.fsum(o.value for o in each), steps=tuple(o.value for o in each))


@dataclass(frozen=True)
class Scores:
    """N samples. `value` is NaN exactly where `reason` is not VALUE."""

    value: Tensor  # [N] float64
    reason: Tensor  # [N] int8
    steps: Mapping[int, Tensor] = field(default_factory=dict)  # of the samples that have them
    detail: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Scores:
        value = torch.tensor([o.value for o in outcomes], dtype=torch.float64)
        reason = torch.tensor([int(o.reason) for o in outcomes], dtype=torch.int8)
        steps = {i: torch.tensor(o.steps, dtype=torch.float64) for i, o in enumerate(outcomes) if o.steps is not None}
        return cls(value, reason, steps, {i: o.detail for i, o in enumerate(outcomes) if o.detail is not None})

    def __len__(self) -> int:
        return len(self.value)

    @property
    def valued(self) -> Tensor:
        return self.reason == Reason.VALUE

    @property
    def broken(self) -> Tensor:
        return self.reason >= Reason.FAILED

    def map(self, change: Callable[[Tensor], Tensor]) -> Scores:
        """Every value changed in the same way; what comes in steps no longer does."""
        return Scores(torch.where(self.valued, change(self.value), self.value), self.reason)

    def at(self, index: int) -> Outcome:
        steps = self.steps.get(index)
        return Outcome(
            Reason(int(self.reason[index])),
            float(self.value[index]),
            self.detail.get(index),
            None if steps is None else tuple(steps.tolist()),
        )


def said(outcome: Outcome) -> str:
    """An outcome as a person reads it."""
    if outcome.reason:
        cause = outcome.detail.get("error", "") if isinstance(outcome.detail, dict) else ""
        return outcome.reason.name.lower().replace("_", " ") + (f" ({cause.strip().splitlines()[-1]})" if cause else "")
    why = outcome.detail.get("why", "") if isinstance(outcome.detail, dict) else ""
    return f"{outcome.value:g}" + (f" ({why})" if why else "")


def cause(detail: Any) -> str:
    """Why there is no score, in a line that is the same for all that broke in the same way."""
    error = str(detail.get("error", "")).strip() if isinstance(detail, dict) else ""
    first, last = error.partition("\n")[0], error.rpartition("\n")[2]
    line = first if first.startswith("used more than") else last  # of memory: a bare MemoryError says less
    return f"{detail['by']}: {line[:LINE]}" if isinstance(detail, dict) and "by" in detail else line[:LINE]


def sound(scores: Any, name: str, size: int) -> Scores:
    """The scores of a formula or a leaf as they may be counted on: one a sample, no number beside a reason, and *failed* where
    a number is none (a division by 0, an overflow)."""
    if not isinstance(scores, Scores) or len(scores) != size:
        what = f"{len(scores)} scores" if isinstance(scores, Scores) else _brief(scores)
        raise UserError(f"reward {name} made {what} of {size} samples: a formula's combine gives Scores, one a sample")
    valued = scores.valued
    wrong = valued & ~(scores.value.abs() <= LARGEST)
    if not bool(wrong.any()) and bool((scores.value.isnan() | valued).all()):
        return scores
    detail = dict(scores.detail)
    for i in torch.nonzero(wrong).flatten().tolist():
        detail[i] = {"error": f"ValueError: {name} came to {float(scores.value[i]):g}"}
    reason = torch.where(wrong, int(Reason.FAILED), scores.reason).to(torch.int8)
    kept = {i: s for i, s in scores.steps.items() if not bool(wrong[i])}
    return Scores(torch.where(reason == Reason.VALUE, scores.value, math.nan), reason, kept, detail)


def joined(terms: Sequence[Scores], counts: Sequence[bool] | None = None) -> Tensor:
    """[N] the reason of something made of several: broken if one that counts is (timed out before failed, being the more
    particular), a value if any has one, else not applicable."""
    counts = [True] * len(terms) if counts is None else counts
    broken = torch.stack(
        [torch.where(t.broken, t.reason, 0) for t, c in zip(terms, counts, strict=True) if c] or [zeros(terms)]
    )
    worst = broken.amax(0)
    valued = torch.stack([t.valued for t in terms]).any(0)
    plain = torch.where(valued, int(Reason.VALUE), int(Reason.NOT_APPLICABLE)).to(torch.int8)
    return torch.where(worst > 0, worst, plain)


def zeros(terms: Sequence[Scores]) -> Tensor:
    return torch.zeros(len(terms[0]), dtype=torch.int8)


def numbers(
    value: Tensor,
    reason: Tensor,
    steps: Mapping[int, Tensor] | None = None,
    detail: Mapping[int, Any] | None = None,
) -> Scores:
    """Scores whose value is taken only where there is one."""
    has = reason == Reason.VALUE
    kept = {i: s for i, s in (steps or {}).items() if bool(has[i])}
    return Scores(torch.where(has, value, math.nan), reason, kept, {i: d for i, d in (detail or {}).items() if has[i]})
