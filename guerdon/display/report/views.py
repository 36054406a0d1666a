"""What a role was shown, as a person reads it.

Leaves out: how it is stored (`core/arrays.py`).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

FEW = 16  # numbers of an array that stand there one by one


def view_text(view: Any) -> str:
    """Text as it is, a small array by its numbers, a large one by its type and shape.

    >>> view_text(["which corner?", np.zeros((32, 32, 3), np.uint8)])
    '["which corner?", "uint8 32 x 32 x 3"]'
    """
    return view if isinstance(view, str) else json.dumps(view, default=_named, ensure_ascii=False)


def _named(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a view holds JSON and arrays, not {type(value).__name__}")
    if value.size <= FEW:
        return [float(f"{x:.4g}") if value.dtype.kind == "f" else x for x in value.ravel().tolist()]
    return f"{value.dtype} {' x '.join(map(str, value.shape))}"
