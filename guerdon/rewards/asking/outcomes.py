"""What a call of a reward came to, typed: a number, not applicable, failed, timed out.

The half of the one gate that values pass which somebody's code returned: finite in float32, or *failed*.
`outcome_of` takes whatever was returned, `passed` an outcome that somebody typed.
The other half, for tensors, is `formula/scores.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from guerdon.core.column import Reason
from guerdon.core.errors import broken_as, printable
from guerdon.core.score import Answer, Score
from guerdon.rewards.formula.scores import LARGEST, Outcome, brief_value

MOST_STEPS = 1 << 20  # numbers along one sample


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
    what = f"{len(value)} scores" if isinstance(value, list | tuple) else brief_value(value)
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
        found = _without(f"a reward gave {brief_value(steps)} as its steps", "TypeError")
    else:
        known = type(reason) is Reason
        found = Outcome(reason) if known else _without(f"a reward gave {brief_value(reason)} as its reason")
    if detail is not None and not isinstance(detail, dict):
        detail = {"why": brief_value(detail)}
    whole = {**(detail or {}), **(found.detail or {})}
    if found.reason >= Reason.FAILED:  # all that broke say how
        error = whole.get("error") or "no cause was given"
        whole["error"] = printable(error) if isinstance(error, str) else brief_value(error)
    return found._replace(detail=whole or None)


def _scored(found: Score) -> Outcome:
    """A value with its why. What is wrong with a named part costs that part alone: it is None."""
    if isinstance(found.value, Score):
        raise TypeError("a reward returned a Score whose value is a Score, not a number")
    plain = outcome_of(found.value)
    parts = {printable(str(name)): outcome_of(value).value for name, value in dict(found.parts or {}).items()}
    why = found.why if isinstance(found.why, str) else brief_value(found.why) if found.why is not None else ""
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
        return _without(f"a reward returned {brief_value(listed)}, not a number a step", "TypeError")
    total = math.fsum(o.value for o in each)
    if abs(total) > LARGEST:
        return _without(f"the steps of a reward add up to {total:g}, more than float32 holds")
    return Outcome(Reason.VALUE, total, steps=tuple(o.value for o in each))


def _number(found: Any, shown: Any) -> Outcome:
    if not hasattr(type(found), "__float__") and not hasattr(type(found), "__index__"):  # float() would parse texts
        return _without(f"a reward returned {brief_value(shown)}, not a number", "TypeError")
    try:
        value = float(found)
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
