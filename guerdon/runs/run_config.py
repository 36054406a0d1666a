"""The content of a run's `run.json`, checked when it is read: every field is there and of its type, or it is refused in a line.

A stranger may have written it, so nothing in it is believed before.
Leaves out: whether its contents are true, which its checksum and the recipe's hash show.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.core.manifest import Damaged
from guerdon.runs.event_types import StepDone

LARGEST = 64 << 20  # bytes of a run.json; our own have some thousand
KINDS: dict[type, str] = {str: "text", int: "a whole number", dict: "an object", bool: "true or false", list: "a list"}
FIELDS: dict[str, type] = {
    "recipe": str, "kind": str, "hash": str, "seed": int, "steps": int, "wish": dict, "settings": dict, "options": dict,
    "versions": dict, "plain": bool, "created": str,
}  # fmt: skip
SLOTS = ("task", "model", "reward")  # of a wish
MAYBE: dict[str, type] = {
    "data": dict, "budget": dict, "rewards": dict, "parts": dict, "prepared": dict, "id": str, "text": bool, "again": dict,
    "flow": list,
}  # fmt: skip


def read_small(path: Path) -> str:
    """The text of a file that is one: not a pipe without a writer, not a huge sparse file. Raises OSError or ValueError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is not a file")
    if status.st_size > LARGEST:
        raise ValueError(f"{path.name} has {status.st_size >> 20} MiB")
    return path.read_text(encoding="utf-8")


def first_step(config: Mapping[str, Any]) -> int:
    """The step that a run starts at; not 0 where it extends another run."""
    return int((config.get("again") or {}).get("step", 0))


def check_fields(config: Mapping[str, Any], run: str) -> None:
    """Refuse a config in which a required entry is missing or of another kind."""
    for name in (*FIELDS, "data"):
        if name not in config:
            raise Damaged(f"{run} is not a run folder: its run.json has no {name!r}")
    for name, kind in FIELDS.items():
        _check(config[name], kind, name, run)
    for name, kind in MAYBE.items():
        if config.get(name) is not None:
            _check(config[name], kind, name, run)
    for slot in SLOTS:
        if slot not in config["wish"]:
            raise Damaged(f"{run} is not a run folder: its run.json has no 'wish.{slot}'")
    for slot, value in config["wish"].items():
        if value is not None:
            _check(value, str, f"wish.{slot}", run)
    for name, value in config["settings"].items() if config.get("text") else ():
        _check(value, str, f"settings.{name}", run)
    for column, reward in (config.get("rewards") or {}).items():
        for name in ("formula", "version"):
            _check(reward.get(name) if isinstance(reward, dict) else None, str, f"rewards.{column}.{name}", run)
    _check((config.get("again") or {}).get("step", 0), int, "again.step", run)
    budget = config.get("budget")
    if budget and not (isinstance(budget.get("amount"), int | float) and budget.get("unit") in StepDone(0).spent):
        raise Damaged(f"{run} is not a run folder: 'budget' in its run.json is none")


def _check(value: Any, kind: type, name: str, run: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise Damaged(f"{run} is not a run folder: {name!r} in its run.json is not {KINDS[kind]}")
