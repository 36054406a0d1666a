"""Random numbers that depend on where in a run they are drawn, never on when.

A seed is derived from a path such as (run seed, step, ask, try, call).
Two processes that reach the same place draw the same numbers, whatever ran before, beside or between:
this is what makes resume exact and batches free to be reordered.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def derive(*path: int | str) -> int:
    """A 63-bit seed for a path. Ints and strings are kept apart: derive(1) differs from derive("1")."""
    text = "\x1f".join([f"{type(p).__name__[0]}{p}" for p in path])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(*path: int | str) -> torch.Generator:
    import torch

    return torch.Generator().manual_seed(derive(*path))


def seed_globals(*path: int | str) -> None:
    """Seed Python's, numpy's and torch's global generators, so that user code that draws from them repeats itself too."""
    import numpy as np
    import torch

    seed = derive(*path)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
