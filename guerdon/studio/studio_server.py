"""The studio on a socket, until a signal ends it."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from guerdon.core.errors import require_extra

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise require_extra("uvicorn", "studio") from error
from fastapi import FastAPI


def serve(app: FastAPI, bound: socket.socket) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second one does not wait for anybody."""
    config = uvicorn.Config(
        app,
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
    """uvicorn's server, but event streams, which would never end by themselves, are told to."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.app.state.watch.close()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # a studio that was asked to stop ended well
