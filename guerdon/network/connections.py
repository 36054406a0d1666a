"""Connections: how much a caller may send before it asks, in what time, how many may be open, and who goes when more come.

For the servers of ours, `guerdon serve` and `guerdon view`. A client is unknown until one of its requests had the right token,
which the application reports by calling what its state has under `KNOWN`.
Where all places are taken the newest still gets one: the oldest stranger goes, else of those known the one idle longest.
A request under way with the right token is never given up for another.
Left out: the content of a request, and an address's share of the places, for behind a proxy all have one address.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import sys
from collections import Counter
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from guerdon.network.request_limits import KNOWN

HEAD = 64 << 10  # bytes of a request's first line and headers
FIELDS = 100  # headers of a request
AHEAD = 100  # requests that may be sent before the first of them is answered
TAKEN = 32  # connections that are taken up at a time: asyncio opens a file for each before it reports the first
RESERVED = 256  # open files that are not connections: workers, libraries, those just taken up


class ConnectionLimits(Protocol):
    """How many may be connected at a time, the seconds in which a request's headers must have come, and those in which an
    answer must be taken."""

    @property
    def connections(self) -> int: ...

    @property
    def headers(self) -> float: ...

    @property
    def timeout(self) -> float: ...


class ConnectionTable:
    """Who is connected. Belongs to the event loop's thread."""

    def __init__(self, limits: ConnectionLimits, turned_away: Counter[int]) -> None:
        self.limits, self.turned_away = limits, turned_away  # connections, by status
        self.strangers: dict[Connection, None] = {}  # the oldest first
        self.known: set[Connection] = set()
        self.idle: dict[
            Connection, None
        ] = {}  # of those known, the ones that ask for nothing now; the first since longest

    def enter(self, one: Connection) -> None:
        self.strangers[one] = None
        if len(self.strangers) + len(self.known) > self.limits.connections:
            oldest = next(iter(self.strangers))  # at least the newcomer
            goes = oldest if oldest is not one else next(iter(self.idle), one)
            goes.turn_away(503, "all connections are taken: come again in a second", retry=1)

    def know(self, one: Connection) -> None:
        if one in self.strangers:
            del self.strangers[one]
            self.known.add(one)

    def set_idle(self, one: Connection) -> None:
        if one in self.known:
            self.idle[one] = None

    def set_busy(self, one: Connection) -> None:
        self.idle.pop(one, None)

    def leave(self, one: Connection) -> None:
        self.strangers.pop(one, None)
        self.known.discard(one)
        self.idle.pop(one, None)

    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn is to make for each that comes."""
        return cast(type[asyncio.Protocol], partial(Connection, self))


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with an end to everything that it would wait for: headers, and the reading of answers."""

    def __init__(
        self,
        table: ConnectionTable,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.table = table
        self.whole = True  # all of the last request has come, its body too
        self.unasked = 0  # bytes since then
        self.weight = 0  # bytes of this request's line and headers
        self.until_asked: asyncio.TimerHandle | None = None
        self.until_read: asyncio.TimerHandle | None = None

    @property
    def under_way(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # --- coming and going ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that writing is paused whenever something is unread
        self._listen()
        self.table.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.table.leave(self)
        for timer in (self.until_asked, self.until_read):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def turn_away(self, status: int, error: str, retry: int | None = None) -> None:
        """Send the reason, and close. It never waits: what cannot be sent at once is dropped."""
        self.table.leave(self)
        if self.transport.is_closing():
            return
        self.table.turned_away[status] += 1
        content = json.dumps({"error": error})
        again = "" if retry is None else f"retry-after: {retry}\r\n"
        self.transport.write(
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n{again}"
            f"content-length: {len(content)}\r\nconnection: close\r\n\r\n{content}".encode()
        )
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    # --- being asked --------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.under_way or self.transport.is_closing():
            return
        self.unasked += len(data) if self.whole else 0  # else it is the rest of a body that was refused
        if self.unasked > HEAD:
            self.turn_away(431, _too_large())
        else:
            self._listen()

    def _listen(self) -> None:
        """From the first byte on, or from the beginning, a request has so long to be whole up to its body."""
        if self.until_asked is None:
            self.until_asked = self.loop.call_later(self.table.limits.headers, self._late)

    def _late(self) -> None:
        self.turn_away(408, f"no whole request within {self.table.limits.headers:g} s")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.weight = 0
        self.scope["state"][KNOWN] = self._known

    def _known(self) -> None:
        self.table.know(self)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._weigh(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:  # also what comes after a body in chunks
        super().on_header(name, value)
        self._weigh(len(name) + len(value))

    def _weigh(self, more: int) -> None:
        self.weight += more
        if self.weight > HEAD or len(self.headers) > FIELDS:
            raise ValueError(_too_large())  # which ends in `send_400_response`

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if len(self.pipeline) > AHEAD:
            raise ValueError(f"more than {AHEAD} requests ahead of their answers")
        self.whole, self.unasked = False, 0
        if self.until_asked is not None:
            self.until_asked.cancel()
            self.until_asked = None
        self.table.set_busy(self)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.whole = True

    def send_400_response(self, msg: str) -> None:
        too_large = self.weight > HEAD or len(self.headers or ()) > FIELDS
        self.turn_away(431, _too_large()) if too_large else self.turn_away(400, "this is not an HTTP request")

    # --- answering ----------------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()  # no more, until those that are here have their turn
        elif not self.under_way:
            self.table.set_idle(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.until_read = self.loop.call_later(self.table.limits.timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.until_read is not None:
            self.until_read.cancel()


def _too_large() -> str:
    return f"a request's first line and headers may be {HEAD:,} bytes and {FIELDS} headers"


def places_for(connections: int) -> int:
    """How many connections the limit on open files leaves room for, after it was raised as far as it may be."""
    wanted = connections + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):  # some systems allow less than they report
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    room = max(1, soft - min(RESERVED, soft // 2))
    print(f"warning: {soft} files may be open, so {room} connections (ulimit -n raises it)", file=sys.stderr)
    return room
