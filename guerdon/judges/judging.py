"""The base class of judges: it asks, asks once more where an answer cannot be read, and counts all of it.

Left out: what is asked and what verdicts become (`pointwise.py`, `compare.py`, `rubrics.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.model import Model
from guerdon.core.play import Play
from guerdon.judges.answerer import Answerer, JudgeAnswer, JudgeQuestion
from guerdon.judges.spending import Tally, count, spending_metrics
from guerdon.judges.wording import VerdictQuestion
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome


@dataclass(frozen=True)
class Verdict:
    """What a judge's answer was read as, or the reason why there is nothing to read."""

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

    async def put(self, questions: Sequence[VerdictQuestion], samples: Samples) -> list[Verdict]:
        """Ask; ask again, once, where an answer could not be read."""
        models = models_of(samples)
        answers = await self._ask([each.question for each in questions], models)
        unread = [n for n, a in enumerate(answers) if not a.error and questions[n].read(a) is None]
        again = [questions[n].again(answers[n].text, samples.seed) for n in unread]
        for n, answer in zip(unread, await self._ask(again, models), strict=True):
            answers[n] = answer
        return [_verdict(question, answer) for question, answer in zip(questions, answers, strict=True)]

    async def _ask(self, questions: Sequence[JudgeQuestion], models: Mapping[str, Model]) -> list[JudgeAnswer]:
        answers = await self.by.answer(questions, models) if questions else []
        self.since = {} if self.since is None else self.since
        for tally in (self.total, self.since):
            count(tally, answers)
        return answers

    def observe(self, batch: Batch, play: Play) -> None:
        """Log what the step's questions took. Of a run that plays ahead, those of the next step may be among them."""
        now, self.since = self.since or {}, {}
        if now:
            play.log(**spending_metrics(self.name, now, self.total))
            # what a judge reads and writes is part of a run's budget
            words = {"tokens": int(now["tokens_out"]), "read": int(now["tokens_in"])}
            play.count({**words, "calls": int(now["asked"] - now["hits"])})


def models_of(samples: Samples) -> Mapping[str, Model]:
    return samples.play.models if samples.play is not None else {}


def _verdict(question: VerdictQuestion, answer: JudgeAnswer) -> Verdict:
    if answer.error:
        return Verdict(None, answer.text, Reason.TIMED_OUT if answer.late else Reason.FAILED, answer.error)
    value = question.read(answer)
    if value is None:
        last = (answer.text.strip().splitlines() or [""])[-1][-80:]
        error = f"the judge's last line, asked for twice, is not {', '.join(question.form.splitlines())} but {last!r}"
        return Verdict(None, answer.text, Reason.FAILED, error)
    return Verdict(value, answer.text)


def why(verdict: Verdict) -> dict[str, Any] | None:
    """The judge's words as a detail, where it said any."""
    return {"why": verdict.words} if verdict.words else None


def failed(verdict: Verdict) -> Outcome:
    """The outcome of a sample whose question came to nothing."""
    return Outcome(verdict.reason, detail={"error": verdict.error, **(why(verdict) or {})})
