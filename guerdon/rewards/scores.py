"""Scores of many samples at once: a number each, or the reason why there is none. What the algebra of rewards computes with.

A sample's score may come in steps (one number for each turn, line or action); its value is then their sum.

Here is the one gate that every score passes, whoever made it: finite in float32, or *failed*. `outcome_of` is its door for
whatever somebody's code returned, `passed` for a typed outcome, `sound` for a whole formula's scores, `held` for a column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError, broken_as, printable
from guerdon.rewards.plain import Answer, Score

LINE = 120  # characters of a cause
LARGEST = torch.finfo(torch.float32).max  # what a column holds
MOST_STEPS = 1 << 20  # numbers along one sample


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
    value = _listed(answer.value)
    if isinstance(value, list | tuple) and len(value) == size:
        return [outcome_from(answer._replace(value=each)) for each in value]
    what = f"{len(value)} scores" if isinstance(value, list | tuple) else _brief(value)
    error = f"ValueError: a batched reward returned {what} for {size} samples"
    return [outcome_from(answer._replace(kind="failed", value=None, error=error))] * size


def _listed(found: Any) -> Any:
    """What a batched reward returned, an array as a list. Its author's code, as in `outcome_of`."""
    try:
        listed = found.tolist() if hasattr(found, "tolist") else found
        return list(listed) if isinstance(listed, list | tuple) else listed
    except BaseException as error:  # noqa: BLE001  as above
        return broken_as(error)


def outcome_of(found: Any) -> Outcome:
    """What a reward returned, typed. To look at it may run its author's code (`__float__`, `tolist`), which may break in any
    way: that is *failed* as well."""
    if type(found) is float and -LARGEST <= found <= LARGEST:  # nearly all are
        return Outcome(Reason.VALUE, found)
    if found is None:
        return Outcome(Reason.NOT_APPLICABLE)
    try:
        return _scored(found) if isinstance(found, Score) else _read(found)
    except BaseException as error:  # noqa: BLE001  the author's code, as above
        return Outcome(Reason.FAILED, detail={"error": broken_as(error)})


def passed(outcome: Outcome) -> Outcome:
    """An outcome as its maker typed it, a judge or a part of a user's: its number is held to what any other is."""
    said: tuple[Any, Any, Any, Any] = outcome  # by its maker, whatever the types say
    reason, value, detail, steps = said
    fits = reason is Reason.VALUE and type(value) is float and -LARGEST <= value <= LARGEST and steps is None
    if fits and detail is None:  # nearly all
        return outcome
    if reason is Reason.VALUE and (steps is None or isinstance(steps, list | tuple)):
        found = Outcome(reason, value) if fits else outcome_of(value if steps is None else steps)
        found = _without("a reward gave a value of None") if found.reason is Reason.NOT_APPLICABLE else found
    elif reason is Reason.VALUE:
        found = _without(f"a reward gave {_brief(steps)} as its steps", "TypeError")
    else:
        known = type(reason) is Reason
        found = Outcome(reason) if known else _without(f"a reward gave {_brief(reason)} as its reason")
    if detail is not None and not isinstance(detail, dict):
        detail = {"why": _brief(detail)}
    whole = {**(detail or {}), **(found.detail or {})}
    if found.reason >= Reason.FAILED:  # all that broke say how
        error = whole.get("error") or "no cause was given"
        whole["error"] = printable(error) if isinstance(error, str) else _brief(error)
    return found._replace(detail=whole or None)


def _scored(found: Score) -> Outcome:
    """A value with its why. What is wrong with a named part costs that part alone: it is None."""
    if isinstance(found.value, Score):
        raise TypeError("a reward returned a Score whose value is a Score, not a number")
    plain = outcome_of(found.value)
    parts = {printable(str(name)): outcome_of(value).value for name, value in dict(found.parts or {}).items()}
    why = found.why if isinstance(found.why, str) else _brief(found.why) if found.why is not None else ""
    detail: dict[str, Any] = {"why": printable(why)} if why else {}
    detail |= {"parts": {n: None if math.isnan(x) else x for n, x in parts.items()}} if parts else {}
    return plain._replace(detail={**detail, **(plain.detail or {})} or None)


def _read(found: Any) -> Outcome:
    """A number, or a number for each step: a list, a tuple, an array."""
    listed = found
    if not isinstance(found, list | tuple) and hasattr(found, "tolist"):
        listed = found.tolist()
    if not isinstance(listed, list | tuple):
        return _number(listed, found)
    if len(listed) > MOST_STEPS:
        return _without(f"a reward returned {len(listed)} numbers, at most {MOST_STEPS} are taken")
    each = [_number(x, x) for x in listed]
    if not each or any(o.reason for o in each):
        return _without(f"a reward returned {_brief(listed)}, not a number a step", "TypeError")
    total = math.fsum(o.value for o in each)
    if abs(total) > LARGEST:
        return _without(f"the steps of a reward add up to {total:g}, more than float32 holds")
    return Outcome(Reason.VALUE, total, steps=tuple(o.value for o in each))


def _number(found: Any, shown: Any) -> Outcome:
    if not hasattr(type(found), "__float__") and not hasattr(type(found), "__index__"):  # float() would parse texts
        return _without(f"a reward returned {_brief(shown)}, not a number", "TypeError")
    try:
        value = float(found)
    except TypeError:
        return _without(f"a reward returned {_brief(shown)}, not a number", "TypeError")
    except OverflowError:
        return _without(f"a reward returned {_brief(shown)}, more than float32 holds")
    if not math.isfinite(value):
        return _without(f"a reward returned {value}")
    if abs(value) > LARGEST:
        return _without(f"a reward returned {value:g}, more than float32 holds")
    return Outcome(Reason.VALUE, value)


def _without(why: str, kind: str = "ValueError") -> Outcome:
    return Outcome(Reason.FAILED, detail={"error": f"{kind}: {why}"})


def _brief(found: Any) -> str:
    """A value in a few words, also one that can not say what it is."""
    try:
        text = printable(repr(found))
    except BaseException:  # noqa: BLE001  its `__repr__` is its author's; Python itself refuses integers of 4,300 digits
        text = f"a {type(found).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LINE else f"{text[:LINE]}..."


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
    a number, or one of its steps, is none that a column holds (a division by 0, an overflow)."""
    if not isinstance(scores, Scores) or not scores.value.shape == scores.reason.shape == (size,):
        what = f"{len(scores)} scores" if isinstance(scores, Scores) else _brief(scores)
        raise UserError(f"reward {name} made {what} of {size} samples: a formula's combine gives Scores, one a sample")
    valued = scores.valued
    wrong = valued & ~held(scores.value)
    for i, steps in scores.steps.items():
        wrong[i] |= valued[i] & ~held(steps).all()
    if not bool(wrong.any()) and bool((scores.value.isnan() | valued).all()):
        return scores
    detail = dict(scores.detail)
    for i in torch.nonzero(wrong).flatten().tolist():
        whole = bool(held(scores.value[i]))
        detail[i] = {"error": f"ValueError: {f'a step of {name}' if whole else name} came to {_worst(scores, i):g}"}
    reason = torch.where(wrong, int(Reason.FAILED), scores.reason).to(torch.int8)
    kept = {i: s for i, s in scores.steps.items() if not bool(wrong[i])}
    return Scores(torch.where(reason == Reason.VALUE, scores.value, math.nan), reason, kept, detail)


def held(value: Tensor) -> Tensor:
    """Which numbers a column holds: finite, and within float32."""
    return value.abs() <= LARGEST


def _worst(scores: Scores, index: int) -> float:
    """The number that a sample broke by."""
    every: list[float] = [float(scores.value[index]), *scores.steps.get(index, torch.zeros(0)).tolist()]
    return next(x for x in every if not abs(x) <= LARGEST)


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
