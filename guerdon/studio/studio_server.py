"""The studio on a socket, until a signal ends it. It stands behind the same limits of connections as `guerdon serve`."""

from __future__ import annotations

import dataclasses
import signal
import socket
from collections import Counter
from dataclasses import dataclass
from types import FrameType

from guerdon.core.errors import require_extra

try:
    import httptools  # noqa: F401  # what reads requests: uvicorn would do without it
    import uvicorn
except ModuleNotFoundError as error:
    raise require_extra(error.name or "uvicorn", "studio") from error
from fastapi import FastAPI

from guerdon.network.connections import TAKEN, ConnectionTable, places_for
from guerdon.network.listening import WAITING


@dataclass(frozen=True)
class StudioLimits:
    """As `ServeLimits` has them, for a page that a few people look at."""

    connections: int = 256  # open at the same time; who comes then takes the place of one that asks for nothing
    headers: float = 10.0  # seconds in which a request's headers must have come
    timeout: float = 60.0  # seconds in which an answer must be taken


def serve(app: FastAPI, bound: socket.socket) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second one does not wait."""
    limits = StudioLimits()
    table = ConnectionTable(dataclasses.replace(limits, connections=places_for(limits.connections)), Counter())
    config = uvicorn.Config(
        app,
        http=table.protocol(),
        backlog=TAKEN,
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    server = _Server(config)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, server.handle_exit)
    server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """uvicorn's server, but it ends event streams, which would never end by themselves."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(WAITING)  # uvicorn has one number for those who wait and those taken up together

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.app.state.watch.close()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # a studio that was asked to stop ended well
