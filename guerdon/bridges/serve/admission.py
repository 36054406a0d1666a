"""Admission: which requests are let in. Every request passes here before anything of it is read.

In this order: is the server closing (503), does the caller have the token (401), is it JSON (415), is it too large (413), is
there room (429).
What was let in has a time limit (504, or 408 if the request itself was slow to come).
It is a bare ASGI middleware: nothing lies between it and the socket that would read a body first.
Left out: what a request means (`app.py`).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guerdon.bridges.serve.scoring_queue import ScoringQueue
from guerdon.network.listening import LOCAL, host_name
from guerdon.network.request_limits import KNOWN, LimitedBody, too_large

OPEN = ("/health", "/docs", "/openapi.json")  # need no token: they say nothing about the reward
SCORING = ("/score", "/get_reward")
DRAIN_SECONDS = 5.0


def json_response(status: int, content: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer, in ASCII: a lone surrogate in a completion has no UTF-8. NaN would be a mistake of ours."""
    return Response(json.dumps(content, allow_nan=False), status, headers, "application/json")


def error_response(status: int, error: str, **headers: str) -> Response:
    return json_response(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


class Admission:
    """Without a token, only requests that name this machine as their host: no web page elsewhere can reach it then."""

    def __init__(self, app: ASGIApp, queue: ScoringQueue, token: str | None) -> None:
        self.inner, self.queue, self.token = app, queue, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        sender = _Sender(send)
        headers = Headers(scope=scope)
        try:
            refused = self._refused(scope, headers)
            if refused is not None:
                if "expect" in headers or not await self._drain(receive):  # who asks before sending need not send
                    refused.headers["connection"] = "close"  # what may still come is not a request
                await refused(scope, receive, sender)
            elif scope["path"] in SCORING:
                await self._limited(scope, receive, sender)
            else:
                await self.inner(scope, receive, sender)
        finally:
            known = scope["path"] in (*OPEN, *SCORING, "/", "/metrics")
            self.queue.metrics.request(scope["path"] if known else "other", sender.status)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to refused clients. A connection that was let in once is known from then on."""
        path, limits = scope["path"], self.queue.limits
        if path in OPEN:
            return None
        if self.queue.closing:
            return error_response(503, "the server is stopping", Retry_After="5", Connection="close")
        if self.token is None and (host := host_name(headers.get("host", ""))) not in LOCAL:
            return error_response(
                403, f"this server has no token and answers only as {', '.join(LOCAL)}, not as {host!r}"
            )
        if self.token is not None and not _has(headers.get("authorization", ""), self.token):
            way = "send the header 'Authorization: Bearer TOKEN' with the token this server was started with"
            return error_response(
                401, f"the token is missing or wrong: {way}", WWW_Authenticate='Bearer realm="guerdon"'
            )
        if known := scope.get("state", {}).get(KNOWN):
            known()
        if path not in SCORING or scope["method"] != "POST":
            return None
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return error_response(415, "the body must be JSON: send the header 'Content-Type: application/json'")
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > limits.body:
            return error_response(413, too_large(limits.body, "send fewer samples at a time"))
        if self.queue.full:
            after = self.queue.retry_after
            error = f"{len(self.queue.under_way)} requests are under way, which is all there is room for: retry in {after} s"
            return error_response(429, error, Retry_After=str(after))
        return None

    async def _limited(self, scope: Scope, receive: Receive, sender: _Sender) -> None:
        """The request itself, within its time."""
        body = LimitedBody(receive, self.queue.limits.body, "send fewer samples at a time")
        try:
            async with asyncio.timeout(self.queue.limits.timeout) as limit:
                self.queue.under_way.add(limit)
                try:
                    await self.inner(scope, body, sender)
                finally:
                    self.queue.under_way.discard(limit)
        except TimeoutError:
            if not limit.expired() or sender.status != 500:  # another cancellation, or the answer is already being sent
                raise
            await self._late(body)(scope, receive, sender)

    def _late(self, body: LimitedBody) -> Response:
        if self.queue.closing:
            return error_response(503, "the server is stopping and could not wait for these scores", Connection="close")
        seconds = f"{self.queue.limits.timeout:g} s"
        if not body.whole:
            return error_response(408, f"the request did not arrive within {seconds}", Connection="close")
        return error_response(
            504, f"no scores within {seconds}: send fewer samples, or start the server with a longer --timeout"
        )

    async def _drain(self, receive: Receive) -> bool:
        """Read what a refused client is still sending, if it ends: a client that is cut off while sending never reads the
        reason."""
        left = 4 * self.queue.limits.body
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(DRAIN_SECONDS, self.queue.limits.timeout)):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return True
        return False


class _Sender:
    """`send`, remembering the status. It is 500 until one is sent: that is what an error handler will send."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self.send(message)


def _has(header: str, token: str) -> bool:
    """Whether the header carries the token: as a bearer's, or as the password of a client that can only be given a URL."""
    kind, _, given = header.partition(" ")
    if kind.lower() == "basic":
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):
            given = base64.b64decode(given, validate=True).decode().partition(":")[2]
    elif kind.lower() != "bearer":
        given = ""
    return secrets.compare_digest(given.strip().encode(), token.encode())
