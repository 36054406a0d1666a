"""Questions that judges ask, the answers they get, and the base class of whatever answers them.

An answer that could not be had says why and is never a verdict.
Left out: where answers come from (`endpoints.py`, `local_models.py`), where they are remembered (`cache.py`), how questions
are worded and verdicts read (`wording.py`).
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from guerdon.core.model import Model


@dataclass(frozen=True)
class JudgeQuestion:
    """A conversation to be answered.

    With `choices` the log-probs of these words are wanted: as the first word of the answer, or for one that `thinks`, in
    place of its last. `temperature` replaces the answerer's own; `seed` decides what is sampled.

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
    """What came back. With an `error` there is no answer, and `late` says that it was waited for in vain.

    >>> import guerdon as gd
    >>> gd.JudgeAnswer("It is right.\\nVerdict: yes", tokens_out=8).text.splitlines()[-1]
    'Verdict: yes'
    >>> gd.JudgeAnswer(error="no answer in 60 s", late=True).text
    ''
    """

    text: str = ""
    choices: Mapping[str, float] = field(
        default_factory=dict
    )  # word: log-prob; one that is too unlikely to be told is out
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
    outside: ClassVar[bool] = True  # whether it asks somebody else than this process, who may want money for it

    @abc.abstractmethod
    async def answer(self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model]) -> list[JudgeAnswer]:
        """An answer for each, in their order. `models` are those of the run, by name; none outside of one."""

    def worst_cost(self, question: JudgeQuestion) -> float:
        """The most that a question can cost."""
        return 0.0

    def rehearse(self) -> QuestionCount:
        """Ask nobody from now on: questions are counted, and none has an answer."""
        counted = QuestionCount()

        async def count(questions: Sequence[JudgeQuestion], models: Mapping[str, Model]) -> list[JudgeAnswer]:
            counted.asked += len(questions)
            counted.cost += math.fsum(map(self.worst_cost, questions))
            return [JudgeAnswer(error="nobody is asked in a dry run")] * len(questions)

        self.answer = count  # type: ignore[method-assign]
        return counted

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
