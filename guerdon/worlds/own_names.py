"""Our own worlds by name: `desk:push`, `ball`, `bandits:10`.

Leaves out: the worlds as environments of Gymnasium (`own_worlds.py`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.worlds.ball import Ball
from guerdon.worlds.bandits import Bandits
from guerdon.worlds.desk import JOBS, Desk

FAMILIES = ("ball", "bandits", "desk")
OWN = ("ball", "bandits:5", *(f"desk:{job}" for job in JOBS))  # names, for who seeks one
ARMS = 100  # at most


def is_own(name: str) -> bool:
    """Whether a name is of one of our own worlds."""
    return name.partition(":")[0] in FAMILIES


def core_of(name: str, n: int) -> Any:
    """N worlds of a name, as arrays."""
    family, _, which = name.partition(":")
    if family == "desk":
        if which not in JOBS:
            raise unknown("world", name, [f"desk:{job}" for job in JOBS])
        return Desk(n, which)  # type: ignore[arg-type]
    if family == "ball":
        if which:
            raise unknown("world", name, OWN)
        return Ball(n)
    arms = which or "5"
    if not arms.isdigit() or not 2 <= int(arms) <= ARMS:
        raise UserError(f"bandits have 2 to {ARMS} arms, bandits:10, not {name!r}")
    return Bandits(n, int(arms))
