"""What the kernels share: `kernel`, which is triton.jit under a name that mypy can follow, how many warps a row takes,
and how what they are given must lie.
Leaves out: the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton
from torch import Tensor


def kernel(body: Callable[..., object]) -> Any:
    """Triton compiles `body` from its source, so its annotations are for the reader but for `tl.constexpr`."""
    return triton.jit(body)


def power_of_two(size: int) -> int:
    """The least power of two that holds `size`, the only widths Triton's blocks can have."""
    return 1 << max(size - 1, 0).bit_length()


def warps(width: int) -> int:
    """Warps for a block of `width` numbers: 8 a thread, which is 16 bytes of bfloat16, the widest load there is."""
    return min(max(width // 256, 1), 16)


def laid(name: str, x: Tensor, *shape: int) -> Tensor:
    """x side by side, copied if it does not lie so. One of fewer rows than `shape` has would be read beyond its end."""
    _check_shape(name, x, shape)
    return x.contiguous()


def in_place(name: str, x: Tensor, *shape: int) -> None:
    """Refuse x, which is written where it lies or is too large to copy, unless it lies side by side."""
    _check_shape(name, x, shape)
    if not x.is_contiguous():
        raise ValueError(f"{name} must be contiguous, not of strides {x.stride()}: it is used where it lies")


def _check_shape(name: str, x: Tensor, shape: tuple[int, ...]) -> None:
    if x.ndim != len(shape) or x.shape[0] < shape[0] or x.shape[1:] != shape[1:]:
        raise ValueError(f"{name} must be of shape {shape}, not {tuple(x.shape)}")
