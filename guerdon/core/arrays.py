"""Values with numpy arrays in them: what roles are shown (pictures, observations) and what they made.

To JSON text and back exactly, comparison, and digests.
Leaves out: what the arrays mean.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

ARRAY = "__array__"


def dumps(value: Any) -> str:
    """JSON text in which arrays stand as their type, shape and bytes."""
    return json.dumps(value, default=_written)


def loads(text: str) -> Any:
    """The inverse of `dumps`; tuples come back as lists."""
    return json.loads(text, object_hook=_array) if ARRAY in text else json.loads(text)


def _written(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray) or value.dtype.hasobject:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    raw = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {ARRAY: raw, "dtype": value.dtype.str, "shape": list(value.shape)}


def _array(row: dict[str, Any]) -> Any:
    if set(row) != {ARRAY, "dtype", "shape"}:
        return row
    flat = np.frombuffer(base64.b64decode(row[ARRAY]), np.dtype(row["dtype"]))
    return flat.reshape(row["shape"]).copy()


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """Every array in a value, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from arrays_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from arrays_in(inner)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same, arrays to the last bit (NaN equals NaN)."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.dtype != b.dtype:
            return False
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(equal(x, b[k]) for k, x in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def digest(value: Any) -> str:
    """A hash of the arrays in a value; "" where it holds none. Equal tokens with unequal digests are unequal prompts."""
    if isinstance(value, str):  # nearly all views are
        return ""
    hasher = hashlib.blake2b(digest_size=16)
    some = False
    for array in arrays_in(value):
        hasher.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        some = True
    return hasher.hexdigest() if some else ""
