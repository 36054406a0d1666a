"""A reward that is served elsewhere (`guerdon serve`), as a reward here: its outcomes keep their types on the way.

It asks for a whole step at once, groups unbroken, so a served reward may compare samples. Left out: scores in steps (they
arrive as their sum) and following redirects, which could take the token to another host.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from guerdon.bridges.exchange import BadReply, Reply, post
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.text.extracting import NOTHING, whole_json

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
MOST = 4 << 20  # bytes of an answer ...
MOST_EACH = 64 << 10  # ... and so many more for each sample in it
PAUSES = (0.25, 60.0)  # seconds between two tries, at least and at most
LINE = 200  # characters of what a server says about itself


@part
class remote(Leaf):
    """What the reward served at `url` says: `gd.remote("http://127.0.0.1:8000")`.

    The token is read from the environment variable `token_env`. A request has `timeout` seconds for everything: to connect, be
    sent, be answered to the last byte, and be sent again to a server that is busy; then its samples *timed out*. A server
    that is away, or answers with what is no scores: *failed*. A request that it refuses is a mistake that stops the run.
    """

    alone: ClassVar[bool] = False

    url: str
    token_env: str = knob(default="GUERDON_TOKEN", hashed=False)
    timeout: float = knob(default=60.0, gt=0.0)
    most: int = knob(default=256, ge=1)  # samples of a request, unless one group has more
    at_once: int = knob(default=4, ge=1)

    def __post_init__(self) -> None:
        try:
            place = self._place
            good = place.scheme in ("http", "https") and place.hostname and place.port != 0
            str(place.hostname).encode("idna")
        except ValueError:  # brackets that do not close, a port or a name that is none
            good = False
        if not good or not (self.url.isascii() and self.url.isprintable() and " " not in self.url):
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
        last = "TimeoutError"
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    reply = await self._post(body, len(samples))
                    if reply.status == 200:
                        return self._outcomes(reply.content, samples)
                    last = f"{reply.status} {self._error(reply.content)}"
                    if reply.status not in BUSY:
                        return self._refused(reply.status, last, samples)
                    await asyncio.sleep(_seconds(reply.headers.get("retry-after", "")))
        except TimeoutError:
            return _all(samples, Reason.TIMED_OUT, f"{self.url} gave no scores in {self.timeout:g} s: {last}")
        except BadReply as error:
            return _all(samples, Reason.FAILED, f"{self.url} is no Guerdon reward server: {error}")
        except OSError as error:
            return _all(samples, Reason.FAILED, f"{type(error).__name__}: {self.url} did not answer: {error}")

    async def _post(self, body: bytes, samples: int) -> Reply:
        headers = {"Content-Type": "application/json"}
        if token := os.environ.get(self.token_env):
            if not (token.isascii() and token.isprintable() and " " not in token):
                raise UserError(f"the environment variable {self.token_env} holds something that cannot be a token")
            headers["Authorization"] = f"Bearer {token}"
        path = self._place.path.rstrip("/") + "/score"
        return await post(self._place, path, headers, body, MOST + samples * MOST_EACH)

    def _refused(self, status: int, said: str, samples: Samples) -> list[Outcome]:
        if status in LATE:
            return _all(samples, Reason.TIMED_OUT, f"{self.url} answered {said}")
        if status >= 500 or status < 300:
            return _all(samples, Reason.FAILED, f"{self.url} answered {said}")
        mend = f": set {self.token_env} to the server's token" if status == 401 else ""
        mend = ": give the address that it points to, for no token is taken elsewhere" if status < 400 else mend
        raise UserError(f"{self.url} refused to score: {said}{mend}")

    def _error(self, content: bytes) -> str:
        """The reason a server gives, or the start of whatever it says, in a line; without the token, should it repeat it."""
        text = content.decode(errors="replace")
        found = whole_json(text)
        said = str(found["error"]) if isinstance(found, dict) and "error" in found else text
        token = os.environ.get(self.token_env)
        said = " ".join((said.replace(token, "***") if token else said).split())
        return said if len(said) <= LINE else f"{said[:LINE]}..."

    def _outcomes(self, content: bytes, samples: Samples) -> list[Outcome]:
        try:
            answer = whole_json(content.decode())
        except UnicodeDecodeError:
            answer = NOTHING
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list):
            raise BadReply(f"its answer has no results: {self._error(content)}")
        if len(results) != len(samples):
            raise BadReply(f"it answered with {len(results)} results for {len(samples)} samples")
        return [_outcome(result) for result in results]


def _outcome(result: Any) -> Outcome:
    """A result as it came, typed; one that is none is *failed*."""
    try:
        reason, value, detail = Reason[result["reason"].upper()], result["value"], _flat(result["detail"])
        parts = {
            name: _number(part["value"]) for name, part in result["components"].items() if part["value"] is not None
        }
        if reason is Reason.VALUE:
            detail |= {"parts": parts} if parts else {}
            return Outcome(reason, _number(value), detail or None)
        if value is not None:
            raise ValueError(value)
    except (LookupError, TypeError, ValueError, AttributeError):
        return Outcome(Reason.FAILED, detail={"error": f"ValueError: the server's result is none: {_shape(result)}"})
    return Outcome(reason, detail=detail or None)


def _number(value: Any) -> float:
    found = outcome_of(value)
    if type(value) not in (int, float) or found.reason is not Reason.VALUE:
        raise ValueError
    return found.value


def _shape(result: Any) -> str:
    """What a result has, in a line: it may be of any size."""
    if not isinstance(result, dict):
        return type(result).__name__
    shown = {k: f"{v!r:.40}" if _is_plain(v) else type(v).__name__ for k, v in list(result.items())[:4]}
    return ", ".join(f"{name[:20]} {value}" for name, value in shown.items())[:LINE]


def _flat(detail: Any) -> dict[str, Any]:
    """A detail of scalars, and of lists and tables of them: what nests deeper is nothing that a server of ours says."""
    if not isinstance(detail, dict):
        return {} if detail is None else {"why": str(detail)}
    return {name: value for name, value in detail.items() if all(map(_is_plain, _inside(value)))}


def _inside(value: Any) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


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


def _seconds(header: str) -> float:
    """`Retry-After`, where it is a number, within bounds."""
    least, most = PAUSES
    return min(most, max(least, float(header[:9]))) if header.isdecimal() else 1.0
