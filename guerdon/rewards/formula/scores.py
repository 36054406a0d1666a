"""Scores of many samples at once: a number each, or the reason why there is none; and where they stand in a run.

What formulas compute with. A sample's score may come in steps (one number for each turn, line or action); its value is then
their sum. Every number passes one gate: finite in float32, or *failed*. `sound` and `held` are its half for tensors;
`outcome_of`, for any value that a user's code returned, and `passed`, for a typed outcome, are the other.
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
from guerdon.core.schedule import at
from guerdon.core.score import CallResult, Score
from guerdon.core.seeds import generator

LINE = 120  # characters of a cause
LARGEST = torch.finfo(torch.float32).max  # what a column holds
MOST_STEPS = 1 << 20  # numbers along one sample


class Outcome(NamedTuple):
    """The result of one call of a reward. Only VALUE has a number; `steps` are its parts along the sample, if it has any.

    >>> import guerdon as gd
    >>> gd.rewards.Outcome(gd.Reason.VALUE, 1.0).value
    1.0
    """

    reason: Reason
    value: float = math.nan
    detail: Any = None
    steps: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Scores:
    """N samples. `value` is NaN exactly where `reason` is not VALUE.

    Args:
        detail: JSON for single samples.

    >>> import guerdon as gd
    >>> scores = gd.rewards.Scores.of([gd.rewards.Outcome(gd.Reason.VALUE, 1.0), gd.rewards.Outcome(gd.Reason.FAILED)])
    >>> scores.valued.tolist()
    [True, False]
    """

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


def in_words(outcome: Outcome) -> str:
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
        what = f"{len(scores)} scores" if isinstance(scores, Scores) else brief_value(scores)
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


def brief_value(value: Any) -> str:
    """A value in a few words, also one whose `repr` fails."""
    try:
        text = printable(repr(value))
    except BaseException:  # noqa: BLE001  its `__repr__` is its author's; Python itself refuses integers of 4,300 digits
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LINE else f"{text[:LINE]}..."


@dataclass(frozen=True)
class Where:
    """What a formula may know besides the scores: the groups that samples are compared in, how far the run is, its seed.

    Args:
        step: the run's step.
        steps: length of the run.

    >>> import torch
    >>> import guerdon as gd
    >>> gd.rewards.Where(group=torch.zeros(2, dtype=torch.long), step=5, steps=11).now(gd.linear(0.0, 1.0))
    0.5
    """

    group: Tensor  # [N]
    step: int = 0
    steps: int = 1
    metrics: Mapping[str, float] = field(default_factory=dict)  # of the step before
    seed: int = 0  # the run's

    def generator(self, *path: int | str) -> torch.Generator:
        """Random numbers for this place in this step: the same again with the same seed, others with another."""
        return generator(self.seed, self.step, *path)

    def now(self, knob: Any) -> float:
        """A knob's value: a number, a schedule over steps, or one over a metric."""
        if hasattr(knob, "follow"):
            return float(knob.follow(self.metrics))
        return at(knob, self.step, self.steps)


# --- what a call returned ----------------------------------------------------------------------------------------------


def outcome_from(result: CallResult) -> Outcome:
    """The typed outcome of a call. The detail names the number of tries, where there were more than one."""
    if type(result.value) is float and result.tries == 1:  # nearly all are
        return outcome_of(result.value)
    if result.kind == "value":
        outcome = outcome_of(result.value)
    else:
        reason = Reason.FAILED if result.kind == "failed" else Reason.TIMED_OUT
        outcome = Outcome(reason, detail={"error": result.error})
    return outcome if result.tries == 1 else outcome._replace(detail={**(outcome.detail or {}), "tries": result.tries})


def outcomes_from(results: Sequence[CallResult]) -> list[Outcome]:
    """The same for many; one result that stands in several places is one outcome there too."""
    outcomes = {key: outcome_from(result) for key, result in {id(result): result for result in results}.items()}
    return [outcomes[id(result)] for result in results]


def shared_out(result: CallResult, size: int) -> list[Outcome]:
    """The outcomes of one call for `size` samples."""
    if result.kind != "value":
        return [outcome_from(result)] * size
    value = _listed(result.value)
    if isinstance(value, list | tuple) and len(value) == size:
        return [outcome_from(result._replace(value=each)) for each in value]
    what = f"{len(value)} scores" if isinstance(value, list | tuple) else brief_value(value)
    error = f"ValueError: a batched reward returned {what} for {size} samples"
    return [outcome_from(result._replace(kind="failed", value=None, error=error))] * size


def _listed(value: Any) -> Any:
    """What a batched reward returned, an array as a list. Its author's code, as in `outcome_of`."""
    try:
        listed = value.tolist() if hasattr(value, "tolist") else value
        return list(listed) if isinstance(listed, list | tuple) else listed
    except BaseException as error:  # noqa: BLE001  as above
        return broken_as(error)


def outcome_of(value: Any) -> Outcome:
    """What a reward returned, typed. To look at it may run its author's code (`__float__`, `tolist`), which may break in any
    way: that is *failed* as well."""
    if type(value) is float and -LARGEST <= value <= LARGEST:  # nearly all are
        return Outcome(Reason.VALUE, value)
    if value is None:
        return Outcome(Reason.NOT_APPLICABLE)
    try:
        return _scored(value) if isinstance(value, Score) else _read(value)
    except BaseException as error:  # noqa: BLE001  the author's code, as above
        return Outcome(Reason.FAILED, detail={"error": broken_as(error)})


def passed(outcome: Outcome) -> Outcome:
    """An outcome as its maker typed it, a judge or a part of a user's: its number is held to what any other is."""
    fields: tuple[Any, Any, Any, Any] = outcome  # any value, whatever the type hints
    reason, value, detail, steps = fields
    fits = reason is Reason.VALUE and type(value) is float and -LARGEST <= value <= LARGEST and steps is None
    if fits and detail is None:  # nearly all
        return outcome
    if reason is Reason.VALUE and (steps is None or isinstance(steps, list | tuple)):
        held = Outcome(reason, value) if fits else outcome_of(value if steps is None else steps)
        held = _without("a reward gave a value of None") if held.reason is Reason.NOT_APPLICABLE else held
    elif reason is Reason.VALUE:
        held = _without(f"a reward gave {brief_value(steps)} as its steps", "TypeError")
    else:
        known = type(reason) is Reason
        held = Outcome(reason) if known else _without(f"a reward gave {brief_value(reason)} as its reason")
    if detail is not None and not isinstance(detail, dict):
        detail = {"why": brief_value(detail)}
    whole = {**(detail or {}), **(held.detail or {})}
    if held.reason >= Reason.FAILED:  # all failures have a detail
        error = whole.get("error") or "no cause was given"
        whole["error"] = printable(error) if isinstance(error, str) else brief_value(error)
    return held._replace(detail=whole or None)


def _scored(score: Score) -> Outcome:
    """A value with its why. What is wrong with a named part costs that part alone: it is None."""
    if isinstance(score.value, Score):
        raise TypeError("a reward returned a Score whose value is a Score, not a number")
    plain = outcome_of(score.value)
    parts = {printable(str(name)): outcome_of(value).value for name, value in dict(score.parts or {}).items()}
    why = score.why if isinstance(score.why, str) else brief_value(score.why) if score.why is not None else ""
    detail: dict[str, Any] = {"why": printable(why)} if why else {}
    detail |= {"parts": {n: None if math.isnan(x) else x for n, x in parts.items()}} if parts else {}
    return plain._replace(detail={**detail, **(plain.detail or {})} or None)


def _read(value: Any) -> Outcome:
    """A number, or a number for each step: a list, a tuple, an array."""
    listed = value
    if not isinstance(value, list | tuple) and hasattr(value, "tolist"):
        listed = value.tolist()
    if not isinstance(listed, list | tuple):
        return _number(listed, value)
    if len(listed) > MOST_STEPS:
        return _without(f"a reward returned {len(listed)} numbers, at most {MOST_STEPS} are taken")
    each = [_number(x, x) for x in listed]
    if not each or any(o.reason for o in each):
        return _without(f"a reward returned {brief_value(listed)}, not a number a step", "TypeError")
    total = math.fsum(o.value for o in each)
    if abs(total) > LARGEST:
        return _without(f"the steps of a reward add up to {total:g}, more than float32 holds")
    return Outcome(Reason.VALUE, total, steps=tuple(o.value for o in each))


def _number(returned: Any, shown: Any) -> Outcome:
    if not hasattr(type(returned), "__float__") and not hasattr(
        type(returned), "__index__"
    ):  # float() would parse texts
        return _without(f"a reward returned {brief_value(shown)}, not a number", "TypeError")
    try:
        value = float(returned)
    except TypeError:
        return _without(f"a reward returned {brief_value(shown)}, not a number", "TypeError")
    except OverflowError:
        return _without(f"a reward returned {brief_value(shown)}, more than float32 holds")
    if not math.isfinite(value):
        return _without(f"a reward returned {value}")
    if abs(value) > LARGEST:
        return _without(f"a reward returned {value:g}, more than float32 holds")
    return Outcome(Reason.VALUE, value)


def _without(why: str, kind: str = "ValueError") -> Outcome:
    return Outcome(Reason.FAILED, detail={"error": f"{kind}: {why}"})
