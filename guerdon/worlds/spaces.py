"""Gymnasium's spaces as numbers: an observation becomes a row of float32, a row of numbers an action.

Boxes are laid flat, and those of whole numbers from 0 to 255 (pictures) are divided by 255; a choice becomes one number for
each of its values, 1 at the value; dicts and tuples are their parts one after another. What an actor chooses is one of several
(Discrete), several such choices at once (MultiDiscrete, MultiBinary), or numbers within bounds (Box), clipped to them.
Leaves out: texts, graphs and sequences, which are not numbers of a fixed size; dicts of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError

Row = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Views:
    """How an observation becomes a row: so many numbers."""

    size: int
    row: Callable[[Any], Row]


@dataclass(frozen=True)
class Actions:
    """What is chosen: one of so many, `choices` of them at once; or `moves` numbers. `of` makes an action of a row."""

    choices: tuple[int, ...]
    moves: int
    of: Callable[[Any], Any]


def views_of(space: Any, name: str) -> Views:
    """How the observations of an environment of this `name` become rows."""
    kind = type(space).__name__
    if kind == "Box":
        size, scale = int(np.prod(space.shape)), _scale(space)
        if scale == 1.0:
            return Views(size, lambda seen: np.asarray(seen, np.float32).reshape(-1))
        return Views(size, lambda seen: np.asarray(seen, np.float32).reshape(-1) * np.float32(scale))
    if kind == "Discrete":
        return _ones([int(space.n)], [int(space.start)])
    if kind == "MultiDiscrete":
        sizes = np.asarray(space.nvec).reshape(-1)
        return _ones(sizes.tolist(), np.broadcast_to(np.asarray(space.start), space.nvec.shape).reshape(-1).tolist())
    if kind == "MultiBinary":
        return Views(int(np.prod(space.shape)), lambda seen: np.asarray(seen, np.float32).reshape(-1))
    if kind in ("Dict", "Tuple"):
        named = list(space.spaces.items()) if kind == "Dict" else list(enumerate(space.spaces))
        parts = [(key, views_of(each, name)) for key, each in named]
        return Views(
            sum(part.size for _, part in parts),
            lambda seen: np.concatenate([part.row(seen[key]) for key, part in parts]),
        )
    raise UserError(
        f"{name} shows a {kind} space, and an actor reads Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple: wrap it"
        " in a gymnasium.ObservationWrapper"
    )


def actions_of(space: Any, name: str) -> Actions:
    """What an actor chooses in an environment of this `name`."""
    kind = type(space).__name__
    if kind == "Discrete":
        start = int(space.start)
        return Actions((int(space.n),), 0, lambda row: int(row) + start)
    if kind in ("MultiDiscrete", "MultiBinary"):
        shape = space.nvec.shape if kind == "MultiDiscrete" else space.shape
        sizes = np.asarray(space.nvec if kind == "MultiDiscrete" else np.full(shape, 2)).reshape(-1).tolist()
        begin = np.asarray(getattr(space, "start", 0))
        return Actions(tuple(sizes), 0, lambda row: (np.asarray(row).reshape(shape) + begin).astype(space.dtype))
    if kind == "Box" and np.issubdtype(space.dtype, np.floating):
        low, high, shape = space.low, space.high, space.shape
        return Actions(
            (), int(np.prod(shape)), lambda row: np.clip(np.asarray(row, space.dtype).reshape(shape), low, high)
        )
    raise UserError(
        f"{name} takes actions of {'whole numbers in a Box' if kind == 'Box' else f'a {kind} space'}, which no actor gives:"
        " Discrete, MultiDiscrete, MultiBinary and Box of floats are taken; wrap it in a gymnasium.ActionWrapper"
    )


def _scale(space: Any) -> float:
    is_picture = space.dtype == np.uint8 and bool((space.low == 0).all()) and bool((space.high == 255).all())
    return 1 / 255 if is_picture else 1.0


def _ones(sizes: Sequence[int], starts: Sequence[int]) -> Views:
    first = np.cumsum([0, *sizes[:-1]]) - np.asarray(starts)

    def row(seen: Any) -> Row:
        out = np.zeros(sum(sizes), np.float32)
        out[np.asarray(seen).reshape(-1) + first] = 1.0
        return out

    return Views(sum(sizes), row)
