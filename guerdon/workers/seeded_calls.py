"""A reward's function as workers call it: seeded, so that it draws the same random numbers in whichever worker it runs.

Imports no torch, as no module that workers import may.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.core.seeds import seed_torch

SEED = "\0seed"  # no argument of a function can have this name


def seeded(given: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The arguments of calls, with what `Seeded` draws by."""
    return [{**each, SEED: seed} for each, seed in zip(given, seeds, strict=True)]


class Seeded:
    """A function that draws the same random numbers whichever worker calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, **given: Any) -> Any:
        seed = given.pop(SEED)
        loaded = sys.modules  # what is not loaded cannot be drawn from, and seeding takes its time
        if "random" in loaded:
            loaded["random"].seed(seed)
        if "numpy" in loaded:
            loaded["numpy"].random.seed(seed % (1 << 32))
        if "torch" in loaded:
            seed_torch(seed)
        return self.function(**given)
