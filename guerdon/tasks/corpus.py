"""The text the built-in model learns from: conversations in every role over every family, written without end.

A family joins by being listed in `guerdon.tasks.NAMES`. Hard levels are written as carefully as easy ones, only more rarely,
each about half as often as the one below it: what is hard for the model is what is long and what it has seen little of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from guerdon import tasks
from guerdon.core.seeds import derive
from guerdon.tasks.family import Family
from guerdon.tasks.roles import ROLES, Turns

LEVELS = range(1, 9)
RARER = 0.5  # how often a level is written, against the level below it
SHARES = {"solve": 0.50, "verify": 0.14, "score": 0.09, "prefer": 0.09, "revise": 0.08, "propose": 0.05, "tool": 0.05}
WITH_TOOLS = ("chain",)  # families whose every step is one call


def family_names() -> list[str]:
    """The families with exact truth, which is what every role needs."""
    return [name for name in tasks.NAMES if isinstance(tasks.load(name), Family)]


def conversations(seed: int, shares: Mapping[str, float] = SHARES, rarer: float = RARER) -> Iterator[Turns]:
    """Conversations, each drawn anew: a role, a family, a level, a problem. Never from a held-out problem."""
    draw = random.Random(derive("corpus", seed))
    known = {n: [tasks.load(f"{n}:{level}") for level in LEVELS] for n in family_names()}
    names, weights = list(known), [rarer ** (level - 1) for level in LEVELS]
    while True:
        role = draw.choices(list(shares), list(shares.values()))[0]
        name = draw.choice(WITH_TOOLS if role == "tool" else names)
        family = draw.choices(known[name], weights)[0]
        assert isinstance(family, Family)
        task = family.get("train", draw.getrandbits(40))
        yield ROLES[role](family, task, draw)
