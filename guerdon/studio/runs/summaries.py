"""The list's entry for each run, read once until the run changes.

A run that is complete or stopped is read and released, so thousands of them stay small; of a running one the events are kept,
and only new lines are read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.errors import UserError
from guerdon.display.run.alarms import alarms_of
from guerdon.display.run.facts import own_spent, row_of
from guerdon.runs.event_types import StepDone
from guerdon.runs.headline import Headline, finite, now_metric
from guerdon.runs.run import Missing
from guerdon.studio.library import Library, ShelvedRun
from guerdon.studio.runs.run_snapshot import held_inodes, is_held, snapshot, standing

POINTS = 48  # of a curve the size of a word
PATIENCE = 0.6  # seconds that an answer may be spent on reading; what is not read by then is read for the next one
READING = "reading"


@dataclass(frozen=True)
class RunSummary:
    """`facts` go to the page as they are; the rest is what they are made of, sorted and searched by."""

    id: str
    within: str
    facts: dict[str, Any]
    words: str = ""  # what is searched
    status: str = ""  # as its events have it
    last_time: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)


def summary(shelved: ShelvedRun, keep: bool = False) -> RunSummary:
    """All that the list needs of a run; of one that cannot be read, why."""
    base = {"id": shelved.id, "name": shelved.path.name, "path": shelved.name}
    try:
        run = snapshot(shelved, keep)
    except Missing:
        raise
    except UserError as error:
        why = str(error)
        return RunSummary(
            shelved.id, shelved.within, {**base, "status": "unreadable", "why": why}, f"{base} {why}".lower()
        )
    config, headline = run.config, run.headline
    alarms = alarms_of(run, lambda step, reason, episodes: "")
    facts = {
        **base,
        **row_of(run),
        "spark": spark(headline, run.events(StepDone)),
        "alarms": len(alarms),
        "worst": min((alarm.level for alarm in alarms), key=("bad", "warn", "note").index, default=""),
    }
    said = [*(str(v) for k, v in facts.items() if k in ("name", "path", "recipe", "task", "model", "reward"))]
    said += [f"{k}={v}" for k, v in config["settings"].items()] + [f"seed={config['seed']}"]
    said += [each["formula"] for each in (config.get("rewards") or {}).values()]
    return RunSummary(
        shelved.id, shelved.within, facts, " ".join(said).lower(), run.status, run.last_time, own_spent(run)
    )


def spark(headline: Headline | None, done: Sequence[StepDone]) -> dict[str, Any] | None:
    """The headline's way in few points: its evaluations where there are some, else the steps' own number that is nearest."""
    if headline is None:
        return None
    if headline.source == "exam" and len(headline.points) < 3:
        near = now_metric(headline.key)
        values = [finite(e.metrics.get(near[0])) for e in done] if near else []
        if sum(v is not None for v in values) > 2:
            return {"of": f"{headline.words} on the problems trained on", "values": coarse(values)}
    points = [p.value for p in headline.points]
    return {"of": f"{headline.words}, {headline.about}", "values": coarse(points)} if len(points) > 1 else None


def coarse(values: Sequence[float | None], points: int = POINTS) -> list[float | None]:
    """As many means of neighbours as there are points, in the few digits that such a curve shows."""
    n = len(values)
    means = []
    for b in range(min(n, points)):
        inside = [v for v in values[b * n // min(n, points) : (b + 1) * n // min(n, points)] if v is not None]
        means.append(float(f"{sum(inside) / len(inside):.4g}") if inside else None)
    return means


class Summaries:
    """Those of a library, each read once until its run changes."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._read: dict[str, tuple[object, RunSummary]] = {}
        self._lock = threading.Lock()

    def every(self, patience: float = PATIENCE) -> tuple[list[dict[str, Any]], int]:
        """The facts of every run, and how many are not read yet: those come with their name alone."""
        began, held, now = time.monotonic(), held_inodes(), time.time()
        rows: list[dict[str, Any]] = []
        waiting, there = 0, self.library.runs()
        with self._lock:
            for shelved in there:
                late = time.monotonic() - began > patience
                each = self._one(shelved, held, may_read=not late)
                if each is not None:
                    waiting += each.facts.get("status") == READING
                    rows.append(_standing_row(each, shelved, held, now))
            self._read = {each.id: self._read[each.id] for each in there if each.id in self._read}
        return with_inner(rows), waiting

    def one(self, shelved: ShelvedRun) -> dict[str, Any]:
        """The facts of a run now; Missing where it is gone."""
        held = held_inodes()
        with self._lock:
            each = self._one(shelved, held, may_read=True)
        if each is None:
            raise Missing(f"{shelved.name} is not there any more")
        return _standing_row(each, shelved, held, time.time())

    def _one(self, shelved: ShelvedRun, held: set[int] | None, may_read: bool) -> RunSummary | None:
        marks = shelved.marks()
        before = self._read.get(shelved.id)
        if before is not None and before[0] == marks:
            return before[1]
        if not may_read:
            base = {"id": shelved.id, "name": shelved.path.name, "path": shelved.name, "status": READING}
            return before[1] if before is not None else RunSummary(shelved.id, shelved.within, base)
        try:
            made = summary(shelved, keep=is_held(shelved.folder, held))
        except Missing:
            return None
        self._read[shelved.id] = (marks, made)
        return made


def _standing_row(each: RunSummary, shelved: ShelvedRun, held: set[int] | None, now: float) -> dict[str, Any]:
    row = {**each.facts, "within": each.within, "spent": each.spent, "words": each.words}
    if "status" not in row:
        is_over = each.status == "complete"
        row["status"], row["why"] = standing(
            each.status, not is_over and is_held(shelved.folder, held), each.last_time, now
        )
    return row


def with_inner(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the number of the runs inside; a study's progress and cost are theirs."""
    every = [*rows]
    inside: dict[str, list[dict[str, Any]]] = {}
    for row in every:
        if row["within"]:
            inside.setdefault(row["within"], []).append(row)
    there = {row["id"] for row in every}
    for row in every:
        mine = inside.get(row["id"], [])
        row["inner"] = len(mine)
        row["within"] = row["within"] if row["within"] in there else ""
        if row.get("kind") == "study":
            row["progress"] = {**row["progress"], "done": len(mine)}
            row["spent"] = total([row["spent"], *(each["spent"] for each in mine)])
    return every


def total(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    units = dict.fromkeys(unit for cost in costs for unit in cost)
    return {unit: sum(cost.get(unit, 0.0) for cost in costs) for unit in units}
