"""The runner: the application on a socket, until a signal ends it.

The first SIGTERM, SIGINT or SIGHUP: new requests get a 503, those under way are finished, for `grace` seconds at most; then the
workers are gone and the exit code is 0. The second ends at once.
Left out: TLS (put a proxy in front), several processes.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from guerdon.core.errors import UserError, require_extra

try:
    import httptools  # noqa: F401  # what reads requests: uvicorn would do without it
    import uvicorn
except ModuleNotFoundError as error:
    raise require_extra(error.name or "uvicorn", "serve") from error
from guerdon.bridges.serve.app import make_app
from guerdon.bridges.serve.logs import rate_limited_log
from guerdon.bridges.serve.scoring_queue import THREADS, ScoringQueue
from guerdon.bridges.serve.serve_limits import ServeLimits
from guerdon.network.connections import TAKEN, ConnectionTable, places_for
from guerdon.network.listening import WAITING, is_loopback, listening, url_of
from guerdon.rewards.formula.reward import Reward, as_reward


def serve(
    reward: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None,
    limits: ServeLimits | None = None,
    grace: float = 10.0,
    missing: float | None = None,
    tokenizer: Any = None,
    started: Callable[[str, Reward], None],
) -> None:
    """Serve until a signal comes. `started` is called with the URL and the formula once the socket is open."""
    if token is None and not is_loopback(host, port):
        raise UserError(f"{host} can be reached from other machines: a server without a token must stay on 127.0.0.1")
    formula = as_reward(reward)
    limits = limits or ServeLimits()
    limits = dataclasses.replace(limits, connections=places_for(limits.connections))
    app = make_app(formula, token=token, limits=limits, missing=missing, tokenizer=tokenizer)
    table = ConnectionTable(limits, app.state.queue.metrics.turned_away)
    with listening(host, port) as bound, rate_limited_log():
        config = uvicorn.Config(
            app,
            http=table.protocol(),
            ws="none",
            backlog=TAKEN,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=1,
        )
        started(url_of(bound), formula)
        server = _Server(config, app.state.queue, grace)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, server.handle_exit)
        server.run(sockets=[bound])
    _leave()


class _Server(uvicorn.Server):
    """uvicorn's server, but it keeps answering (503) while open requests are finished."""

    def __init__(self, config: uvicorn.Config, queue: ScoringQueue, grace: float) -> None:
        super().__init__(config)
        self.queue, self.grace, self.until = queue, grace, 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(WAITING)  # uvicorn has one number for those who wait and those taken up together

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.queue.closing:
            if sig == signal.SIGHUP:  # a terminal that is closed sends it twice, by itself and by its shell
                return
            os._exit(128 + sig)  # workers go with us: their template's socket closes
        self.queue.closing, self.until = True, time.monotonic() + self.grace

    async def on_tick(self, counter: int) -> bool:
        if self.queue.closing and not self.should_exit:
            late = time.monotonic() > self.until
            if late:
                self.queue.hurry()
            self.should_exit = late or not self.queue.under_way
        return await super().on_tick(counter)


def _leave() -> None:
    """End the workers; and the process, if a function that can not be stopped would keep it from ending."""
    from guerdon.workers.worker_pool import shared_pool

    shared_pool().close()
    until = time.monotonic() + 1.0
    for thread in [t for t in threading.enumerate() if t.name.startswith(THREADS)]:
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            print("warning: a function that is still running was left behind", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
