"""The HTTP client: one request, and an answer of which no more is read than was agreed, in no more time.

httpx makes the requests, over connections that count what comes in (`_Counted`):
a body's length is only a promise, and headers or answers like `100 Continue` have no end of their own.
Left out: redirects (they could take a key to another host), compression (it hides how much comes), trying again
(`retrying.py`). Proxies are those of the environment, as for other programs: HTTPS_PROXY, NO_PROXY and the like; this
machine is asked directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from guerdon.core.errors import UserError, require_extra

try:
    import httpcore
    import httpx
except ModuleNotFoundError as error:
    raise require_extra("httpx", "remote") from error

MOST_BEFORE = 256 << 10  # bytes of headers, and of answers like `100 Continue`, before the answer itself begins


class LostConnection(Exception):
    """The server is unreachable or closed the connection: in one line that begins with the kind of error."""


class BadResponse(Exception):
    """The reply is not an answer, or too long: in one line."""


class Response(NamedTuple):
    """An answer that came whole."""

    status: int
    headers: Mapping[str, str]  # names in any case
    content: bytes


class Client:
    """Requests to one address, at most `at_once` of them under way. Belongs to the event loop it is first used in."""

    def __init__(self, url: str, at_once: int) -> None:
        self.url = url.rstrip("/")
        self._httpx = httpx.AsyncClient(transport=_Transport(_pool(url, at_once)), timeout=None, follow_redirects=False)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._httpx.aclose()

    async def post(self, path: str, body: bytes, *, key: str, most: int, seconds: float) -> Response:
        """Send JSON, with the key if there is one, and read an answer of at most so many bytes.

        Raises LostConnection, BadResponse, or TimeoutError when `seconds` are over, whatever is happening then.
        """
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        allowance = _Allowance(MOST_BEFORE)
        _ALLOWANCE.set(allowance)
        async with asyncio.timeout(seconds):
            with _told(allowance):
                async with self._httpx.stream("POST", self.url + path, content=body, headers=headers) as response:
                    allowance.left += most
                    if (packed := response.headers.get("content-encoding", "identity").lower()) != "identity":
                        raise BadResponse(f"it is compressed ({packed[:20]}), which was not asked for")
                    content = bytearray()
                    async for block in response.aiter_raw():
                        content += block
                        if len(content) > most:
                            raise BadResponse(f"it is larger than {most:,} bytes, which is more than any answer is")
                    return Response(response.status_code, response.headers, bytes(content))


# --- what is read is counted ------------------------------------------------------------------------------------------


@dataclass
class _Allowance:
    """What an exchange may still read, headers and the frames of chunks included."""

    left: int
    closed: bool = False  # the other side closed the connection

    def take(self, block: bytes) -> None:
        self.left -= len(block)
        self.closed = not block
        if self.left < 0:
            raise BadResponse("more comes than belongs to any answer")


_ALLOWANCE: ContextVar[_Allowance] = ContextVar("allowance")  # a connection serves one exchange after another


class _Counted(httpcore.AsyncNetworkStream):
    """A connection that takes what it reads from the allowance of the exchange that reads."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self.stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        block = await self.stream.read(max_bytes, timeout)
        _ALLOWANCE.get().take(block)
        return block

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self.stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Counted(await self.stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


class _Network(httpcore.AnyIOBackend):
    """Opens connections that count."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Counted(await super().connect_tcp(host, port, timeout, local_address, socket_options))


# --- httpx over such connections --------------------------------------------------------------------------------------


def _pool(url: str, at_once: int) -> httpcore.AsyncConnectionPool:
    """Connections to an address, through the proxy that the environment names for it."""
    place = urlsplit(url)
    tls = httpx.create_ssl_context() if place.scheme == "https" else None
    shared: dict[str, Any] = {"ssl_context": tls, "max_connections": at_once, "network_backend": _Network()}
    proxies = urllib.request.getproxies()
    proxy = proxies.get(place.scheme, proxies.get("all"))
    if not proxy or _is_here(str(place.hostname)) or urllib.request.proxy_bypass(str(place.hostname)):
        return httpcore.AsyncConnectionPool(**shared)
    try:
        named = httpx.Proxy(proxy)
        socks = named.url.scheme.startswith("socks")
        kind = httpcore.AsyncSOCKSProxy if socks else httpcore.AsyncHTTPProxy
        return kind(str(named.url), proxy_auth=named.raw_auth, **shared)
    except (ValueError, RuntimeError, httpx.InvalidURL) as error:  # RuntimeError: socksio is not installed
        raise UserError(f"the proxy that the environment names for {place.hostname} cannot be used: {error}") from None


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Transport(httpx.AsyncBaseTransport):
    """What carries httpx's requests. Its own has no place for connections that count."""

    def __init__(self, pool: httpcore.AsyncConnectionPool) -> None:
        self.pool = pool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = httpcore.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        answer = await self.pool.handle_async_request(sent)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer.stream))

    async def aclose(self) -> None:
        await self.pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self.stream:
            yield block

    async def aclose(self) -> None:
        await self.stream.aclose()


@contextlib.contextmanager
def _told(allowance: _Allowance) -> Iterator[None]:
    """What goes wrong on the way, as one of two: the connection was lost, or the reply is not an answer."""
    try:
        yield
    except httpcore.RemoteProtocolError as error:
        if allowance.closed:
            raise LostConnection("ConnectionError: the connection was closed before the answer was whole") from None
        raise BadResponse(f"this is not HTTP: {error}") from None
    except (httpcore.NetworkError, httpcore.ProxyError) as error:
        first = _first(error)
        raise LostConnection(f"{type(first).__name__}: {first}") from None
    except (httpcore.LocalProtocolError, httpcore.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise BadResponse(f"{type(error).__name__}: {error}") from None


def _first(error: BaseException) -> BaseException:
    """The system's message, which httpcore has reworded twice."""
    first, before = error, error.__cause__ or error.__context__
    while before is not None:
        first, before = (before if isinstance(before, OSError) else first), before.__cause__ or before.__context__
    return first
