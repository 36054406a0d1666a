"""Problem families by name: `load("successor")`, `load("successor:2")` for level 2."""

from __future__ import annotations

import importlib
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.task import TaskSource

NAMES = {  # family: the module that defines it
    "successor": "guerdon.tasks.tiny",
    "parity": "guerdon.tasks.tiny",
    "chain": "guerdon.tasks.chain",
    "sorting": "guerdon.tasks.sorting",
    "lists": "guerdon.tasks.lists",
    "strings": "guerdon.tasks.strings",
    "units": "guerdon.tasks.units",
    "bases": "guerdon.tasks.bases",
    "modular": "guerdon.tasks.modular",
    "clock": "guerdon.tasks.clock",
    "addition": "guerdon.tasks.addition",
    "boolean": "guerdon.tasks.boolean",
    "countdown": "guerdon.tasks.countdown",
    "equation": "guerdon.tasks.equation",
    "grid": "guerdon.tasks.grid",
    "lookup": "guerdon.tasks.lookup",
    "trace": "guerdon.tasks.trace",
}


def load(name: str, **settings: Any) -> TaskSource:
    """A family by NAME or NAME:LEVEL; ROLE/NAME:LEVEL asks for another role than solving (`verify/chain:3`)."""
    if "/" in name:
        from guerdon.tasks.role_tasks import in_role

        role, _, rest = name.partition("/")
        return in_role(role, load(rest, **settings))
    family, _, level = name.partition(":")
    if family not in NAMES:
        raise unknown("task", family, NAMES)
    if level:
        if not level.isdigit():
            raise UserError(f"task level must be a whole number, not {level!r}: {family}:2")
        settings["level"] = int(level)
    made: TaskSource = getattr(importlib.import_module(NAMES[family]), family)(**settings)
    return made
