"""What the tests of the reward server share: rewards to serve, a server in a process of its own, and a plain client."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    raise AssertionError(f"{word} is no JSON")


@dataclass
class Served:
    """A server that runs, and how to ask it."""

    process: subprocess.Popen[str]
    url: str
    said: dict[str, Any]

    def ask(self, path: str, body: Any = None, *, token: str | None = TOKEN, **headers: str) -> Reply:
        """POST where there is a body: bytes as they are, anything else as JSON."""
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request("GET" if body is None else "POST", path, body, {k: v for k, v in sent.items() if v})
            found = connection.getresponse()
            return Reply(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read().decode())
        finally:
            connection.close()

    def score(self, *completions: str, **fields: Any) -> Reply:
        return self.ask("/score", {"samples": [{"completion": c, **fields} for c in completions]})

    def metric(self, line: str) -> float:
        """The number after a line of `/metrics`."""
        lines = dict(x.rsplit(" ", 1) for x in self.ask("/metrics").text.splitlines() if not x.startswith("#"))
        return float(lines.get(line, "0"))

    def wait_for(self, **gauges: int) -> None:
        until(lambda: all(self.metric(f"guerdon_requests_{name}") == n for name, n in gauges.items()))


def until(done: Callable[[], bool]) -> None:
    for _ in range(2000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to pass")


@contextlib.contextmanager
def serving(folder: Path, reward: str, *words: str, rewards: str = REWARDS) -> Iterator[Served]:
    (folder / "my.py").write_text(rewards)
    process = subprocess.Popen(
        [sys.executable, "-m", "guerdon.cli.main", "serve", f"my.py:{reward}", "--port", "0", "--json", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GUERDON_TOKEN": TOKEN},
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        said = json.loads(line)
        yield Served(process, said["url"], said)
    finally:
        process.kill()
        process.communicate()
