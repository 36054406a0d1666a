"""What all judges share: questions are put, answers that cannot be read are asked for once more, and all is counted.

Left out: what is asked and what verdicts become (`judge.py`, `compare.py`, `rubric.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.model import Model
from guerdon.core.play import Play
from guerdon.judges.answerer import Answer, Answerer
from guerdon.judges.spending import Tally, count, said
from guerdon.judges.wording import Question
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome


@dataclass(frozen=True)
class Found:
    """What a question came to: a reading, or the reason why there is none."""

    value: Any
    words: str
    reason: Reason = Reason.VALUE
    error: str = ""

    @property
    def broken(self) -> bool:
        return self.reason is not Reason.VALUE


class Judging(Leaf):
    """Base of the judges. `total` is what it counted since the run began, `since` since the last step."""

    by: Answerer
    total: Tally
    since: Any

    @property
    def waits(self) -> bool:
        return self.by.waits

    async def put(self, questions: Sequence[Question], samples: Samples) -> list[Found]:
        """Ask; ask again, once, where an answer could not be read."""
        models = models_of(samples)
        answers = await self._ask([question.asked for question in questions], models)
        unread = [n for n, a in enumerate(answers) if not a.error and questions[n].read(a) is None]
        again = [questions[n].again(answers[n].text, samples.seed) for n in unread]
        for n, answer in zip(unread, await self._ask(again, models), strict=True):
            answers[n] = answer
        return [_found(question, answer) for question, answer in zip(questions, answers, strict=True)]

    async def _ask(self, asked: Sequence[Any], models: Mapping[str, Model]) -> list[Answer]:
        answers = await self.by.answer(asked, models) if asked else []
        self.since = {} if self.since is None else self.since
        for tally in (self.total, self.since):
            count(tally, answers)
        return answers

    def observe(self, batch: Batch, play: Play) -> None:
        """Log what the step's questions took. Of a run that plays ahead, those of the next step may be among them."""
        now, self.since = self.since or {}, {}
        if now:
            play.log(**said(self.name, now, self.total))
            # what a judge reads and writes is part of a run's budget
            words = {"tokens": int(now["tokens_out"]), "read": int(now["tokens_in"])}
            play.count({**words, "calls": int(now["asked"] - now["hits"])})


def models_of(samples: Samples) -> Mapping[str, Model]:
    return samples.play.models if samples.play is not None else {}


def _found(question: Question, answer: Answer) -> Found:
    if answer.error:
        return Found(None, answer.text, Reason.TIMED_OUT if answer.late else Reason.FAILED, answer.error)
    value = question.read(answer)
    if value is None:
        last = (answer.text.strip().splitlines() or [""])[-1][-80:]
        error = f"the judge's last line, asked for twice, is not {', '.join(question.form.splitlines())} but {last!r}"
        return Found(None, answer.text, Reason.FAILED, error)
    return Found(value, answer.text)


def why(found: Found) -> dict[str, Any] | None:
    """The judge's words as a detail, where it said any."""
    return {"why": found.words} if found.words else None


def failed(found: Found) -> Outcome:
    """The outcome of a sample whose question came to nothing."""
    return Outcome(found.reason, detail={"error": found.error, **(why(found) or {})})
