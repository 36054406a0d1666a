"""Rubrics: criteria that an answer meets or not, each asked of a judge, weighed up, some of them indispensable.

Left out: writing rubrics; criteria that earn negative points (say what a good answer does instead).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.judges.answerer import JudgeQuestion, Tally
from guerdon.judges.judging import (
    CRITERIA,
    CRITERION,
    CRITERION_SURE,
    YES_OR_NO,
    Judging,
    Verdict,
    VerdictQuestion,
    check_places,
    expected,
    failed,
    filled,
    models_of,
    numbered_verdicts,
    one_of,
)
from guerdon.judges.local_models import as_answerer
from guerdon.judges.pointwise import WORDS, texts_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome

PLACES = ("prompt", "completion", "answer", "criterion", "mark", "form")
MET = 0.5  # a veto is met from this probability on


@part
class criterion:
    """One thing to look for, as a sentence that is true of a good answer. A `veto` is indispensable: an answer that does not
    meet it gets the rubric's `floor` whatever else it does. `name` is what it is called in metrics.

    Args:
        text: a sentence that is true of a good answer.
        weight: share in the rubric.
        veto: indispensable: without it the answer gets the rubric's `floor`.
        name: name in metrics.

    >>> import guerdon as gd
    >>> gd.criterion("Names its sources.", weight=2.0, name="sources").title
    'sources'
    """

    text: str
    weight: float = knob(default=1.0, ge=0.0)
    veto: bool = False
    name: str = ""

    @property
    def title(self) -> str:
        return self.name or self.text


@part
class rubric(Judging):
    """The weighted share of `criteria` that an answer meets, sum(weight * met) / sum(weight); `floor` where a veto is not met.

    `by` is who judges, as in `judge`. Criteria are sentences or `criterion(...)`; without any, each task has its own
    checklist in meta["rubric"], a list of sentences or of {"text", "weight", "veto", "name"}, and a task without one is
    *not applicable*. With `together` all are put in one question: cheaper, and less careful. With `sure` a criterion is
    met by p(yes) / (p(yes) + p(no)) in place of yes or no. One criterion without a verdict makes the whole *failed*.
    `prompt` may be your own, with the places {prompt}, {completion}, {answer}, {criterion}, {mark} and {form}.

    Args:
        criteria: sentences or `criterion`s; each task's own without any.
        by: what judges, as in `judge`.
        together: ask all criteria in one question.
        sure: use the probabilities of yes and no in place of the sampled one.
        floor: value where a veto is not met.
        prompt: template in place of the built-in one.
        name: name in metrics.

    >>> import guerdon as gd
    >>> @gd.part
    ... class says(gd.Answerer):
    ...     text: str
    ...     async def answer(self, questions, models):
    ...         return [gd.JudgeAnswer(self.text) for _ in questions]
    >>> criteria = ["Shows each step.", gd.criterion("Ends in a number.", veto=True)]
    >>> strict = gd.rubric(criteria, by=says("Verdict: no"), floor=-1.0)
    >>> gd.score_samples(strict, [{"prompt": "2+2", "completion": "four"}]).whole
    [-1.0]
    """

    criteria: Sequence[Any]
    by: Any
    together: bool = False
    sure: bool = False
    floor: float = 0.0
    prompt: str = ""
    name: str = "rubric"

    total: Tally = state(factory=dict)
    since: Any = live()
    met: Any = live()  # criterion: verdicts since the last step

    def __post_init__(self) -> None:
        self.by = as_answerer(self.by)
        self.criteria = checklist(self.criteria, self.name) if self.criteria else []
        check_places(f"{self.name}.prompt", self.prompt, PLACES)
        if self.together and self.sure:
            raise UserError(
                f"{self.name}: the probability of a yes needs a question for each criterion: leave out together or sure"
            )

    async def score(self, samples: Samples) -> list[Outcome]:
        in_role = self.by.plays_roles(models_of(samples))
        if in_role and not self.prompt:
            raise UserError(
                f"{self.name}: sprig reads no criteria: ask another model, or give a prompt that sprig knows"
            )
        lists: list[list[criterion] | Outcome] = [self._list(fields) for fields in samples.fields]
        questions: list[VerdictQuestion] = []
        for fields, seed, of in zip(samples.fields, samples.seeds, lists, strict=True):
            questions += [] if isinstance(of, Outcome) else self._questions(fields, seed, of, in_role)
        answers = iter(await self.put(questions, samples))
        outcomes = []
        for of in lists:
            if isinstance(of, Outcome):
                outcomes.append(of)
            else:
                outcomes.append(self._outcome(of, [next(answers) for _ in range(1 if self.together else len(of))]))
        return outcomes

    def _list(self, fields: Mapping[str, Any]) -> list[criterion] | Outcome:
        """The criteria of a sample, or its outcome without any."""
        if self.criteria:
            return list(self.criteria)
        own = fields["meta"].get("rubric")
        if not own:
            return Outcome(Reason.NOT_APPLICABLE)
        try:
            return checklist(own, "meta['rubric']")
        except UserError as error:
            return Outcome(Reason.FAILED, detail={"error": str(error)})

    def _questions(
        self, fields: Mapping[str, Any], seed: int, of: Sequence[criterion], in_role: bool
    ) -> list[VerdictQuestion]:
        texts = texts_of(self, fields, "")
        if self.together:
            form = "\n".join(f'"{n + 1}: yes" or "{n + 1}: no"' for n in range(len(of)))
            listed = "\n".join(f"{n}. {each.text}" for n, each in enumerate(of, start=1))
            text = filled(self.prompt or CRITERIA, {**texts, "criterion": listed, "form": form})
            question = JudgeQuestion((("user", text),), seed=seed)
            return [VerdictQuestion(question, numbered_verdicts(len(of)), form, in_role)]
        form = "yes or no" if self.sure else YES_OR_NO
        template = self.prompt or (CRITERION_SURE if self.sure else CRITERION)
        questions = []
        for each in of:
            messages = (("user", filled(template, {**texts, "criterion": each.text, "form": form})),)
            question = JudgeQuestion(messages, ("yes", "no") if self.sure else (), in_role and self.sure, seed=seed)
            questions.append(VerdictQuestion(question, expected(WORDS) if self.sure else one_of(WORDS), form, in_role))
        return questions

    def _outcome(self, of: Sequence[criterion], verdicts: Sequence[Verdict]) -> Outcome:
        broken = [each for each in verdicts if each.broken]
        if broken:
            return failed(broken[0])
        met: list[float] = verdicts[0].value if self.together else [each.value for each in verdicts]
        parts = {each.title: value for each, value in zip(of, met, strict=True)}
        self.met = {} if self.met is None else self.met
        for title, value in parts.items():
            self.met.setdefault(title, []).append(value)
        vetoed = any(each.veto and value < MET for each, value in zip(of, met, strict=True))
        weighed = math.fsum(each.weight * value for each, value in zip(of, met, strict=True))
        value = self.floor if vetoed else weighed / math.fsum(each.weight for each in of)
        why = "\n---\n".join(each.words for each in verdicts if each.words)
        return Outcome(Reason.VALUE, value, {"parts": parts, **({"why": why} if why else {})})

    def observe(self, batch: Batch, play: Play) -> None:
        """Log how often each criterion was met. A task's own checklist is in the details alone: it would be a metric a task."""
        super().observe(batch, play)
        met, self.met = self.met or {}, {}
        if self.criteria:
            play.log(**{f"{self.name}/{title}": math.fsum(values) / len(values) for title, values in met.items()})


def checklist(given: Any, where: str) -> list[criterion]:
    """Criteria from what a user, or a task, writes down."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise UserError(f"{where} must be a list of criteria, not {given!r}")
    criteria = [_one(each, where) for each in given]
    titles = [each.title for each in criteria]
    if len(set(titles)) < len(titles):
        raise UserError(f"{where} has two criteria of one name: give them different ones")
    if not math.fsum(each.weight for each in criteria) > 0:
        raise UserError(f"{where} has no criterion with a weight above 0")
    return criteria


def _one(given: Any, where: str) -> criterion:
    if isinstance(given, criterion):
        return given
    if isinstance(given, str):
        return criterion(given)
    if isinstance(given, Mapping) and isinstance(given.get("text"), str):
        return criterion(**{str(name): value for name, value in given.items()})
    raise UserError(f"a criterion in {where} is a sentence, criterion(...) or a dict with 'text', not {given!r}")
