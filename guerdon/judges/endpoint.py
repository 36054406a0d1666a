"""Answers from any server that speaks OpenAI's chat completions over HTTP: many at once, tried again, paid for and counted.

The key is read from the environment for each round of questions and goes into the request alone: it is no field, in no
cache, event or message, and is struck out of whatever a server says back. Left out: streaming, tools, images.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import email.utils
import json
import math
import os
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from guerdon.core.errors import RunStopped, UserError, require_extra
from guerdon.core.model import Model
from guerdon.core.part import knob, live, part, state
from guerdon.core.task import Sampling
from guerdon.judges.answerer import Answer, Asked, added
from guerdon.judges.cache import Keep, Remembering
from guerdon.judges.spending import Purse
from guerdon.rewards.text.extracting import whole_json

MOST = 4 << 20  # bytes of an answer ...
MOST_EACH = 8 << 10  # ... and so many more for each token that was asked for, with its alternatives
REFUSED = {401: "refused the key", 403: "refused the key", 404: "knows no such model or address"}
TRY_AGAIN = {408, 409, 425, 429}  # and all that begin with 5
LONGEST = 60.0  # seconds between two tries, unless the server asks for more ...
LONGEST_ASKED = 600.0  # ... which is believed up to here
ALTERNATIVES = 20  # log-probs of so many tokens are asked for: the most that OpenAI gives
OVERHEAD = 64  # tokens that a chat template may add to a message
MILLION = 1e6
LARGEST_COUNT = 10_000_000  # tokens: no question takes more, whatever a server says
ROUNDING = 1e-3  # by so much a log-prob may be above 0


@part
class patience:
    """How an endpoint is tried: `at_once` requests under way, `timeout` seconds for each try from its first byte to its last,
    `retries` more tries after a lost connection, a 429 or a server's error. Before the first of them it waits about `wait`
    seconds, then each time twice as long; where the server says how long (`Retry-After`), at least that. `total` seconds are
    for all tries of a question and the waits between them."""

    at_once: int = knob(default=16, ge=1)
    timeout: float = knob(default=60.0, gt=0.0)
    retries: int = knob(default=5, ge=0)
    wait: float = knob(default=1.0, gt=0.0)
    total: float = knob(default=600.0, gt=0.0, absent=600.0)


def _brief() -> Sampling:
    return Sampling(temperature=0.0, max_tokens=512)


@part
class endpoint(Remembering):
    """A model behind an OpenAI-compatible server: `endpoint("https://api.openai.com/v1", "gpt-4.1-mini", "OPENAI_API_KEY")`.

    `key_env` names the environment variable that holds the key; the key itself is never given here. `prices` are for a
    million tokens in and out. With `max_cost` the run stops before a question that could take what it spent beyond it.
    Answers are kept in `cache`: a file, True for the default place, False for none.
    """

    url: str
    model: str
    key_env: str = knob(default="", hashed=False)
    sampling: Sampling = knob(factory=_brief)
    prices: tuple[float, float] = knob(default=(0.0, 0.0), hashed=False)
    max_cost: float | None = knob(default=None, ge=0.0, hashed=False)
    cache: bool | str = knob(default=True, hashed=False)
    trying: patience = knob(factory=patience, hashed=False)

    spent: float = state(default=0.0)
    rooms: Any = live()  # event loop: what is shared by all who ask in it

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            parts = urlsplit(self.url)
            found = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # brackets that do not close, a port that is none
            raise UserError("endpoint.url is no address: it should be like http://127.0.0.1:8000/v1") from None
        if not found:
            raise UserError(f"endpoint.url must be an address such as http://127.0.0.1:8000/v1, not {parts.path!r}")
        if parts.username or parts.password or parts.query:
            raise UserError(
                "endpoint.url may hold no password or key: put the key into an environment variable, key_env=NAME"
            )
        if len(self.prices) != 2 or min(self.prices) < 0:
            raise UserError(
                f"endpoint.prices must be two numbers, for a million tokens in and out, not {self.prices!r}"
            )

    def who(self, models: Mapping[str, Model]) -> dict[str, Any]:
        return {"url": self.url.rstrip("/"), "model": self.model}

    async def fetch(self, asked: Sequence[Asked], models: Mapping[str, Model], keep: Keep) -> list[Answer]:
        key = self._key_now()
        async with self._room() as room:
            jobs = [self._one(room, each, key, place, keep) for place, each in enumerate(asked)]
            found = await asyncio.gather(*jobs, return_exceptions=True)  # what is under way is paid for: let it end
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return [each for each in found if isinstance(each, Answer)]

    async def _one(self, room: _Room, asked: Asked, key: str, place: int, keep: Keep) -> Answer:
        async with room.seats:
            answer = await self._patiently(room, asked, key)
            keep(place, answer)
            return answer

    async def _patiently(self, room: _Room, asked: Asked, key: str) -> Answer:
        """Try, and try again where that may help and there is time."""
        trying, now = self.trying, asyncio.get_running_loop().time
        until, turn = now() + trying.total, 0
        while True:
            async with room.purse.set_aside(self._worst(asked), self._left, self._refusal):
                found = await self._try(room, asked, key, max(0.0, min(trying.timeout, until - now())))
                self.spent += found.cost
            if isinstance(found, Answer):
                return found
            pause = max(found.pause, min(LONGEST, trying.wait * 2**turn) * random.Random().uniform(0.5, 1.5))
            turn += 1
            if turn > trying.retries or now() + pause >= until:
                break
            await asyncio.sleep(pause)
        why = "" if turn > trying.retries else f", and another try would end after {trying.total:g} s"
        return Answer(error=f"{self.model}: {found.what}, tried {_times(turn)}{why}", late=found.late)

    async def _try(self, room: _Room, asked: Asked, key: str, seconds: float) -> Answer | _Trouble:
        import httpx

        try:
            async with asyncio.timeout(seconds):
                status, headers, content = await self._exchange(room, asked, key)
        except TimeoutError:
            return _Trouble(f"no answer in {seconds:.3g} s", late=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return _Trouble(_short(_without(f"{type(error).__name__} {error}", key)))
        except _TooLarge as error:
            return _Trouble(str(error))
        said = _without(content.decode(errors="replace"), key)
        if status in REFUSED:
            named = f" (${self.key_env})" if self.key_env else ""
            raise UserError(f"{self.url} {REFUSED[status]}{named} for {self.model!r} ({status}): {_short(said)}")
        if status in TRY_AGAIN or status >= 500:
            return _Trouble(f"status {status}", pause=_retry_after(headers.get("retry-after", "")))
        if status != 200:
            return Answer(error=f"{self.model}: status {status}: {_short(said)}")
        return self._read(asked, said if _is_text(content) else "")

    async def _exchange(self, room: _Room, asked: Asked, key: str) -> tuple[int, Mapping[str, str], bytes]:
        """One request, and its answer as far as it may go. It comes uncompressed: what is packed hides how much it is."""
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        body = json.dumps(self._body(asked)).encode()  # not httpx's: half of a surrogate pair must not break it
        most, found = MOST + MOST_EACH * self.how(asked).max_tokens, bytearray()
        url = f"{self.url.rstrip('/')}/chat/completions"
        async with room.client.stream("POST", url, content=body, headers=headers) as response:
            async for block in response.aiter_raw():
                found += block
                if len(found) > most:
                    raise _TooLarge(f"an answer of more than {most:,} bytes")
            return response.status_code, response.headers, bytes(found)

    def _body(self, asked: Asked) -> dict[str, Any]:
        how = self.how(asked)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in asked.messages],
            "temperature": how.temperature,
            "max_tokens": how.max_tokens,
        }
        if how.top_p < 1:
            body["top_p"] = how.top_p
        if how.stop:
            body["stop"] = list(how.stop)
        if how.temperature:
            body["seed"] = asked.seed % 2**31
        if asked.choices:
            body |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        return body

    def _read(self, asked: Asked, said: str) -> Answer | _Trouble:
        """The answer in what a server said. One that can not be read costs what it says that it does."""
        body = whole_json(said)
        usage = body.get("usage") if isinstance(body, dict) else None
        told = usage if isinstance(usage, dict) else {}
        try:
            choice = body["choices"][0]
            text = choice["message"]["content"] or ""
            if not isinstance(text, str):
                raise TypeError
            chosen, error = _chosen(asked, choice.get("logprobs")) if asked.choices else ({}, "")
        except (ValueError, LookupError, TypeError, AttributeError):
            cost = self._cost(self._counted(asked, told)) if told else 0.0
            return _Trouble(f"an answer that is no chat completion: {_short(said)}", cost=cost)
        tokens = self._counted(asked, told)
        return Answer(text, chosen, *tokens, cost=self._cost(tokens), error=error and f"{self.model}: {error}")

    def _counted(self, asked: Asked, usage: Mapping[str, Any]) -> tuple[int, int]:
        """What a server counted. What it does not count, or can not have counted, is taken for the most it can be."""
        worst = self._most_tokens(asked)
        found = usage.get("prompt_tokens"), usage.get("completion_tokens")
        into, out = (
            n if type(n) is int and 0 <= n <= LARGEST_COUNT else most for n, most in zip(found, worst, strict=True)
        )
        return into, out

    # --- money --------------------------------------------------------------------------------------------------------

    def _cost(self, tokens: tuple[int, int]) -> float:
        return (tokens[0] * self.prices[0] + tokens[1] * self.prices[1]) / MILLION

    def _most_tokens(self, asked: Asked) -> tuple[int, int]:
        """The most that a question can take: no tokenizer makes more tokens of a text than it has bytes."""
        inside = sum(len(text.encode(errors="replace")) + OVERHEAD for _, text in asked.messages)
        return inside, self.how(asked).max_tokens

    def _worst(self, asked: Asked) -> float:
        return self._cost(self._most_tokens(asked))

    def _left(self) -> float:
        return math.inf if self.max_cost is None else self.max_cost - self.spent

    def _refusal(self) -> RunStopped:
        return RunStopped(
            f"{self.model} has cost {self.spent:.4f} and another question could pass max_cost={self.max_cost:g}: raise "
            "max_cost of the endpoint and resume; answers that were paid for are taken from the cache"
        )

    # --- the line -----------------------------------------------------------------------------------------------------

    def _key_now(self) -> str:
        if not self.key_env:
            return ""
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise UserError(
                f"the environment variable {self.key_env} is not set: it should hold the key for {self.url}"
            )
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise UserError(f"the environment variable {self.key_env} holds something that cannot be a key")
        return key

    @contextlib.asynccontextmanager
    async def _room(self) -> AsyncIterator[_Room]:
        """What all who ask at this time share, made by the first and closed by the last: it cannot outlive its event loop."""
        try:
            import httpx
        except ImportError:
            raise require_extra("httpx", "judges") from None
        self.rooms = {} if self.rooms is None else self.rooms
        rooms: dict[Any, _Room] = self.rooms
        loop = asyncio.get_running_loop()
        if loop not in rooms:
            limits = httpx.Limits(max_connections=self.trying.at_once)
            client = httpx.AsyncClient(timeout=None, limits=limits, follow_redirects=False)  # the time is ours to keep
            rooms[loop] = _Room(client, asyncio.Semaphore(self.trying.at_once), Purse())
        room = rooms[loop]
        room.users += 1
        try:
            yield room
        finally:
            room.users -= 1
            if not room.users:
                del rooms[loop]
                await room.client.aclose()


@dataclass
class _Room:
    client: Any
    seats: asyncio.Semaphore
    purse: Purse
    users: int = 0


@dataclass(frozen=True)
class _Trouble:
    """Why a try came to nothing, where another may not."""

    what: str
    late: bool = False
    pause: float = 0.0  # that the server asked for
    cost: float = 0.0


class _TooLarge(Exception):
    """More came than any answer is."""


def _chosen(asked: Asked, logprobs: Any) -> tuple[dict[str, float], str]:
    """The log-probs of the wanted words: at the first token, or at the last that is one of them."""
    told = (logprobs or {}).get("content") or []
    if not told:
        return {}, "it gives no log-probs: ask for a written verdict, without `sure`"
    places = [n for n, token in enumerate(told) if _word(token["token"]) in asked.choices] if asked.thinks else [0]
    if not places:
        return {}, f"it did not end in {' or '.join(asked.choices)}"
    near = told[places[-1]]
    alternatives = {each["token"]: _logp(each["logprob"]) for each in near.get("top_logprobs") or [near]}
    found = {word: added(p for token, p in alternatives.items() if _word(token) == word) for word in asked.choices}
    found = {word: p for word, p in found.items() if not math.isinf(p)}
    likely = sorted(alternatives, key=lambda token: -alternatives[token])[:3]
    return found, "" if found else f"its first word is none of {', '.join(asked.choices)}, but likely one of {likely}"


def _logp(found: Any) -> float:
    if type(found) not in (int, float) or not found <= ROUNDING:
        raise ValueError
    return min(0.0, float(found))


def _word(token: str) -> str:
    return token.strip().lower()


def _times(tries: int) -> str:
    return "once" if tries == 1 else f"{tries} times"


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _retry_after(said: str) -> float:
    """Seconds to wait, from a number or a date."""
    if said.strip().isdecimal():
        return min(float(said), LONGEST_ASKED)
    try:
        when = email.utils.parsedate_to_datetime(said)
        when = when if when.tzinfo else when.replace(tzinfo=datetime.UTC)
        return min(max(0.0, (when - datetime.datetime.now(datetime.UTC)).total_seconds()), LONGEST_ASKED)
    except (ValueError, OverflowError, TypeError):
        return 0.0


def _without(text: str, key: str) -> str:
    """A text with the key struck out: some servers repeat it in their errors."""
    return text.replace(key, "***") if key else text


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:200]}..."
