"""A run's config made by hand, with all that every config has."""

from __future__ import annotations

from typing import Any


def config(**said: Any) -> dict[str, Any]:
    slots = {"task": None, "model": None, "reward": None}
    made = {
        "format": 1, "recipe": "by-hand", "kind": "recipe", "hash": "00ff", "seed": 3, "steps": 3, "wish": slots,
        "settings": {}, "data": None, "options": {}, "plain": True, "parts": {}, "versions": {},
        "created": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    return {**made, **said}
