"""What a reward may return besides a number (`Score`), and the result of calling one (`CallResult`).

Imports no torch: workers import it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True)
class Score:
    """A value with its why: `parts` are named components, `why` is a sentence for people.

    Args:
        value: a number, a number for each step, or None where the reward does not apply.
        why: a sentence for people.
        parts: named components.

    >>> import guerdon as gd
    >>> def brief(completion):
    ...     return gd.Score(1.0 if len(completion) < 9 else 0.0, why=f"{len(completion)} characters")
    >>> gd.score_samples(brief, [{"completion": "four"}]).whole
    [1.0]
    """

    value: float | list[float] | None
    why: str = ""
    parts: dict[str, float] = field(default_factory=dict)


class CallResult(NamedTuple):
    """The result of one call: what was returned, or a short traceback, or how the worker died. `tries` counts the calls."""

    kind: Literal["value", "failed", "timed out"]
    value: Any = None
    error: str = ""
    tries: int = 1


MARK = "__dataclass__"  # of a dict that was a dataclass in a worker, which refuses it in any other dict
SCORE = f"{Score.__module__}.{Score.__qualname__}"


def restored(value: Any) -> Any:
    """What a call in a worker returned: our own Score, alone or in a list, and no other class of that name."""
    if isinstance(value, list):
        return [restored(each) if isinstance(each, dict) else each for each in value]
    if isinstance(value, dict) and value.get(MARK) == SCORE:
        return Score(value["value"], value["why"], value["parts"])
    return value
