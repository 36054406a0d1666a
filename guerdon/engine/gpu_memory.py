"""How much of a GPU's memory keys and values may take: of what is free, or of this process's part where several share it.

Leaves out: what lies there (`cuda.py`).
"""

from __future__ import annotations

import torch

SHARE = 0.4
_processes = 1


def share_gpu(processes: int) -> None:
    """Set how many processes like this one sample on the GPU at a time."""
    global _processes
    _processes = processes


def cache_bytes(device: torch.device) -> int:
    if device.type != "cuda":
        return 1 << 30
    free, total = torch.cuda.mem_get_info(device)
    return int(SHARE * min(free, total / _processes))
