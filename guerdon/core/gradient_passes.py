"""A pass with gradients: sums in a fixed order, and how much of one a device holds.

A GPU adds numbers up in the order in which its programs happen to finish, a processor where several threads add to one place
(the gradient of rows that are picked more than once), and the last bits of a gradient differ with it. Inside `exact()` torch
uses the algorithms that add in a fixed order.
Leaves out: what the engine does so that a sample does not depend on the others of its batch (`engine/cuda.py`), and what to do
where a pass was too much for the memory after all (`learn.py`).
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
EASE = 0.25  # share of a GPU's memory that may be taken by what a pass keeps for its gradients
HELD = 1 << 30  # bytes of a CPU's that may be: running out is not reported in time
FASTEST = 8192  # steps of a pass on a CPU: more are not faster
CONTEXT = 2 << 30  # bytes of a GPU that a process takes for itself before it computes anything, and a screen beside it
UNKNOWN = 16384  # steps, where the memory of a pass is unknown


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


def steps_held(kept: float, device: torch.device) -> int:
    """As many steps, each of which keeps so many bytes, as a quarter of a GPU's memory holds, or a gigabyte on a CPU. It is a
    power of two, and the same on every machine of a kind.

    >>> steps_held(1 << 20, torch.device("cpu")), steps_held(0, torch.device("cpu"))
    (1024, 16384)
    """
    if not kept:
        return UNKNOWN
    if device.type != "cuda":
        return min(max(_power_below(HELD / kept), 256), FASTEST)
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(_power_below(EASE * memory / kept), 1024)


def held_by_others(device: torch.device) -> int:
    """Bytes of a GPU that other processes hold; 0 where that may be no more than what any program takes."""
    if device.type != "cuda":
        return 0
    free, total = torch.cuda.mem_get_info(device)
    held = total - free - torch.cuda.memory_reserved(device)
    return held if held > CONTEXT else 0


def _power_below(number: float) -> int:
    """The largest power of two that is not above a number."""
    return 1 << max(int(number).bit_length() - 1, 0)
