"""The studio as a web application: `make_app(library, token=...)`, for our own runner, for tests and for a server of yours.

Every question of the page goes to `/api/...` and is answered in JSON, `{"error": "one line"}` where something is wrong; any
other path is the page itself, which finds its view by the path.
Left out: who is let in (`entrance.py`), what the views ask for (a room each), sockets and signals (`studio_server.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from guerdon.core.errors import UserError, require_extra

try:
    from fastapi import FastAPI
except ModuleNotFoundError as error:
    raise require_extra("fastapi", "studio") from error
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import guerdon
from guerdon.display.report.bundle import PAGE
from guerdon.runs.run import Missing
from guerdon.studio.audits.audit_routes import routes as audits
from guerdon.studio.audits.audit_shelf import AuditShelf
from guerdon.studio.bench.bench_routes import routes as bench
from guerdon.studio.entrance import Gate
from guerdon.studio.json_answers import answer, refusal
from guerdon.studio.labels.label_routes import routes as labels
from guerdon.studio.library import Library
from guerdon.studio.live import ChangeWatch
from guerdon.studio.reading.reading_routes import routes as reading
from guerdon.studio.rollouts.rollout_routes import routes as rollouts
from guerdon.studio.runs.run_routes import routes as runs

FIRST = {
    "cache-control": "no-cache"
}  # of the page's files: asked for again each time, sent again only when they changed


def make_app(library: Library, *, token: str | None, local: bool = True) -> FastAPI:
    """The application. `token=None` admits every client that reaches it; with `local` it answers only under a name of this
    machine."""
    shelf = AuditShelf(library)
    watch = ChangeWatch(library, shelf.marks)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        watch.close()

    app = FastAPI(title="Guerdon studio", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.library, app.state.watch = library, watch
    app.add_middleware(Gate, token=token, local=local)
    _rooms(app, library)
    app.include_router(audits(shelf))
    _faults(app)

    @app.get("/api/live")
    async def live() -> Response:
        return StreamingResponse(watch.events(), media_type="text/event-stream")

    @app.get("/api/about")
    def about() -> Response:
        return answer({"guerdon": guerdon.__version__, "places": [str(place) for place in library.places]})

    @app.get("/api/{unknown:path}")
    def unknown(unknown: str) -> Response:
        return refusal(404, f"/api/{unknown[:80]} is nothing that can be asked for")

    app.mount("/page", _PageFiles(directory=PAGE), name="page")

    @app.get("/{path:path}")
    def page(path: str) -> Response:
        return FileResponse(PAGE / "index.html", headers=FIRST)

    return app


def _rooms(app: FastAPI, library: Library) -> None:
    """What each view asks for."""
    for room in (bench, labels, reading, rollouts, runs):
        app.include_router(room(library))


def _faults(app: FastAPI) -> None:
    @app.exception_handler(Missing)
    async def missing(_: Request, error: Missing) -> Response:
        return refusal(404, str(error))

    @app.exception_handler(UserError)
    async def mistaken(_: Request, error: UserError) -> Response:
        return refusal(422, str(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first.get("loc", ())[1:])
        return refusal(422, f"{where}: {first.get('msg', 'is not as it should be')}")

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return refusal(error.status_code, str(error.detail))


class _PageFiles(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(FIRST)
        return response
