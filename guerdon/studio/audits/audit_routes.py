"""What the page asks about audits: the list, one, and two of a task side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from guerdon.core.errors import UserError
from guerdon.studio.audits.audit_shelf import AuditShelf
from guerdon.studio.audits.compared_audits import compared
from guerdon.studio.json_answers import answer

Two = Annotated[list[str], Query(min_length=2, max_length=2)]
FAILURES = 50  # are shown in whole; all are counted
OTHERS = 200  # audits of the same task that one can be compared with


def routes(shelf: AuditShelf) -> APIRouter:
    router = APIRouter(prefix="/api/audits")

    @router.get("")
    def audits() -> Response:
        rows = [_row(each) for each in shelf.summaries()]
        return answer({"audits": rows, "places": [str(place) for place in shelf.places]})

    @router.get("/one/{id}")
    def one(id: str) -> Response:
        shelved = shelf.shelved(id)
        summary = shelved.summary()
        if summary["why"]:
            return answer({"about": _row(summary), "audit": None, "others": []})
        audit = _ranked(shelved.report())
        failed = {"failures": audit.get("failures", [])[:FAILURES], "failed": len(audit.get("failures", []))}
        same = [_row(each) for each in shelf.summaries() if each["id"] != id and each.get("task") == audit["task"]]
        return answer({"about": _row(summary), "audit": {**audit, **failed}, "others": same[:OTHERS]})

    @router.get("/compare")
    def compare(audit: Two) -> Response:
        """Findings of the second that the first does not have, and the other way round."""
        both = [shelf.shelved(id) for id in audit]
        before, after = (_ranked(each.report()) for each in both)
        if before["task"] != after["task"]:
            tasks = f"{before['task'][:80]} and {after['task'][:80]}"
            raise UserError(f"these audits are of different tasks, {tasks}: compare two of the same")
        return answer({"about": [_row(each.summary()) for each in both], **compared(before, after)})

    return router


def _row(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name != "written"}


def _ranked(audit: dict[str, Any]) -> dict[str, Any]:
    """With the severe findings first, and among them the most harmful."""
    findings = sorted(audit["findings"], key=lambda each: (each["severity"] != "severe", -(each["harm"] or 0.0)))
    return {**audit, "findings": findings}
