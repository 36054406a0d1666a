"""What a run.json says of what a run is: settings, data, parts and their knobs, versions, by the names of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LEFT_OUT = {"steps", "budget"}  # of parts: said of the run already
HERE = ("threads", "machine", "device")  # among versions, and none


def settings_of(config: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """All that a run.json says of what a run is, group by group, by names as the command line has them."""
    data, budget = config["data"] or {}, config.get("budget")
    rewards: dict[str, Any] = {}
    for column, reward in (config.get("rewards") or {}).items():
        rewards |= {f"{column} =": reward["formula"], f"{column}, version": reward["version"]}
    models: dict[str, Any] = {}
    stated = config.get("models")
    for name, facts in stated.items() if isinstance(stated, dict) else ():
        models |= {f"model {name}, {fact}": value for fact, value in (facts if isinstance(facts, dict) else {}).items()}
    groups: dict[str, dict[str, Any]] = {
        "asked": {"recipe": config["recipe"], **config["wish"]},
        "data": {"data" if key == "path" else f"data {key}": value for key, value in data.items()},
        "set": {f"--set {name}": value for name, value in config["settings"].items()},
        "length": {
            "steps": None if budget else config["steps"],
            "budget": f"{budget['amount']:,.0f} {budget['unit']}" if budget else None,
            "seed": config["seed"],
        },
        "rewards": rewards,
        "parts": part_knobs(config.get("parts") or {}),
        "options": {f"option {name}": value for name, value in config["options"].items()},
        "models": models,
        "versions": {name if name in HERE else f"version of {name}": v for name, v in config["versions"].items()},
        "code": {"code of the recipe": config.get("source"), "code of results": config.get("results")},
    }
    return {
        group: {name: _shown(value) for name, value in each.items() if value is not None}
        for group, each in groups.items()
    }


def part_knobs(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The knobs of every part by the name that `--set` has for it (`adam.lr`), and which stages there are."""
    own = parts.get("knobs") if isinstance(parts.get("knobs"), Mapping) else {}
    assert isinstance(own, Mapping)
    stages = own.get("stages") if isinstance(own.get("stages"), list) else []
    knobs: dict[str, Any] = {}
    if stages:
        knobs["stages"] = ", ".join(str(s.get("part")) for s in stages if isinstance(s, Mapping))
    _flatten(own, "", knobs, {}, set())
    return {name: value for name, value in knobs.items() if name not in LEFT_OUT}


def _flatten(value: Any, name: str, knobs: dict[str, Any], used: dict[str, int], met: set[str]) -> None:
    if isinstance(value, Mapping) and "part" in value and isinstance(value.get("knobs"), Mapping):
        text = json.dumps(value, sort_keys=True, default=str)
        if text in met:  # one part that stands in several places
            return
        met.add(text)
        label = str(value["part"]).lower()
        used[label] = used.get(label, 0) + 1
        handle = label if used[label] == 1 else f"{label}_{used[label]}"
        for fact in ("identity", "source"):
            if value.get(fact) is not None:
                knobs[f"{handle}, {fact}"] = value[fact]
        for field, inner in value["knobs"].items():
            _flatten(inner, f"{handle}.{field}", knobs, used, met)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _flatten(inner, f"{name}.{key}" if name else str(key), knobs, used, met)
    elif isinstance(value, list) and any(isinstance(each, Mapping | list) for each in value):
        for i, inner in enumerate(value):
            _flatten(inner, f"{name}.{i}", knobs, used, met)
    else:
        knobs[name] = value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
