"""What was told of runs in worlds before: the numbers beside the figure are its memory, so that a run is made once for all.

Leaves out: where runs that are new are written down (`worlds.py`), how all of it looks (`worlds_page.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.prove.records import mean_curve

Told = Mapping[str, Mapping[str, Any]]  # of every world by its name
KINDS = {"trained": "runs", "before": "before"}  # where a world has the runs of a kind
SAME = ("torch", "device")  # of the versions, what the numbers of a run may hang on


def told_in(path: Path) -> Told:
    """What a file of the figure's numbers tells; nothing where it is not there."""
    worlds: Told = json.loads(path.read_text(encoding="utf-8"))["worlds"] if path.exists() else {}
    return worlds


def is_told(earlier: Told, label: Mapping[str, Any], seed: int, versions: Mapping[str, Any]) -> bool:
    """Whether a run was told of: of this world as it is set, of this code, and on such a machine."""
    known = earlier.get(label["world"])
    if known is None or not _is_of(known, label["setting"], label["source"]):
        return False
    return _versions(known) == tuple(versions[name] for name in SAME) and seed in _seeds(known, KINDS[label["kind"]])


def joined(now: Mapping[str, Any] | None, before: Mapping[str, Any] | None, setting: Mapping[str, Any]) -> Any:
    """A world as it is told now, with seeds that were only told before; not those of another setting, code or machine."""
    if before is None or not _is_of(before, setting, before["source"]):
        return now
    if now is None:
        return before
    if now["source"] != before["source"] or _versions(now) != _versions(before):
        return now
    every = {name: _with(now, before, name) for name in KINDS.values()}
    return {**now, **every, "curve": mean_curve([run["curve"] for run in every["runs"]])}


def _with(now: Mapping[str, Any], before: Mapping[str, Any], name: str) -> list[Any]:
    there = _seeds(now, name)
    every = [*now[name], *(each for each in before[name] if each["seed"] not in there)]
    return sorted(every, key=lambda each: int(each["seed"]))


def _is_of(world: Mapping[str, Any], setting: Mapping[str, Any], source: str) -> bool:
    return world["source"] == source and all(world.get(name) == value for name, value in setting.items())


def _versions(world: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(world["runs"][0]["versions"].get(name) for name in SAME)


def _seeds(world: Mapping[str, Any], name: str) -> set[int]:
    return {each["seed"] for each in world[name]}
