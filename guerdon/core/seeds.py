"""Random numbers that depend on where in a run they are drawn, never on when.

A seed is derived from a path such as (run seed, step, ask, try, call).
Two processes that reach the same place draw the same numbers, whatever ran before, beside or between:
this is what makes resume exact and batches free to be reordered.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def derive(*path: int | str) -> int:
    """A 63-bit seed for a path. Ints and strings are distinct: derive(1) differs from derive("1")."""
    return _seed(_spelled(path))


class Place:
    """A path that many seeds are derived from: `Place(1, 2).derive("a")` is `derive(1, 2, "a")`.

    >>> Place(0, 1).derive("learn") == derive(0, 1, "learn")
    True
    """

    __slots__ = ("text",)

    def __init__(self, *path: int | str) -> None:
        self.text = _spelled(path)

    def derive(self, *more: int | str) -> int:
        return _seed(f"{self.text}\x1f{_spelled(more)}")

    def derive_each(self, n: int, *more: int | str) -> list[int]:
        """`derive(0, *more)`, `derive(1, *more)`, ...: n of them.

        >>> Place(0).derive_each(2, "x") == [derive(0, 0, "x"), derive(0, 1, "x")]
        True
        """
        before, after = f"{self.text}\x1fi", f"\x1f{_spelled(more)}"
        return [_seed(f"{before}{number}{after}") for number in range(n)]


def _spelled(path: tuple[int | str, ...]) -> str:
    return "\x1f".join([f"{type(p).__name__[0]}{p}" for p in path])


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(*path: int | str) -> torch.Generator:
    import torch

    return torch.Generator().manual_seed(derive(*path))


def seed_globals(*path: int | str) -> None:
    """Seed Python's, numpy's and torch's global generators, so that user code that draws from them repeats itself too."""
    import random

    import numpy as np

    seed = derive(*path)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    seed_torch(seed)


def seed_torch(seed: int) -> None:
    """Seed torch's global generators: `torch.manual_seed`, and without an accelerator that of the processor alone.

    The numbers are the same. For devices that are not there `torch.manual_seed` keeps the seed and the stacks of its callers
    in case one appears, which takes 0.3 to 1 ms a call.
    """
    import torch

    if _has_accelerator():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


@functools.cache
def _has_accelerator() -> bool:
    import torch

    return torch.accelerator.device_count() > 0  # it begins no use of a device, so that a process can still fork
