"""What the tests of the reward server share: rewards to serve, the application in this process, a server in one of its own.

Most tests ask the application itself (`in_process`). A server with sockets (`serving`) is for those about sockets, signals,
the command line and other clients.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from started import Started

TOKEN = "a-token-for-tests"

REWARDS = """
import asyncio
import time
from pathlib import Path

import guerdon as gd


@gd.reward(isolate=False)
def plain(completion):
    return float(completion)


def apart(completion):
    return 2 * float(completion)


async def later(completion):
    await asyncio.sleep(0.001)
    return 3 * float(completion)


def odd(completion):
    if completion == "raise":
        raise ValueError("no good")
    if completion == "late":
        raise TimeoutError
    if completion == "nan":
        return float("nan")
    if completion == "none":
        return None
    return gd.Score(float(completion), why="a number", parts={"strange": float("nan")})


@gd.reward(isolate=False)
def held(completion, gate=""):
    while gate and not Path(gate).exists():
        time.sleep(0.005)
    return float(completion)


async def held_later(completion, gate=""):
    while gate and not Path(gate).exists():
        await asyncio.sleep(0.005)
    return float(completion)


def needs_run(episode):
    return 1.0


mixed = gd.blend(plain=plain, apart=apart, later=later)
waits = gd.blend(held_later=held_later, apart=apart)
relative = gd.normalised(plain, scale=False)
brief = gd.exact() + gd.length(2, margin=2).weight(0.5)
"""


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text, parse_constant=_no_nan)

    @property
    def error(self) -> str:
        (said,) = self.json.values()
        assert list(self.json) == ["error"] and "\n" not in said
        return str(said)


def _no_nan(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


class Askable(abc.ABC):
    """A reward that is served, and how to ask it."""

    def ask(self, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str) -> Reply:
        """POST where there is a body: bytes as they are, anything else as JSON."""
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("GET" if body is None else "POST", path, body, {k: v for k, v in sent.items() if v})

    @abc.abstractmethod
    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply: ...

    def score(self, *completions: str, **fields: Any) -> Reply:
        return self.ask("/score", {"samples": [{"completion": c, **fields} for c in completions]})

    def metric(self, line: str) -> float:
        """The number after a line of `/metrics`."""
        lines = dict(x.rsplit(" ", 1) for x in self.ask("/metrics").text.splitlines() if not x.startswith("#"))
        return float(lines.get(line, "0"))

    def wait_for(self, **gauges: int) -> None:
        until(lambda: all(self.metric(f"guerdon_requests_{name}") == n for name, n in gauges.items()))


@dataclass
class Served(Askable):
    """A server with a socket of its own."""

    process: Started
    url: str
    said: dict[str, Any]

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        finally:
            connection.close()


class Application(Askable):
    """The application in this process, in an event loop of its own, so that many threads may ask it at once."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.app, self.loop = app, loop

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        return asyncio.run_coroutine_threadsafe(self._send(method, path, body, headers), self.loop).result(60)

    async def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        import httpx

        async def parts() -> Any:
            for start in range(0, len(body or b""), 4096):
                yield (body or b"")[start : start + 4096]

        # a length that is not said: in chunks, which only a server with a socket takes apart
        content = parts() if headers.pop("Transfer-Encoding", "") else body
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.request(method, path, content=content, headers=headers)
        return Reply(answer.status_code, dict(answer.headers), answer.text)


def until(done: Callable[[], bool]) -> None:
    for _ in range(12_000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to pass")


@contextlib.contextmanager
def in_process(
    folder: Path,
    reward: str,
    token: str | None = TOKEN,
    missing: float | None = None,
    tokenizer: Any = None,
    **limits: float,
) -> Iterator[Application]:
    """The application alone, with these limits."""
    from guerdon.bridges.serve.app import make_app
    from guerdon.bridges.serve.serve_limits import ServeLimits
    from guerdon.rewards.asking.by_name import find_reward

    (folder / "my.py").write_text(REWARDS)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        formula = find_reward(f"{folder}/my.py:{reward}")
        app = make_app(formula, token=token, missing=missing, limits=ServeLimits(**limits), tokenizer=tokenizer)
        yield Application(app, loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def serving(
    folder: Path, reward: str, *words: str, rewards: str = REWARDS, files: int | None = None
) -> Iterator[Served]:
    """`guerdon serve` in a process of its own, on a free port; `files`: how many it may open at its start."""
    (folder / "my.py").write_text(rewards)
    command = ["serve", f"my.py:{reward}", "--port", "0", "--json", *words]
    process = Started(command, folder, {**os.environ, "GUERDON_TOKEN": TOKEN}, files)
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        said = json.loads(line)
        yield Served(process, said["url"], said)
    finally:
        process.close()
