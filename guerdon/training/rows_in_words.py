"""Rows of one's own as a text, where a task is named by one: `rows of my.csv check=number`. What a claim is held to says so."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError

BEGIN = "rows of "
NUMBERS, FLAGS = ("held_out",), ("skip_bad",)  # settings other than text


def in_words(data: Mapping[str, Any]) -> str:
    """What `data=` says about a file, in words.

    >>> in_words({"path": "my sums.csv", "check": "number", "held_out": 0.2})
    "rows of 'my sums.csv' check=number held_out=0.2"
    """
    settings = [shlex.quote(f"{name}={value}") for name, value in data.items() if name != "path"]
    return BEGIN + " ".join([shlex.quote(str(data["path"])), *settings])


def is_in_words(task: Any) -> bool:
    return isinstance(task, str) and task.startswith(BEGIN)


def of_words(task: str) -> dict[str, Any]:
    """What the words say.

    >>> of_words("rows of 'my sums.csv' check=number held_out=0.2")
    {'path': 'my sums.csv', 'check': 'number', 'held_out': 0.2}
    """
    path, *settings = shlex.split(task.removeprefix(BEGIN)) or [""]
    said: dict[str, Any] = {"path": path}
    for word in settings:
        name, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"rows are named as `rows of FILE check=number`, not {task!r}")
        said[name] = float(value) if name in NUMBERS else True if name in FLAGS else value
    return said
