"""What the page asks about runs."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from guerdon.display.run.curves import X, curves_of
from guerdon.studio.json_answers import answer
from guerdon.studio.library import Library
from guerdon.studio.runs.evidence_view import claims, proof_of
from guerdon.studio.runs.listing import FILTERS, Wanted, listing
from guerdon.studio.runs.one_run import one_run
from guerdon.studio.runs.run_series import apart_by, compared, prompt_of
from guerdon.studio.runs.run_snapshot import snapshot
from guerdon.studio.runs.summaries import Summaries

Runs = Annotated[list[str], Query(max_length=200)]
Several = Annotated[list[str] | None, Query()]
Smooth = Annotated[float, Query(ge=0.0, lt=1.0)]


def routes(library: Library) -> APIRouter:
    router = APIRouter(prefix="/api/runs")
    summaries = Summaries(library)

    @router.get("")
    def runs(
        search: str = "",
        recipe: Several = None,
        task: Several = None,
        status: Several = None,
        sort: str = "date",
        up: bool = False,
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
        within: str = "",
    ) -> Response:
        chosen = dict(zip(FILTERS, (recipe or [], task or [], status or []), strict=True))
        rows, waiting = summaries.every()
        wanted = Wanted(search, chosen, sort, not up, offset, limit, within)
        return answer({**listing(rows, wanted), "waiting": waiting, "places": [str(p) for p in library.places]})

    @router.get("/one/{id}")
    def one(id: str) -> Response:
        return answer(one_run(library, summaries, id))

    @router.get("/one/{id}/curves")
    def curves(id: str, x: X = "steps", smooth: Smooth = 0.0, also: Several = None) -> Response:
        return answer(curves_of(snapshot(library.shelved(id)), x, smooth, also or []))

    @router.get("/compare")
    def compare(
        run: Runs, x: X = "steps", smooth: Smooth = 0.0, metric: str = "", apart: bool = False, also: Several = None
    ) -> Response:
        return answer(compared(library, run, x, smooth, metric, apart, also or []))

    @router.get("/compare/difference")
    def differ(run: Runs, arm: str, at: Literal["before", "after"], metric: str = "", apart: bool = False) -> Response:
        return answer(apart_by(library, run, metric, apart, arm, at))

    @router.get("/compare/prompt")
    def prompt(run: Runs) -> Response:
        return answer(prompt_of(library, run))

    @router.get("/evidence")
    def evidence() -> Response:
        return answer({"claims": claims()})

    @router.get("/evidence/{name}")
    def proof(name: str) -> Response:
        return answer(proof_of(name))

    return router
