"""Values as JSON has them: no NaN, no infinity, only text as keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def json_value(value: Any) -> Any:
    """A number that is none becomes null, and what JSON does not know becomes its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(inner) for inner in value]
    return str(value)
