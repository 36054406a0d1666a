"""The gate: who is let in, and under which rules a browser may use what it is given.

Who opens the address that was printed, with its token, gets a cookie that no other site can send and no script can read; a
program sends `Authorization: Bearer TOKEN`. Requests that change something must come from the page itself. What is served may
load nothing from elsewhere, run no script but ours and stand in no other page's frame; text is never taken for markup, for the
page makes none (`require-trusted-types-for`).
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guerdon.network.listening import LOCAL, host_name
from guerdon.network.request_limits import KNOWN, LimitedBody, too_large
from guerdon.studio.json_answers import refusal

POLICY = "; ".join((
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
))  # fmt: skip
RULES = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
BODY = 4 << 20  # bytes of a request: labels, and typed texts
SECONDS = 30.0  # in which it must have come
ADVICE = "send less at a time"
CLOSED = (
    "<!doctype html><meta charset=utf-8><title>Guerdon studio</title>"
    "<p>This page wants its token: open the address that <code>guerdon view</code> printed, with <code>?token=...</code> at its"
    " end."
)


class Gate:
    """Before everything else. `local` answers only requests that name this machine as their host."""

    def __init__(self, app: ASGIApp, token: str | None, local: bool) -> None:
        self.inner, self.token, self.local = app, token, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return

        asked = Headers(scope=scope)
        has_body = "content-length" in asked or "transfer-encoding" in asked
        body = LimitedBody(receive, BODY, ADVICE, SECONDS)

        async def with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, rule in RULES.items():
                    headers[name] = rule
                headers.setdefault("cache-control", "no-store")
                if has_body and not body.whole:
                    headers["connection"] = "close"  # what may still come is not a request
            await send(message)

        refused = self._answer(scope, asked)
        if refused is None and (known := scope.get("state", {}).get(KNOWN)):
            known()
        await (refused or self.inner)(scope, body, with_rules)

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to clients that are refused, or admitted just now; None for allowed requests."""
        host = headers.get("host", "")
        if self.local and host_name(host) not in LOCAL:
            return refusal(403, f"this page answers only as {', '.join(LOCAL)}, not as {host_name(host)[:80]!r}")
        if self.token is not None and not self._is_known(headers):
            return self._at_the_door(scope)
        if scope["method"] not in ("GET", "HEAD"):
            if headers.get("sec-fetch-site", "same-origin") != "same-origin" or not _is_own(headers, host):
                return refusal(403, "only the page itself may ask for this")
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return refusal(415, "the body must be JSON: send the header 'Content-Type: application/json'")
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > BODY:
            return refusal(413, too_large(BODY, ADVICE))
        return None

    def _at_the_door(self, scope: Scope) -> Response:
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(asked).get("token", "")
        if scope["method"] == "GET" and given and self._is_token(given):
            rest = urlencode([(name, value) for name, value in asked if name != "token"])
            path = "/" + scope["path"].lstrip("/\\")
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            answer.set_cookie(cookie_name(scope), given, httponly=True, samesite="strict", path="/")
            return answer
        if scope["path"].startswith("/api/"):
            return refusal(401, "the token is missing or wrong: open the address that `guerdon view` printed")
        return Response(CLOSED, 401, media_type="text/html")

    def _is_known(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return any(self._is_token(each.value) for name, each in cookies.items() if name.startswith(COOKIE))

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), (self.token or "").encode())


COOKIE = "guerdon-studio-"


def cookie_name(scope: Scope) -> str:
    """One for each port: cookies are shared among those of a machine."""
    server = scope.get("server") or ("", 0)
    return f"{COOKIE}{server[1]}"


def _is_own(headers: Headers, host: str) -> bool:
    origin = headers.get("origin")
    return origin is None or origin == f"http://{host}"
