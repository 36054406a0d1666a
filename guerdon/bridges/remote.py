"""A reward that is served elsewhere (`guerdon serve`), as a reward here: its outcomes keep their types on the way.

It asks for a whole step at once, groups unbroken, so a served reward may compare samples. Left out: scores in steps (they
arrive as their sum) and following redirects, which could take the token to another host.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import check_knobs, knob, part
from guerdon.rewards.function import Leaf
from guerdon.rewards.samples import Samples
from guerdon.rewards.scores import Outcome

SENT = (
    "prompt",
    "completion",
    "answer",
    "meta",
    "level",
    "role",
    "turns",
)  # what of a sample is more than this process's
BUSY = (429, 503)
LATE = (408, 504)


@part
class remote(Leaf):
    """What the reward served at `url` says: `gd.remote("http://127.0.0.1:8000")`.

    The token is read from the environment variable `token_env`. A server that is busy is asked again for `timeout`
    seconds; then, or if it does not answer in that time, the samples *timed out*. One that is away or broken: *failed*.
    A request that the server refuses is a mistake that stops the run.
    """

    alone: ClassVar[bool] = False

    url: str
    token_env: str = knob(default="GUERDON_TOKEN", hashed=False)
    timeout: float = knob(default=60.0, gt=0.0)
    most: int = knob(default=256, ge=1)  # samples of a request, unless one group has more
    at_once: int = knob(default=4, ge=1)

    def __post_init__(self) -> None:
        check_knobs(self)
        if self._place.scheme not in ("http", "https") or not self._place.hostname:
            raise UserError(f"remote.url must be like http://127.0.0.1:8000, not {self.url!r}")

    @property
    def _place(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def waits(self) -> bool:
        return True

    async def score(self, samples: Samples) -> list[Outcome]:
        turn, found = asyncio.Semaphore(self.at_once), [Outcome(Reason.FAILED)] * len(samples)

        async def ask(chunk: Sequence[int]) -> None:
            async with turn:
                for n, outcome in zip(chunk, await self._chunk(samples.pick(chunk)), strict=True):
                    found[n] = outcome

        await asyncio.gather(*(ask(chunk) for chunk in _chunks(samples.group.tolist(), self.most)))
        return found

    async def _chunk(self, samples: Samples) -> list[Outcome]:
        sent = [{k: v for k, v in fields.items() if k in SENT and v is not None} for fields in samples.fields]
        try:
            body = json.dumps({"samples": sent, "group": samples.group.tolist()}, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            return _all(samples, Reason.FAILED, f"{type(error).__name__}: a sample can not be sent as JSON: {error}")
        until, last = time.monotonic() + self.timeout, "TimeoutError"
        while (left := until - time.monotonic()) > 0:
            try:
                status, headers, content = await asyncio.to_thread(self._post, body, left)
            except TimeoutError:
                break
            except (OSError, http.client.HTTPException) as error:
                return _all(samples, Reason.FAILED, f"{type(error).__name__}: {self.url} did not answer: {error}")
            if status == 200:
                return self._outcomes(content, samples)
            last = f"{status} {_error(content)}"
            if status not in BUSY:
                return self._refused(status, last, samples)
            await asyncio.sleep(min(left, _seconds(headers.get("retry-after"))))
        return _all(samples, Reason.TIMED_OUT, f"{self.url} gave no scores in {self.timeout:g} s: {last}")

    def _post(self, body: bytes, seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        place, secure = self._place, self._place.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(str(place.hostname), place.port, timeout=seconds)
        headers = {"Content-Type": "application/json"}
        if token := os.environ.get(self.token_env):
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request("POST", place.path.rstrip("/") + "/score", body, headers)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def _refused(self, status: int, said: str, samples: Samples) -> list[Outcome]:
        if status in LATE:
            return _all(samples, Reason.TIMED_OUT, f"{self.url} answered {said}")
        if status >= 500:
            return _all(samples, Reason.FAILED, f"{self.url} answered {said}")
        mend = f": set {self.token_env} to the server's token" if status == 401 else ""
        raise UserError(f"{self.url} refused to score: {said}{mend}")

    def _outcomes(self, content: bytes, samples: Samples) -> list[Outcome]:
        try:
            results = json.loads(content)["results"]
            found = [_outcome(result) for result in results]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self.url} is no Guerdon reward server: its answer has no results") from error
        if len(found) != len(samples):
            raise UserError(f"{self.url} answered with {len(found)} results for {len(samples)} samples")
        return found


def _outcome(result: Mapping[str, Any]) -> Outcome:
    reason = Reason[result["reason"].upper()]
    if reason is not Reason.VALUE:
        return Outcome(reason, detail=result["detail"])
    parts = {name: part["value"] for name, part in result["components"].items() if part["value"] is not None}
    own = result["detail"] if isinstance(result["detail"], Mapping) else {}
    return Outcome(reason, float(result["value"]), {**own, **({"parts": parts} if parts else {})} or None)


def _chunks(group: Sequence[int], most: int) -> list[list[int]]:
    """Places of samples, whole groups together, at most so many unless one group has more."""
    places: dict[int, list[int]] = {}
    for n, g in enumerate(group):
        places.setdefault(g, []).append(n)
    chunks: list[list[int]] = []
    for own in places.values():
        if not chunks or len(chunks[-1]) + len(own) > most:
            chunks.append([])
        chunks[-1] += own
    return chunks


def _all(samples: Samples, reason: Reason, error: str) -> list[Outcome]:
    return [Outcome(reason, detail={"error": error})] * len(samples)


def _error(content: bytes) -> str:
    """The reason a server gives, or the start of whatever it says."""
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return content[:200].decode(errors="replace")


def _seconds(header: str | None) -> float:
    """`Retry-After`, where it is a number."""
    return min(60.0, float(header)) if header is not None and header.isdigit() else 1.0
