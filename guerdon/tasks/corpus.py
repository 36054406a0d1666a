"""The text the built-in model learns from: conversations in every role over every family, written without end.

A family joins by being listed in `NAMES` of `task_loading.py`.
Hard problems are solved as carefully as easy ones, only more rarely, each level half as often as the one below it:
what is hard for the model is what is long and what it has seen little of.
Judges see more of the hard levels, and problems are proposed at all levels alike:
reading a solution teaches no solving, for only what is said is learned.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from guerdon.core.seeds import derive
from guerdon.tasks.family import Family
from guerdon.tasks.roles import ROLES, Turns
from guerdon.tasks.task_loading import BY_NAME, NAMES, load

LEVELS = range(1, 9)
# how much of the text each role is, and how often a level comes in a role against the level below it
SHARES = {"solve": 0.40, "verify": 0.17, "score": 0.11, "prefer": 0.11, "revise": 0.06, "propose": 0.11, "tool": 0.04}
RARER = {"solve": 0.5, "verify": 0.8, "score": 0.8, "prefer": 0.8, "revise": 0.6, "propose": 1.0, "tool": 0.7}
WITH_TOOLS = ("chain",)  # families whose every step is one call


def family_names() -> list[str]:
    """The families with exact truth, which is what every role needs."""
    return [name for name in NAMES if name not in BY_NAME and isinstance(load(name), Family)]


def conversations(seed: int) -> Iterator[Turns]:
    """Conversations, each drawn anew: a role, a family, a level, a problem. Never from a held-out problem."""
    draw = random.Random(derive("corpus", seed))
    known = {n: [load(f"{n}:{level}") for level in LEVELS] for n in family_names()}
    weights = {role: [rarer ** (level - 1) for level in LEVELS] for role, rarer in RARER.items()}
    while True:
        role = draw.choices(list(SHARES), list(SHARES.values()))[0]
        name = draw.choice(WITH_TOOLS if role == "tool" else list(known))
        family = draw.choices(known[name], weights[role])[0]
        assert isinstance(family, Family)
        task = family.get("train", draw.getrandbits(40))
        yield ROLES[role](family, task, draw)
