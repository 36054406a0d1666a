"""How much a device holds of one pass with gradients, and whether others hold some of it.

Leaves out: what to do where that was too much after all (`learn.py`).
"""

from __future__ import annotations

import torch

EASE = 0.25  # share of a GPU's memory that may be taken by what a pass keeps for its gradients
HELD = 1 << 30  # bytes of a CPU's that may be: running out is not reported in time
FASTEST = 8192  # steps of a pass on a CPU: more are not faster
CONTEXT = 2 << 30  # bytes of a GPU that a process takes for itself before it computes anything, and a screen beside it
UNKNOWN = 16384  # steps, where the memory of a pass is unknown


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
