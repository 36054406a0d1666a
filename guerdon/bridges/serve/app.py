"""A reward as a web application: `make_app(reward, token=...)`, for our own runner, for tests and for a server of yours.

Every answer is JSON, but for `/metrics` and `/docs`; whatever is wrong is one line, `{"error": ...}`.
Left out: who is let in (`admission.py`), how scores are found (`scoring_queue.py`), sockets and signals (`runner.py`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from guerdon.core.errors import RunStopped, UserError, require_extra

try:
    from fastapi import FastAPI
except ModuleNotFoundError as error:
    raise require_extra("fastapi", "serve") from error
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

import guerdon
from guerdon.bridges import openrlhf
from guerdon.bridges.serve.admission import Admission, error_response, json_response
from guerdon.bridges.serve.metrics import CONTENT_TYPE
from guerdon.bridges.serve.schema import (
    ErrorResponse,
    OpenRLHFRequest,
    OpenRLHFResponse,
    ScoreRequest,
    ScoreResponse,
    score_response,
)
from guerdon.bridges.serve.scoring_queue import ScoringQueue, check_servable, example_of
from guerdon.bridges.serve.serve_limits import ServeLimits
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import as_reward

REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorResponse, "description": about}
    for code, about in {
        400: "the body is not JSON",
        401: "the token is missing or wrong",
        413: "too large: bytes or samples",
        415: "not sent as application/json",
        422: "a field is missing or of the wrong type",
        429: "the queue is full; retry after the time in `Retry-After`",
        500: "the reward cannot continue",
        503: "the server is stopping",
        504: "no scores in time",
    }.items()
}


def make_app(
    reward: Any,
    *,
    token: str | None,
    limits: ServeLimits | None = None,
    missing: float | None = None,
    tokenizer: Any = None,
) -> FastAPI:
    """The application. `token=None` serves every client that reaches it under a name of this machine.

    `missing` is what a sample without a score is worth to OpenRLHF, which takes only numbers. `tokenizer` (a model's name or
    folder, a tokenizer.json, a tokenizer) counts the tokens of samples that come without their ids.
    """
    formula = as_reward(reward)
    check_servable(formula)
    queue = ScoringQueue(formula, limits or ServeLimits(), None if tokenizer is None else ids_by(tokenizer))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        queue.pool.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="Guerdon reward server",
        version=guerdon.__version__,
        summary="Scores samples with one reward; a sample without a score says why.",
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.queue = queue
    app.add_middleware(Admission, queue=queue, token=token)
    _secure(app, token)
    _routes(app, queue, missing)
    _faults(app)
    return app


def _routes(app: FastAPI, queue: ScoringQueue, missing: float | None) -> None:
    @app.post("/score", responses={200: {"model": ScoreResponse}, **REFUSALS}, response_model=None)
    async def score(request: ScoreRequest) -> Response:
        """Score samples. Each gets a value, or the reason why it has none; so does every named part of the formula."""
        samples = [sample.model_dump(exclude_unset=True) for sample in request.samples]
        _few_enough(len(samples), queue.limits)
        return json_response(200, score_response(await queue.score(samples, request.group)))

    @app.post("/get_reward", responses={200: {"model": OpenRLHFResponse}, **REFUSALS}, response_model=None)
    async def get_reward(request: OpenRLHFRequest) -> Response:
        """OpenRLHF's remote reward. It takes only numbers: a sample without a score is an error, unless the server was
        started with a number for those."""
        samples = openrlhf.samples_of(request.model_dump())
        _few_enough(len(samples), queue.limits)
        scored = await queue.score(samples, openrlhf.groups_of(samples))
        return _with_nan(openrlhf.answer_of(scored, queue.formula.name, missing))

    @app.get("/health", responses={503: REFUSALS[503]}, response_model=None)
    async def health() -> Response:
        """Whether the server takes requests. Needs no token."""
        return error_response(503, "the server is stopping") if queue.closing else json_response(200, {"status": "ok"})

    @app.get("/metrics", response_model=None)
    async def metrics() -> Response:
        """What was counted, in Prometheus' text format."""
        return Response(queue.metrics.text(queue.waiting, queue.scoring), media_type=CONTENT_TYPE)

    @app.get("/", response_model=None)
    async def about() -> Response:
        """What is served here, and how to ask."""
        return json_response(200, {
            "reward": str(queue.formula),
            "guerdon": guerdon.__version__,
            "ask": {"POST /score": {"samples": [example_of(queue.formula, queue.tokenizer)]}},
            "also": ["POST /get_reward", "GET /health", "GET /metrics", "GET /docs", "GET /openapi.json"],
            "limits": vars(queue.limits),
        })  # fmt: skip


def _with_nan(content: dict[str, Any]) -> Response:
    """For OpenRLHF's client, which reads Python's JSON and needs a number in every log: a part without a score is NaN."""
    return Response(json.dumps(content), media_type="application/json")


def _few_enough(count: int, limits: ServeLimits) -> None:
    if count > limits.samples:
        raise HTTPException(413, f"samples: {count} in one request, at most {limits.samples} are taken")


def _secure(app: FastAPI, token: str | None) -> None:
    """Let `/docs` ask for the token."""
    plain = app.openapi

    def with_token() -> dict[str, Any]:
        schema = plain()
        if token is not None:
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
        return schema

    app.openapi = with_token  # type: ignore[method-assign]


def _faults(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def refused(request: HTTPRequest, fault: HTTPException) -> Response:
        reason = str(fault.detail)
        if fault.status_code == 404:
            reason = (
                f"there is no {request.url.path}: ask POST /score, POST /get_reward, GET /health, /metrics, /docs or /"
            )
        elif fault.status_code == 405:
            reason = f"{request.url.path} does not take {request.method}"
        return error_response(fault.status_code, reason, **(fault.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: HTTPRequest, fault: RequestValidationError) -> Response:
        first = fault.errors()[0]
        if first["type"] == "json_invalid":
            return error_response(400, f"the body is not JSON: {first['ctx']['error']} at character {first['loc'][-1]}")
        where = ".".join(map(str, first["loc"][1:])) or "the body"
        return error_response(422, f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}")

    @app.exception_handler(UserError)
    async def mistaken(request: HTTPRequest, fault: UserError) -> Response:
        return error_response(500 if isinstance(fault, RunStopped) else 422, " ".join(str(fault).split()))

    @app.exception_handler(Exception)
    async def broken(request: HTTPRequest, fault: Exception) -> Response:
        return error_response(500, "a mistake in the server itself; its log has the trace")
