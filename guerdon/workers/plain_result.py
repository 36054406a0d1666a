"""A reward's function as a box of the sandbox calls it. Imported inside each box, so it imports very little.

Leaves out: who calls it (`rewards/asking/calls.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guerdon.workers.wire import plain_data


class PlainResult:
    """A function whose results are plain data, as from a worker."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, **given: Any) -> Any:
        return plain_data(self.function(**given))
