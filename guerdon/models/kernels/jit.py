"""`kernel`: triton.jit under a name that mypy can follow, and how many warps a row takes. Left out: the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton


def kernel(body: Callable[..., object]) -> Any:
    """Triton compiles `body` from its source, so its annotations are for the reader but for `tl.constexpr`."""
    return triton.jit(body)


def power_of_two(size: int) -> int:
    """The least power of two that holds `size`, the only widths Triton's blocks can have."""
    return 1 << max(size - 1, 0).bit_length()


def warps(width: int) -> int:
    """Warps for a block of `width` numbers: 8 a thread, which is 16 bytes of bfloat16, the widest load there is."""
    return min(max(width // 256, 1), 16)
