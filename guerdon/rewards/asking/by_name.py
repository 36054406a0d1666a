"""Rewards by name, as `--reward` and `guerdon serve` take them: one on the shelf, or one in a file of the user's."""

from __future__ import annotations

import dataclasses
from typing import Any

import guerdon
from guerdon.core.errors import UserError, unknown
from guerdon.core.lazy import places_of
from guerdon.core.user_file import find_in_file
from guerdon.rewards.asking.function import Leaf, reward
from guerdon.rewards.formula.reward import Reward, as_reward

ROOMS = ("guerdon.rewards.", "guerdon.judges.")


def find_reward(spec: str) -> Reward:
    """`FILE.py:NAME`, a function or a formula; or the name of one on the shelf, with its knobs as they are."""
    if ".py" in spec:
        return as_reward(find_in_file(spec, "reward"))
    known = shelf()
    if spec not in known:
        raise unknown("reward", spec, [*known, "FILE.py:NAME"])
    wanted = [name for name, default in knobs_of(known[spec]).items() if default is dataclasses.MISSING]
    if wanted:
        raise UserError(f"the reward {spec} must be told its {', '.join(wanted)}: write it in a file, FILE.py:NAME")
    chosen: Reward = known[spec]()
    return chosen


def shelf() -> dict[str, type[Leaf]]:
    """Every reward that the package has, by name; formulas over others are not among them."""
    public = {
        name: getattr(guerdon, name) for name, (place, _) in places_of("guerdon").items() if place.startswith(ROOMS)
    }
    return {n: x for n, x in public.items() if isinstance(x, type) and issubclass(x, Leaf) and x is not reward}


def knobs_of(part: Any) -> dict[str, Any]:
    """The knobs of a part and their defaults, MISSING where it has none."""
    return {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in dataclasses.fields(part)
        if f.init
    }
