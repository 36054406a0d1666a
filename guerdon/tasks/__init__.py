"""Problem families by name: `load("successor")`, `load("successor:2")` for level 2."""

from __future__ import annotations

import importlib
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.task import TaskSource

NAMES = {"successor": "guerdon.tasks.tiny", "parity": "guerdon.tasks.tiny"}  # family: the module that defines it


def load(name: str, **settings: Any) -> TaskSource:
    """A family by NAME or NAME:LEVEL."""
    family, _, level = name.partition(":")
    if family not in NAMES:
        raise unknown("task", family, NAMES)
    if level:
        if not level.isdigit():
            raise UserError(f"task level must be a whole number, not {level!r}: {family}:2")
        settings["level"] = int(level)
    made: TaskSource = getattr(importlib.import_module(NAMES[family]), family)(**settings)
    return made
