"""Questions that judges ask, the answers they get, the base class of models that answer them, and their cost.

A missing answer has a reason and is never a verdict. Costs are counts of questions, cache hits, tokens and money, and the
limit at which a run stops.
Left out: where answers come from (`endpoints.py`, `local_models.py`), where they are cached (`cache.py`), the wording of
questions and the parsing of verdicts (`judging.py`), and prices, which an endpoint has as a knob.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import copy
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from guerdon.core.episode import Episode
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.model import Meter, Model
from guerdon.core.play import Env
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player


@dataclass(frozen=True)
class JudgeQuestion:
    """A conversation to be answered.

    With `choices` the log-probs of these words are wanted: as the first word of the answer, or for one that `thinks`, in
    place of its last. `temperature` replaces the answerer's own; `seed` decides what is sampled.

    Args:
        choices: words whose log-probs are returned.
        thinks: they are compared at the end of the answer, not at its first word.
        temperature: replaces the answerer's own.
        seed: of sampling.

    >>> import guerdon as gd
    >>> question = gd.JudgeQuestion((("user", "Is 2 + 2 = 4? Say yes or no."),), choices=("yes", "no"))
    >>> question.messages[-1][1]
    'Is 2 + 2 = 4? Say yes or no.'
    """

    messages: tuple[tuple[str, str], ...]  # (role, text)
    choices: tuple[str, ...] = ()
    thinks: bool = False
    temperature: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class JudgeAnswer:
    """What came back. With an `error` there is no answer, and `late` that it was awaited in vain.

    Args:
        text: the answer.
        tokens_in: tokens of the question.
        tokens_out: tokens of the answer.
        cost: what it cost.
        cached: it came from the cache.
        error: why there is no answer.
        late: the time limit passed without an answer.

    >>> import guerdon as gd
    >>> gd.JudgeAnswer("It is right.\\nVerdict: yes", tokens_out=8).text.splitlines()[-1]
    'Verdict: yes'
    >>> gd.JudgeAnswer(error="no answer in 60 s", late=True).text
    ''
    """

    text: str = ""
    choices: Mapping[str, float] = field(
        default_factory=dict
    )  # word: log-prob; without words too unlikely to be returned
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    cached: bool = False
    error: str = ""
    late: bool = False


@dataclass
class QuestionCount:
    """Questions that would have been asked, and the most that they can cost."""

    asked: int = 0
    cost: float = 0.0


class Answerer(abc.ABC):
    """Who answers. One of your own is a part with `answer`.

    >>> import guerdon as gd
    >>> @gd.part
    ... class says(gd.Answerer):
    ...     text: str
    ...     async def answer(self, questions, models):
    ...         return [gd.JudgeAnswer(self.text) for _ in questions]
    >>> gd.score_samples(gd.judge(says("Verdict: 4"), scale=(1, 5)), [{"prompt": "2+2", "completion": "4"}]).whole
    [0.75]
    """

    waits: ClassVar[bool] = True  # asking it takes waiting rather than work of this process
    outside: ClassVar[bool] = True  # whether it asks a service outside of this process, which may cost money

    @abc.abstractmethod
    async def answer(self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model]) -> list[JudgeAnswer]:
        """An answer for each, in their order. `models` are those of the run, by name; none outside of one."""

    def worst_cost(self, question: JudgeQuestion) -> float:
        """The most that a question can cost."""
        return 0.0

    def rehearse(self) -> QuestionCount:
        """Ask no model from now on: questions are counted, and none has an answer."""
        counted = QuestionCount()

        async def count(questions: Sequence[JudgeQuestion], models: Mapping[str, Model]) -> list[JudgeAnswer]:
            counted.asked += len(questions)
            counted.cost += math.fsum(map(self.worst_cost, questions))
            return [JudgeAnswer(error="nobody is asked in a dry run")] * len(questions)

        self.answer = count  # type: ignore[method-assign]
        return counted

    def in_process(self, models: Mapping[str, Model]) -> Model:
        """The model itself, where it lies in this process and can play."""
        raise UserError("what answers is behind a server and cannot play with tools: give local(...) or run_model(...)")

    def play(
        self, asks: Sequence[Ask], env: Env, models: Mapping[str, Model], sampling: Sampling, seed: int
    ) -> tuple[list[Episode], Meter]:
        """What it does where it can act, and what that took. It plays for itself: the run counts nothing of it."""
        model = copy.copy(self.in_process(models))
        player = Player({"judge": model}, dict.fromkeys(env.roles, "judge"), env, sampling, seed, 1)
        return player(asks), player.meter

    def plays_roles(self, models: Mapping[str, Model]) -> bool:
        """Whether it was brought up on the roles of `tasks/roles.py`, as `sprig` was, instead of on plain language."""
        return False


def spellings(word: str) -> tuple[str, ...]:
    """The ways in which a word may begin an answer."""
    return tuple(dict.fromkeys((word, word.capitalize(), word.upper())))


def log_sum_exp(logps: Iterable[float]) -> float:
    """The log-prob of any of several."""
    each = list(logps)
    top = max(each, default=-math.inf)
    return top if math.isinf(top) else top + math.log(math.fsum(math.exp(x - top) for x in each))


Tally = dict[str, float]  # what was counted, by name; plain, for it is the state of a part
_ONE_AT_A_TIME = threading.Lock()  # a run that plays ahead asks in two threads


def counts_of(answers: Sequence[JudgeAnswer]) -> Tally:
    """What a judge counts of answers. Tokens are those that were processed and generated for it now; a hit has none."""
    now = [a for a in answers if not a.cached]
    return {
        "asked": len(answers),
        "hits": len(answers) - len(now),
        "failed": sum(bool(a.error) for a in answers),
        "tokens_in": sum(a.tokens_in for a in now),
        "tokens_out": sum(a.tokens_out for a in now),
        "cost": sum(a.cost for a in now),
    }


def add(tally: Tally, more: Tally) -> None:
    with _ONE_AT_A_TIME:
        for name, number in more.items():
            tally[name] = tally.get(name, 0) + number


def spending_metrics(name: str, step: Tally, total: Tally) -> dict[str, float]:
    """A judge's counts as metrics of a step: those of the step, and what it cost since the run began."""
    asked = step.get("asked", 0)
    shown = {f"{name}/{what}": float(number) for what, number in step.items()}
    rate = {f"{name}/hit_rate": step["hits"] / asked} if asked else {}
    return {**shown, **rate, f"{name}/cost_so_far": float(total.get("cost", 0.0))}


class SpendingReserve:
    """Money set aside for questions under way, so that together they cannot pass the limit either."""

    def __init__(self) -> None:
        self.aside = 0.0
        self.under_way = 0
        self.changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def set_aside(
        self, worst: float, left: Callable[[], float], refuse: Callable[[], RunStopped]
    ) -> AsyncIterator[None]:
        """Keep `worst`, the most a question can cost, until it is answered. With too little left, wait for what others under
        way do not use up; with none under way, stop: nothing that was paid for is lost then."""
        async with self.changed:
            while self.under_way and self.aside + worst > left():
                await self.changed.wait()
            if self.aside + worst > left():
                raise refuse()
            self.aside += worst
            self.under_way += 1
        try:
            yield
        finally:
            async with self.changed:
                self.aside -= worst
                self.under_way -= 1
                self.changed.notify_all()
