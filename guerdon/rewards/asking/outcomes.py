"""The typed outcome of a reward's call: a number, not applicable, failed, timed out.

Half of the one gate for values that a user's code returned: finite in float32, or *failed*.
`outcome_of` takes any returned value, `passed` a typed outcome.
The other half, for tensors, is `formula/scores.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from guerdon.core.column import Reason
from guerdon.core.errors import broken_as, printable
from guerdon.core.score import CallResult, Score
from guerdon.rewards.formula.scores import LARGEST, Outcome, brief_value

MOST_STEPS = 1 << 20  # numbers along one sample


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
