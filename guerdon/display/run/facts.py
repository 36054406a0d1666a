"""A run as JSON that a page can show: its row in a list, and all about it but its curves and rollouts."""

from __future__ import annotations

import json
import shlex
from typing import Any

from guerdon.core.manifest import Damaged
from guerdon.core.shown_text import cut
from guerdon.display.run.alarms import Address, alarms_of
from guerdon.display.run.flow import flow_of
from guerdon.display.run.settings import settings_of
from guerdon.display.text import show
from guerdon.runs.event_types import Alarmed, Evaluated, StepDone
from guerdon.runs.folder import resume_command
from guerdon.runs.headline import COUNTS, ENDS, MEASURES, Headline, finite
from guerdon.runs.run import Run, Snapshot, resume_call

LARGE = 300_000  # bytes of a run.json that is not shown as it is
HARDWARE = ("machine", "device", "threads")  # among versions


def row_of(run: Run) -> dict[str, Any]:
    """What a list and the head of a page show of it."""
    config, wish, headline = run.config, run.config["wish"], run.headline
    rewards = config.get("rewards") or {}
    return {
        "recipe": run.name,
        "kind": config["kind"],
        "task": str(wish["task"] or (config["data"] or {}).get("path") or (headline.task if headline else "")),
        "model": str(wish["model"] or ""),
        "reward": str(wish["reward"] or ", ".join(each["formula"] for each in rewards.values())),
        "seed": config["seed"],
        "created": config["created"],
        "progress": progress(run),
        "headline": None if headline is None else headline_facts(headline),
    }


def all_about(run: Snapshot, status: str, shown_at: Address) -> dict[str, Any]:
    """All that the page of a run shows besides its row, its curves and its rollouts."""
    return {
        "readable": True,
        "facts": facts(run),
        "rewards": [{"column": column, **each} for column, each in (run.config.get("rewards") or {}).items()],
        "flow": flow_of(run.config),
        "alarms": [alarm.to_dict() for alarm in alarms_of(run, shown_at)],
        "marks": sorted({event.step for event in run.events(Alarmed)}),  # on the curves
        "exams": exams(run),
        "settings": {
            group: {name: cut(v, 2_000) for name, v in each.items()} for group, each in settings_of(run.config).items()
        },
        "config": run.config if run.folder.config_file.stat().st_size < LARGE else None,
        "commands": commands(run, status),
        "result": result_of(run) if run.config["kind"] == "study" else [],
        "rollouts": len(run.rollout_steps),
    }


def facts(run: Snapshot) -> dict[str, Any]:
    """What ran, what it cost and on what."""
    config, done = run.config, run.events(StepDone)
    versions = config["versions"]
    models = config.get("models") if isinstance(config.get("models"), dict) else {}
    return {
        "recipe": run.name,
        "hash": config["hash"],
        "seed": config["seed"],
        "spent": {**run.spent, "episodes": sum(e.episodes for e in done), "calls": sum(e.calls for e in done)},
        "created": config["created"],
        "weights": run.weights,
        "versions": {name: str(value) for name, value in versions.items() if name not in HARDWARE},
        "hardware": {name: str(versions[name]) for name in HARDWARE if name in versions},
        "models": {name: facts for name, facts in (models or {}).items() if isinstance(facts, dict)},
        "again": (config.get("again") or {}).get("run"),
    }


def exams(run: Snapshot) -> dict[str, Any] | None:
    """Every number of the exams at every evaluation, with its interval where it has one, and what had been spent by then; None
    where nothing was examined."""
    evaluated = run.events(Evaluated)
    if not evaluated:
        return None
    names = [n for n in dict.fromkeys(k for e in evaluated for k in e.result) if _is_measure(n)]
    measures = []
    for name in names:
        points = [[finite(e.result.get(key)) for key in (name, *(f"{name}{end}" for end in ENDS))] for e in evaluated]
        if any(point[0] is not None for point in points):
            known = MEASURES.get(name.rpartition("/")[2])
            is_share = known.is_share if known is not None else "@" in name
            measures.append(
                {"name": name, "words": known.words if known else "", "is_share": is_share, "points": points}
            )
    last = evaluated[-1].result
    counts = {name: last[name] for name in last if name.rpartition("/")[2] in ("task", "tasks", "tries", "missing")}
    spent = [{unit: spent[unit] for unit in ("tokens", "seconds")} for spent, _ in run.curve]
    return {"steps_done": [e.step + 1 for e in evaluated], "spent": spent, "measures": measures, "counts": counts}


def _is_measure(name: str) -> bool:
    return not name.endswith(ENDS) and name.rpartition("/")[2] not in {*COUNTS} - {"length"}


def commands(run: Snapshot, status: str) -> list[dict[str, str]]:
    """How to continue from here on the command line; in Python, where the run was started there."""
    name, plain = shlex.quote(run.folder.named), bool(run.config["plain"])
    lines: list[tuple[str, str]] = []
    if status != "complete" and status != "running":
        lines.append(("resume it", resume_command(run.folder) if plain else resume_call(run)))
    if plain:
        seed = run.config["seed"] + 1
        lines.append(("rerun with a change", f"guerdon train --again {name} --seed {seed}"))
    if run.rollout_steps:
        lines.append(("score its rollouts with another reward", f"guerdon replay {name} --reward FILE.py:NAME"))
    lines.append(("show it in the terminal", f"guerdon show {name}"))
    return [{"what": what, "line": line} for what, line in lines]


def own_spent(run: Run) -> dict[str, float]:
    """What the run's own steps cost, without those of runs inside."""
    costs = [e.spent for e in run.events(StepDone)]
    return {unit: sum(cost[unit] for cost in costs) for unit in StepDone(0).spent}


def progress(run: Run) -> dict[str, Any]:
    """How far it came: `done` of how many of which `unit`, and the `share`; of a study its runs are counted elsewhere."""
    budget, steps = run.config.get("budget"), run.steps_done
    if run.config["kind"] == "study":
        return {"done": 0, "of": None, "unit": "runs", "share": None}
    if not budget:
        return _progress(steps, run.config["steps"], "steps")
    return {**_progress(own_spent(run)[budget["unit"]], budget["amount"], budget["unit"]), "steps": steps}


def _progress(done: float, of: float, unit: str) -> dict[str, Any]:
    return {"done": done, "of": of, "unit": unit, "share": min(1.0, done / of) if of > 0 else None}


def headline_facts(headline: Headline) -> dict[str, Any]:
    """What a run is about: before and after with their intervals."""
    ends = headline.ends
    shown = [{"value": p.value, "low": p.low, "high": p.high, "steps_done": p.steps_done} for p in ends]
    return {
        "words": headline.words,
        "is_share": headline.is_share,
        "about": headline.about,
        "source": headline.source,
        "before": shown[0] if len(shown) > 1 else None,
        "after": shown[-1],
    }


def result_of(run: Run) -> list[dict[str, Any]]:
    """The leaves of what a study returned, each by its place."""
    if not run.folder.result.is_file():
        return []
    try:
        leaves = _leaves("", run.result)
    except Damaged:  # which is among the alarms
        return []
    return [
        {"name": name, "value": show(value) if finite(value) is not None else _words(value)} for name, value in leaves
    ]


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _leaves(at: str, value: Any) -> list[tuple[str, Any]]:
    """The leaves of a JSON value with their paths."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inside is None:
        return [] if value is None and not at else [(at, value)]
    return [leaf for k, v in inside for leaf in _leaves(f"{at}/{k}" if at else str(k), v)]
