"""Deterministic sums while learning: inside `exact()` torch uses the algorithms that add in a fixed order.

A GPU adds numbers up in the order in which its programs happen to finish, a processor where several threads add to one place
(the gradient of rows that are picked more than once), and the last bits of a gradient differ with it.
Leaves out: what the engine does so that a sample does not depend on the others of its batch (`engine/cuda.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

os.environ.setdefault(
    "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
)  # torch asks for it, and cuBLAS reads it before its first product

ERROR = 2  # torch's mode that also switches attention to its ordered gradients
UNORDERED = "does not have a deterministic implementation"  # torch's message for an operation without one


@contextmanager
def exact() -> Iterator[None]:
    """Sums and gradients are the same to the last bit whenever they are computed again; an operation that cannot be raises
    a RuntimeError with `UNORDERED`."""
    settings: Any = torch.utils.deterministic
    before, filled = torch.get_deterministic_debug_mode(), settings.fill_uninitialized_memory
    torch.set_deterministic_debug_mode(ERROR)
    settings.fill_uninitialized_memory = False  # for finding bugs, at the cost of a pass over each tensor
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
        settings.fill_uninitialized_memory = filled
