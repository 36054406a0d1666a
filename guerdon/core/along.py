"""One number from those of the steps along a way: what rewards in steps and searches over steps both offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor

Along = Literal["min", "last", "mean", "sum", "product"]

HOW: dict[str, Callable[[Tensor], float]] = {
    "min": lambda s: float(s.min()),
    "last": lambda s: float(s[-1]),
    "mean": lambda s: float(s.mean()),
    "sum": lambda s: float(s.sum()),
    "product": lambda s: float(s.prod()),
}
