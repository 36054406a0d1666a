"""All that the page shows of one run, but its curves."""

from __future__ import annotations

import shlex
from typing import Any

from guerdon.core.shown_text import cut
from guerdon.display.report.study_section import study_section
from guerdon.results.compare.settings import settings_of
from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.runs.folder import resume_command
from guerdon.runs.headline import COUNTS, ENDS, MEASURES, finite
from guerdon.runs.run import resume_call
from guerdon.studio.library import Library
from guerdon.studio.runs.alarms import alarms_of
from guerdon.studio.runs.evidence_view import has_proof
from guerdon.studio.runs.flow import flow_of
from guerdon.studio.runs.listing import Wanted, listing
from guerdon.studio.runs.run_snapshot import Snapshot, snapshot
from guerdon.studio.runs.summaries import Summaries

LARGE = 300_000  # bytes of a run.json that is not shown as it is
HARDWARE = ("machine", "device", "threads")  # among versions


def one_run(library: Library, summaries: Summaries, id: str) -> dict[str, Any]:
    shelved = library.shelved(id)
    row = summaries.one(shelved)
    if row["status"] == "unreadable":
        return {"run": row, "readable": False}
    run = snapshot(shelved)
    is_study, settings = run.config["kind"] == "study", settings_of(run.config)
    rows = summaries.every()[0] if is_study else []
    row = next((each for each in rows if each["id"] == id), row)
    return {
        "run": {key: value for key, value in row.items() if key != "words"},
        "readable": True,
        "within": None if not shelved.within else _named(library, shelved.within),
        "facts": facts(run),
        "rewards": [{"column": column, **each} for column, each in (run.config.get("rewards") or {}).items()],
        "flow": flow_of(run.config),
        "alarms": [alarm.to_dict() for alarm in alarms_of(id, run)],
        "exams": exams(run),
        "settings": {group: {name: cut(v, 2_000) for name, v in each.items()} for group, each in settings.items()},
        "config": run.config if run.folder.config_file.stat().st_size < LARGE else None,
        "commands": commands(run, row["status"]),
        "inner": listing(rows, Wanted(within=id, sort="name", down=False, limit=1000))["rows"] if is_study else [],
        "result": _result(run) if is_study else [],
        "evidence": run.name if has_proof(run.name) else None,
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
    return not name.endswith(ENDS) and name.rpartition("/")[2] not in COUNTS


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
        lines.append(("what another reward would have said", f"guerdon replay {name} --reward FILE.py:NAME"))
    lines.append(("all of it in the terminal", f"guerdon show {name}"))
    return [{"what": what, "line": line} for what, line in lines]


def _result(run: Snapshot) -> list[dict[str, Any]]:
    """The leaves of what a study returned."""
    section = study_section(run)
    return [{"name": row.name, "value": row.number.text if row.number else row.words} for row in section.result]


def _named(library: Library, id: str) -> dict[str, str]:
    return {"id": id, "name": library.shelved(id).path.name}
