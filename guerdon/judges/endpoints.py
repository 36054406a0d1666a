"""Judges' answers from any server that speaks OpenAI's chat completions over HTTP.

Many questions are asked at once, tried again (`network/retrying.py`), paid for and counted.
The key is read from the environment for each round of questions and goes into the request alone.
It is not a field, appears in no cache, event or message, and is removed from what a server sends back.
Left out: streaming, tools, images.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.core.errors import RunStopped, UserError
from guerdon.core.model import Model
from guerdon.core.part import knob, live, part, state
from guerdon.core.task import Sampling
from guerdon.judges.answerer import JudgeAnswer, JudgeQuestion, SpendingReserve, log_sum_exp
from guerdon.judges.cache import CachedAnswerer, Keep
from guerdon.network.addresses import check_address, in_one_line, key_in, without_key
from guerdon.network.retrying import FailedTry, patience, retry_after, try_patiently
from guerdon.text.answers import whole_json

if TYPE_CHECKING:
    from guerdon.network.client import Client

MOST = 4 << 20  # bytes of an answer ...
MOST_EACH = 8 << 10  # ... and so many more for each token that was asked for, with its alternatives
REFUSED = {401: "refused the key", 403: "refused the key", 404: "knows no such model or address"}
TRY_AGAIN = {408, 409, 425, 429}  # and all that begin with 5
ALTERNATIVES = 20  # log-probs of so many tokens are asked for: the most that OpenAI gives
OVERHEAD = 64  # tokens that a chat template may add to a message
MILLION = 1e6
LARGEST_COUNT = 10_000_000  # tokens: no question takes more, whatever a server reports
ROUNDING = 1e-3  # by so much a log-prob may be above 0


def _brief() -> Sampling:
    return Sampling(temperature=0.0, max_tokens=512)


@part
class endpoint(CachedAnswerer):
    """A model behind an OpenAI-compatible server: `endpoint("https://api.openai.com/v1", "gpt-4.1-mini", "OPENAI_API_KEY")`.

    `key_env` names the environment variable that holds the key; the key itself is never given here. `prices` are for a
    million tokens in and out. With `max_cost` the run stops before a question that could take what it spent beyond it.
    Answers are kept in `cache`: a file, True for the default place, False for none.

    Args:
        url: address of the server.
        model: the model's name there.
        key_env: environment variable that holds the key.
        sampling: how it samples.
        prices: price of a million tokens in, and out.
        max_cost: the most that may be spent; None for no limit.
        cache: file of answers; True for the default place, False for none.
        trying: time limits and retries.

    >>> import guerdon as gd
    >>> grader = gd.endpoint("http://127.0.0.1:8000/v1", "qwen3-8b", prices=(0.1, 0.4), max_cost=2.0)
    >>> print(gd.judge(grader, question="Is the proof complete?") + gd.exact())
    judge + exact
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
    sessions: Any = live()  # event loop: what is shared by all who ask in it

    def __post_init__(self) -> None:
        super().__post_init__()
        check_address("endpoint.url", self.url, "http://127.0.0.1:8000/v1", "key_env")
        if len(self.prices) != 2 or min(self.prices) < 0:
            raise UserError(
                f"endpoint.prices must be two numbers, for a million tokens in and out, not {self.prices!r}"
            )

    def who(self, models: Mapping[str, Model]) -> dict[str, Any]:
        return {"url": self.url.rstrip("/"), "model": self.model}

    async def fetch(
        self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model], keep: Keep
    ) -> list[JudgeAnswer]:
        key = self._key_now()
        async with self._session() as session:
            jobs = [self._one(session, each, key, place, keep) for place, each in enumerate(questions)]
            answers = await asyncio.gather(*jobs, return_exceptions=True)  # what is under way is paid for: let it end
        for each in answers:
            if isinstance(each, BaseException):
                raise each
        return [each for each in answers if isinstance(each, JudgeAnswer)]

    async def _one(self, session: _Session, question: JudgeQuestion, key: str, place: int, keep: Keep) -> JudgeAnswer:
        async with session.turn:
            answer = await self._patiently(session, question, key)
            keep(place, answer)
            return answer

    async def _patiently(self, session: _Session, question: JudgeQuestion, key: str) -> JudgeAnswer:
        """Try, and try again where that may help and there is time; each try is paid for."""

        async def attempt(seconds: float) -> JudgeAnswer | FailedTry:
            async with session.reserve.set_aside(self.worst_cost(question), self._left, self._refusal):
                outcome = await self._try(session, question, key, seconds)
                self.spent += outcome.cost if isinstance(outcome, JudgeAnswer | _Unreadable) else 0.0
                return outcome

        outcome = await try_patiently(self.trying, attempt)
        if isinstance(outcome, JudgeAnswer):
            return outcome
        return JudgeAnswer(error=f"{self.model}: {outcome.error}", late=outcome.late)

    async def _try(
        self, session: _Session, question: JudgeQuestion, key: str, seconds: float
    ) -> JudgeAnswer | FailedTry:
        from guerdon.network.client import BadResponse, LostConnection

        body = json.dumps(self._body(question)).encode()  # not httpx's: half of a surrogate pair must not break it
        most = MOST + MOST_EACH * self.how(question).max_tokens
        try:
            response = await session.client.post("/chat/completions", body, key=key, most=most, seconds=seconds)
        except TimeoutError:
            return FailedTry(f"no answer in {seconds:.3g} s", late=True)
        except (BadResponse, LostConnection) as error:
            return FailedTry(in_one_line(without_key(str(error), key)))
        status, text = response.status, without_key(response.content.decode(errors="replace"), key)
        if status in REFUSED:
            named = f" (${self.key_env})" if self.key_env else ""
            raise UserError(f"{self.url} {REFUSED[status]}{named} for {self.model!r} ({status}): {in_one_line(text)}")
        if status in TRY_AGAIN or status >= 500:
            return FailedTry(f"status {status}", pause=retry_after(response.headers.get("retry-after", "")))
        if status != 200:
            return JudgeAnswer(error=f"{self.model}: status {status}: {in_one_line(text)}")
        return self._read(question, text if _is_text(response.content) else "")

    def _body(self, question: JudgeQuestion) -> dict[str, Any]:
        how = self.how(question)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in question.messages],
            "temperature": how.temperature,
            "max_tokens": how.max_tokens,
        }
        if how.top_p < 1:
            body["top_p"] = how.top_p
        if how.stop:
            body["stop"] = list(how.stop)
        if how.temperature:
            body["seed"] = question.seed % 2**31
        if question.choices:
            body |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        return body

    def _read(self, question: JudgeQuestion, answer: str) -> JudgeAnswer | FailedTry:
        """The answer in a server's reply. An unreadable one costs what it reports."""
        body = whole_json(answer)
        usage = body.get("usage") if isinstance(body, dict) else None
        usage = usage if isinstance(usage, dict) else {}
        try:
            choice = body["choices"][0]
            text = choice["message"]["content"] or ""
            if not isinstance(text, str):
                raise TypeError
            chosen, error = _chosen(question, choice.get("logprobs")) if question.choices else ({}, "")
        except (ValueError, LookupError, TypeError, AttributeError):
            cost = self._cost(self._counted(question, usage)) if usage else 0.0
            return _Unreadable(f"an answer that is no chat completion: {in_one_line(answer)}", cost=cost)
        tokens = self._counted(question, usage)
        return JudgeAnswer(text, chosen, *tokens, cost=self._cost(tokens), error=error and f"{self.model}: {error}")

    def _counted(self, question: JudgeQuestion, usage: Mapping[str, Any]) -> tuple[int, int]:
        """What a server counted. What it does not count, or can not have counted, is taken for the most it can be."""
        worst = self._most_tokens(question)
        counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
        into, out = (
            n if type(n) is int and 0 <= n <= LARGEST_COUNT else most for n, most in zip(counts, worst, strict=True)
        )
        return into, out

    # --- money --------------------------------------------------------------------------------------------------------

    def _cost(self, tokens: tuple[int, int]) -> float:
        return (tokens[0] * self.prices[0] + tokens[1] * self.prices[1]) / MILLION

    def _most_tokens(self, question: JudgeQuestion) -> tuple[int, int]:
        """The most that a question can take: no tokenizer makes more tokens of a text than it has bytes."""
        inside = sum(len(text.encode(errors="replace")) + OVERHEAD for _, text in question.messages)
        return inside, self.how(question).max_tokens

    def worst_cost(self, question: JudgeQuestion) -> float:
        return self._cost(self._most_tokens(question))

    def _left(self) -> float:
        return math.inf if self.max_cost is None else self.max_cost - self.spent

    def _refusal(self) -> RunStopped:
        return RunStopped(
            f"{self.model} has cost {self.spent:.4f} and another question could pass max_cost={self.max_cost:g}: raise "
            "max_cost of the endpoint and resume; answers that were paid for are taken from the cache"
        )

    # --- the line -----------------------------------------------------------------------------------------------------

    def _key_now(self) -> str:
        key = key_in(self.key_env)
        if self.key_env and not key:
            raise UserError(
                f"the environment variable {self.key_env} is not set: it should hold the key for {self.url}"
            )
        return key

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[_Session]:
        """What all who ask at this time share, made by the first and closed by the last: it cannot outlive its event loop."""
        from guerdon.network.client import Client

        self.sessions = {} if self.sessions is None else self.sessions
        sessions: dict[Any, _Session] = self.sessions
        loop = asyncio.get_running_loop()
        if loop not in sessions:
            client = Client(self.url, self.trying.at_once)
            sessions[loop] = _Session(client, asyncio.Semaphore(self.trying.at_once), SpendingReserve())
        session = sessions[loop]
        session.users += 1
        try:
            yield session
        finally:
            session.users -= 1
            if not session.users:
                del sessions[loop]
                await session.client.aclose()


@dataclass
class _Session:
    client: Client
    turn: asyncio.Semaphore
    reserve: SpendingReserve
    users: int = 0


@dataclass(frozen=True)
class _Unreadable(FailedTry):
    """An answer that was paid for and cannot be read."""

    cost: float = 0.0


def _chosen(question: JudgeQuestion, logprobs: Any) -> tuple[dict[str, float], str]:
    """The log-probs of the wanted words: at the first token, or at the last that is one of them."""
    tokens = (logprobs or {}).get("content") or []
    if not tokens:
        return {}, "it gives no log-probs: ask for a written verdict, without `sure`"
    places = (
        [n for n, token in enumerate(tokens) if _word(token["token"]) in question.choices] if question.thinks else [0]
    )
    if not places:
        return {}, f"it did not end in {' or '.join(question.choices)}"
    near = tokens[places[-1]]
    alternatives = {each["token"]: _logp(each["logprob"]) for each in near.get("top_logprobs") or [near]}
    chosen = {
        word: log_sum_exp(p for token, p in alternatives.items() if _word(token) == word) for word in question.choices
    }
    chosen = {word: p for word, p in chosen.items() if not math.isinf(p)}
    likely = sorted(alternatives, key=lambda token: -alternatives[token])[:3]
    return (
        chosen,
        "" if chosen else f"its first word is none of {', '.join(question.choices)}, but likely one of {likely}",
    )


def _logp(value: Any) -> float:
    if type(value) not in (int, float) or not value <= ROUNDING:
        raise ValueError
    return min(0.0, float(value))


def _word(token: str) -> str:
    return token.strip().lower()


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
