"""What was done differently: everything that configs say of two arms and in which they are not the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.run.settings import settings_of
from guerdon.results.compare.run_arms import RunArm

MISSING = "-"


@dataclass(frozen=True)
class Setting:
    """One thing in which arms differ: its name, and what it is in each, in the order of arms."""

    name: str
    values: list[str]


def differing(arms: Sequence[RunArm]) -> list[Setting]:
    """The settings that differ between arms, the most important first."""
    rows = [[settings_of(run.config) for run in arm.runs] for arm in arms]
    groups = list(dict.fromkeys(group for arm in rows for row in arm for group in row))
    settings = []
    for group in groups:
        for name in dict.fromkeys(name for arm in rows for row in arm for name in row[group]):
            values = [", ".join(dict.fromkeys(row[group].get(name, MISSING) for row in arm)) for arm in rows]
            if len(set(values)) > 1:
                settings.append(Setting(name, values))
    return _without_echoes(settings)


def _without_echoes(settings: list[Setting]) -> list[Setting]:
    """Without what follows from another line: `adam.lr`, where `--set lr` has the same values; where stages differ, the knobs
    of stages that one arm does not have; and where a task or a model does, what is in it."""
    said = {s.name.removeprefix("--set ").rpartition(".")[2]: s for s in settings if s.name.startswith("--set ")}
    by_name = {s.name: s for s in settings}
    kept: list[Setting] = []
    for s in settings:
        twin = said.get(s.name.rpartition(".")[2]) if not s.name.startswith("--set ") else None
        is_echo = twin is not None and all(
            a == MISSING or _value(a) == _value(b) for a, b in zip(twin.values, s.values, strict=True)
        )
        is_lone = "." in s.name and MISSING in s.values and not s.name.startswith("--set ")
        if is_lone and ("stages" in by_name or "model" in by_name or "task" in by_name):
            continue
        if is_echo and twin is not None and MISSING in twin.values:  # the default is worth more than a dash
            kept = [Setting(k.name, s.values) if k is twin else k for k in kept]
        if not is_echo:
            kept.append(s)
    return kept


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
