"""The columns of a batch for a track or a segment: numbers, reasons where there are none, and why."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from guerdon.display.reading.opened_steps import StepFile
from guerdon.display.text import error_text, split_detail
from guerdon.runs.rollout_table import WORDS

WIDE = 8  # numbers of a row of several that are shown
NOTES = 200  # details of single steps that are shown

Told = dict[str, Any]


def plain(value: float) -> float | str | None:
    """A number as JSON can hold it: None for none, infinities by their sign."""
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else "∞" if value > 0 else "−∞"


def of_track(file: StepFile, end: int) -> list[Told]:
    """Every column's word about the track that ends in a row: a track's own number, the mean over its segments or steps."""
    path = file.path(end)
    return [_told(file, name, path) for name in file.columns]


def of_segment(file: StepFile, name: str, row: int) -> Told:
    """A column's word about a segment of its own."""
    return _told(file, name, [row])


def _told(file: StepFile, name: str, path: list[int]) -> Told:
    level, _, shape = file.columns[name]
    rows = path[-1:] if level == "track" else path
    values = [v for row in rows if (v := file.list_at(f"col.{name}", row)) is not None]
    reasons = [r for row in rows if (r := file.list_at(f"col.{name}:reason", row)) is not None]
    why = max((int(r.max()) for r in reasons if len(r)), default=None)
    told: Told = {"name": name, "level": level}
    if shape:
        flat = [plain(v) for v in np.concatenate([np.zeros(0), *values])[:WIDE].tolist()]
        told |= {"number": None, "wide": flat, "shape": shape}
    else:
        told["number"] = plain(mean(values))
    if told["number"] is None and "wide" not in told:
        told["reason"] = WORDS[why] if why else "left out by a stage" if why is None else "not applicable"
    notes = [note for row in rows for note in _notes(file, name, row)]
    if level != "step":
        return told | _detailed(notes[-1]) if notes else told
    return told | _detailed(next((note for note in notes if split_detail(note)[0]), None)) if notes else told


def mean(values: list[Any]) -> float:
    """Over the numbers that are there; NaN where none is."""
    flat = np.concatenate([np.zeros(0), *values]).astype(np.float64)
    there = flat[~np.isnan(flat)]
    return float(there.mean()) if len(there) else math.nan


def _notes(file: StepFile, name: str, row: int) -> list[Any]:
    text = file.table[f"col.{name}:detail"][row].as_py()
    return list(json.loads(text).values())[:NOTES] if text else []


def _detailed(note: Any) -> Told:
    """A detail: its exception, and the rest."""
    if note is None:
        return {}
    error, _ = split_detail(note)
    rest = {k: v for k, v in note.items() if k != "error"} if isinstance(note, dict) else note
    told: Told = {"detail": rest} if rest else {}
    if error:
        whole = error_text(error, "no message")
        told["error"] = {"line": whole.line, "whole": whole.whole}
    return told


# --- formulas -----------------------------------------------------------------------------------------------------


def formulas(config: Mapping[str, Any]) -> dict[str, Told]:
    """By column: its reward's formula, and the weight of every part in it, as far as run.json has them."""
    told: dict[str, Told] = {}
    for column, reward in (config.get("rewards") or {}).items():
        told[str(column)] = {"formula": str(reward.get("formula", "")), "weights": {}}
    for stage in _stages(config):
        knobs = stage.get("knobs")
        if stage.get("part") == "score" and isinstance(knobs, dict) and str(knobs.get("gives_to")) in told:
            told[str(knobs["gives_to"])]["weights"] = _weights(knobs.get("reward"))
    return told


def _stages(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = config.get("parts")
    knobs = parts.get("knobs") if isinstance(parts, dict) else None
    stages = knobs.get("stages") if isinstance(knobs, dict) else None
    return [stage for stage in stages if isinstance(stage, dict)] if isinstance(stages, list) else []


def _weights(reward: Any, lead: str = "", depth: int = 0) -> dict[str, Any]:
    """Of the terms of a sum by their names; a schedule is shown by its part's name."""
    knobs = reward.get("knobs") if isinstance(reward, dict) else None
    terms = knobs.get("terms") if isinstance(knobs, dict) else None
    if not isinstance(terms, dict) or depth > WIDE:
        return {}
    weights: dict[str, Any] = {}
    for name, term in terms.items():
        by: Any = 1.0
        inner = term
        if isinstance(term, dict) and term.get("part") == "weighted" and isinstance(term.get("knobs"), dict):
            by, inner = term["knobs"].get("by", 1.0), term["knobs"].get("reward")
        weights[lead + name] = f"{by.get('part', 'a')} schedule" if isinstance(by, dict) else by
        weights |= _weights(inner, f"{lead}{name}.", depth + 1)
    return weights
