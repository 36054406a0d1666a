"""What a run does at every step, as a chain: tasks are drawn, played, scored, credited, learned from and examined.

Read from run.json alone: which parts there are, with their knobs, and which columns each stage needs and gives. A stranger may
have written it, so whatever is not as it should be is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHELVES = {"scores": "score", "credit": "credit", "learners": "learn"}


def flow_of(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The boxes of the chain in their order: `role` is what a box does, `part` the part that does it."""
    parts = config.get("parts") or {}
    own = parts.get("knobs")
    if not isinstance(own, dict):
        return []
    told = config.get("flow") or []
    boxes = [_box("draw", own.get("curriculum")), _box("play", own.get("env"), _played_by(own))]
    stages = own.get("stages") if isinstance(own.get("stages"), list) else []
    for i, stage in enumerate(stages or []):
        said = told[i] if i < len(told) and isinstance(told[i], dict) else {}
        shelf = str(said.get("shelf") or "")
        box = _box(SHELVES.get(shelf, "learn" if _is_learner(stage) else "stage"), stage, _inside(stage))
        if box is not None:
            box["needs"], box["gives"] = (_names(said.get(key)) for key in ("needs", "gives"))
            boxes.append(box)
    exams = own.get("exams") if isinstance(own.get("exams"), list) else []
    boxes += [_box("examine", exam, _inside(exam)) for exam in exams or []]
    return [box for box in boxes if box is not None]


def _box(role: str, part: Any, about: str = "") -> dict[str, Any] | None:
    if not isinstance(part, dict) or "part" not in part:
        return None
    knobs: dict[str, str] = {}
    _knobs(part.get("knobs"), "", knobs)
    return {
        "role": role,
        "part": str(part["part"]),
        "about": about or _inside(part),
        "knobs": knobs,
        "needs": [],
        "gives": [],
    }


def _knobs(value: Any, name: str, knobs: dict[str, str]) -> None:
    """Every knob by its path, that of a part within by the part's name before it."""
    if isinstance(value, dict) and "part" in value:
        knobs[name] = str(value["part"])
        _knobs(value.get("knobs"), name, knobs)
    elif isinstance(value, dict) and isinstance(value.get("function"), str):
        knobs[name] = f"{value['function']} (source {value.get('source')})"
    elif isinstance(value, dict):
        for key, inner in value.items():
            _knobs(inner, f"{name}.{key}" if name else str(key), knobs)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for i, inner in enumerate(value):
            _knobs(inner, f"{name}.{i}", knobs)
    elif value is not None and value != "":
        knobs[name] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _inside(stage: Any) -> str:
    """The parts that a stage is made of, such as its loss, by their names."""
    knobs = stage.get("knobs") if isinstance(stage, dict) else None
    inner = [value for value in knobs.values() if isinstance(value, dict)] if isinstance(knobs, dict) else []
    return ", ".join(dict.fromkeys(str(each["part"]) for each in inner if "part" in each))


def _played_by(own: Mapping[str, Any]) -> str:
    """Which model plays in which seat, and what the models are."""
    seats = own.get("seats") if isinstance(own.get("seats"), dict) else {}
    models = own.get("models") if isinstance(own.get("models"), dict) else {}
    assert isinstance(seats, dict) and isinstance(models, dict)
    made_of = {name: str(model.get("part")) for name, model in models.items() if isinstance(model, dict)}
    return ", ".join(f"{role}: {made_of.get(str(name), name)}" for role, name in seats.items())


def _is_learner(stage: Any) -> bool:
    return isinstance(stage, dict) and isinstance(stage.get("knobs"), dict) and "opt" in stage["knobs"]


def _names(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
