"""A reward that is served elsewhere (`guerdon serve`), as a reward here: its outcomes keep their types on the way.

It asks for a whole step at once, groups unbroken, so a served reward may compare samples.
Left out: scores in steps (they arrive as their sum), and redirects, which could take the token to another host.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.network.addresses import LINE, check_address, in_one_line, key_in, without_key
from guerdon.network.retrying import FailedTry, patience, retry_after, try_patiently
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.text.answers import NOTHING, whole_json

if TYPE_CHECKING:
    from guerdon.network.client import Client

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
FIRST_PAUSE = 0.25  # seconds before the second try; then each time twice as long
LOST = 5  # retries after a lost connection: about 8 seconds for a server to restart
BUSY_TRIES = 1000  # a server that reports being busy is retried until the time is over


@part
class remote(Leaf):
    """The scores of the reward served at `url`: `gd.remote("http://127.0.0.1:8000")`.

    The token is read from the environment variable `token_env`. A request has `timeout` seconds for everything: to connect, be
    sent, be answered to the last byte, and be sent again to a server that is busy or whose connection was lost, after pauses
    that grow; then its samples *timed out*. A server that stays away, or answers with something other than scores: *failed*. A
    request that it refuses is a mistake that stops the run.

    Args:
        url: address of the served reward.
        token_env: environment variable that holds the token.
        timeout: seconds for a request with its retries.
        at_once: requests at a time.

    >>> import guerdon as gd
    >>> print(gd.remote("http://127.0.0.1:8000").weight(0.5) + gd.exact())
    0.5 * remote + exact
    """

    alone: ClassVar[bool] = False
    outside: ClassVar[bool] = True  # it asks another process: a dry run leaves it out

    url: str
    token_env: str = knob(default="GUERDON_TOKEN", hashed=False)
    timeout: float = knob(default=60.0, gt=0.0)
    most: int = knob(default=256, ge=1)  # samples of a request, unless one group has more
    at_once: int = knob(default=4, ge=1)

    def __post_init__(self) -> None:
        check_address("remote.url", self.url, "http://127.0.0.1:8000", "token_env")

    @property
    def waits(self) -> bool:
        return True

    async def score(self, samples: Samples) -> list[Outcome]:
        from guerdon.network.client import Client

        turn, outcomes = asyncio.Semaphore(self.at_once), [Outcome(Reason.FAILED)] * len(samples)
        token = key_in(self.token_env)

        async def ask(client: Client, places: Sequence[int]) -> None:
            async with turn:
                for n, outcome in zip(places, await self._chunk(client, samples.pick(places), token), strict=True):
                    outcomes[n] = outcome

        async with Client(self.url, self.at_once) as client:
            await asyncio.gather(*(ask(client, places) for places in _chunks(samples.group.tolist(), self.most)))
        return outcomes

    async def _chunk(self, client: Client, samples: Samples, token: str) -> list[Outcome]:
        sent = [_sent(fields) for fields in samples.fields]
        try:
            body = json.dumps({"samples": sent, "group": samples.group.tolist()}, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            return _all(samples, Reason.FAILED, f"{type(error).__name__}: a sample can not be sent as JSON: {error}")
        lost = 0

        async def attempt(seconds: float) -> list[Outcome] | FailedTry:
            nonlocal lost
            outcome = await self._try(client, body, samples, token, seconds)
            if isinstance(outcome, FailedTry) and not outcome.late:
                lost += 1
                return outcome if lost <= LOST else _all(samples, Reason.FAILED, outcome.error)
            return outcome

        trying = patience(self.at_once, self.timeout, BUSY_TRIES, FIRST_PAUSE, self.timeout)
        outcome = await try_patiently(trying, attempt)
        if isinstance(outcome, FailedTry):
            return _all(samples, Reason.TIMED_OUT if outcome.late else Reason.FAILED, outcome.error)
        return outcome

    async def _try(
        self, client: Client, body: bytes, samples: Samples, token: str, seconds: float
    ) -> list[Outcome] | FailedTry:
        """Scores, or what is wrong with them; or why there are none yet: late for a server that is busy, else it went away."""
        from guerdon.network.client import BadResponse, LostConnection

        try:
            most = MOST + len(samples) * MOST_EACH
            response = await client.post("/score", body, key=token, most=most, seconds=seconds)
        except TimeoutError:
            return FailedTry(f"TimeoutError: {self.url} gave no scores in {self.timeout:g} s", late=True)
        except LostConnection as error:
            kind, _, text = str(error).partition(": ")
            return FailedTry(f"{kind}: {self.url} did not answer: {text}")
        except BadResponse as error:
            return _all(samples, Reason.FAILED, f"{self.url} is not a Guerdon reward server: {error}")
        if response.status == 200:
            return self._outcomes(response.content, samples, token)
        reason = f"{response.status} {_error(response.content, token)}"
        if response.status in BUSY:
            pause = retry_after(response.headers.get("retry-after", ""))
            return FailedTry(f"{self.url} answered {reason}", late=True, pause=pause)
        return self._refused(response.status, reason, samples)

    def _refused(self, status: int, reason: str, samples: Samples) -> list[Outcome]:
        if status in LATE:
            return _all(samples, Reason.TIMED_OUT, f"{self.url} answered {reason}")
        if status >= 500 or status < 300:
            return _all(samples, Reason.FAILED, f"{self.url} answered {reason}")
        fix = f": set {self.token_env} to the server's token" if status == 401 else ""
        fix = ": give the address that it points to, for no token is taken elsewhere" if status < 400 else fix
        raise UserError(f"{self.url} refused to score: {reason}{fix}")

    def _outcomes(self, content: bytes, samples: Samples, token: str) -> list[Outcome]:
        try:
            answer = whole_json(content.decode())
        except UnicodeDecodeError:
            answer = NOTHING
        results = answer.get("results") if isinstance(answer, dict) else None
        if isinstance(results, list) and len(results) == len(samples):
            return [_outcome(result) for result in results]
        wrong = f"its answer has no results: {_error(content, token)}"
        if isinstance(results, list):
            wrong = f"it answered with {len(results)} results for {len(samples)} samples"
        return _all(samples, Reason.FAILED, f"{self.url} is not a Guerdon reward server: {wrong}")


def _error(content: bytes, token: str) -> str:
    """The reason a server gives, or the start of its reply, in a line; without the token, should it repeat it."""
    text = content.decode(errors="replace")
    answer = whole_json(text)
    reason = str(answer["error"]) if isinstance(answer, dict) and "error" in answer else text
    return in_one_line(without_key(reason, token))


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
    outcome = outcome_of(value)
    if type(value) not in (int, float) or outcome.reason is not Reason.VALUE:
        raise ValueError
    return outcome.value


def _shape(result: Any) -> str:
    """What a result has, in a line: it may be of any size."""
    if not isinstance(result, dict):
        return type(result).__name__
    shown = {k: f"{v!r:.40}" if _is_plain(v) else type(v).__name__ for k, v in list(result.items())[:4]}
    return ", ".join(f"{name[:20]} {value}" for name, value in shown.items())[:LINE]


def _flat(detail: Any) -> dict[str, Any]:
    """A detail of scalars, and of lists and tables of them: our servers send nothing that nests deeper."""
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


def _sent(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What of a sample is sent; its actions too where they are token ids, for rewards that count them."""
    sent = {name: value for name, value in fields.items() if name in SENT and value is not None}
    actions = np.asarray(fields.get("actions", ()))
    is_ids = actions.ndim == 1 and actions.dtype.kind in "iu" and "actions" in fields
    return {**sent, "actions": actions.tolist()} if is_ids else sent


def _all(samples: Samples, reason: Reason, error: str) -> list[Outcome]:
    return [Outcome(reason, detail={"error": error})] * len(samples)
