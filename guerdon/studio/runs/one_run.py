"""All that the page shows of one run, but its curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from guerdon.display.run.alarms import Address
from guerdon.display.run.facts import all_about
from guerdon.studio.library import Library
from guerdon.studio.runs.evidence_view import has_proof
from guerdon.studio.runs.listing import Wanted, listing
from guerdon.studio.runs.run_snapshot import snapshot
from guerdon.studio.runs.summaries import Summaries


def one_run(library: Library, summaries: Summaries, id: str) -> dict[str, Any]:
    shelved = library.shelved(id)
    row = summaries.one(shelved)
    if row["status"] == "unreadable":
        return {"run": row, "readable": False}
    run = snapshot(shelved)
    is_study = run.config["kind"] == "study"
    rows = summaries.every()[0] if is_study else []
    row = next((each for each in rows if each["id"] == id), row)
    inner = listing(rows, Wanted(within=id, sort="name", down=False, limit=1000))["rows"] if is_study else []
    return {
        **all_about(run, row["status"], address_of(id)),
        "run": {key: value for key, value in row.items() if key != "words"},
        "within": None if not shelved.within else _named(library, shelved.within),
        "inner": [{**each, "address": f"/run/{each['id']}"} for each in inner],
        "evidence": run.name if has_proof(run.name) else None,
    }


def address_of(id: str) -> Address:
    """Where the page shows the rollouts of a run's steps."""

    def shown_at(step: int, reason: str, episodes: Sequence[str]) -> str:
        asked: list[tuple[str, object]] = [("run", id), ("step", step)]
        asked += [("reason", reason)] if reason else []
        return f"/rollouts?{urlencode([*asked, *(('episode', key) for key in episodes)])}"

    return shown_at


def _named(library: Library, id: str) -> dict[str, str]:
    return {"id": id, "name": library.shelved(id).path.name}
