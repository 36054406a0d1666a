"""Reductions of step scores to one number, for step rewards and for searches over steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor

Reduction = Literal["min", "last", "mean", "sum", "product"]

REDUCTIONS: dict[str, Callable[[Tensor], float]] = {
    "min": lambda s: float(s.min()),
    "last": lambda s: float(s[-1]),
    "mean": lambda s: float(s.mean()),
    "sum": lambda s: float(s.sum()),
    "product": lambda s: float(s.prod()),
}
