"""Judges that look at one sample: a number on a scale, yes or no, or the probability of a yes. Values are from 0 to 1.

Left out: judges that compare (`compare.py`), several criteria (`rubrics.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part, state
from guerdon.judges.answerer import JudgeAnswer, JudgeQuestion, Tally
from guerdon.judges.judging import (
    AS_ASKED,
    POINTWISE,
    POINTWISE_SURE,
    YES_OR_NO,
    Judging,
    VerdictQuestion,
    check_places,
    expected,
    failed,
    filled,
    mark_of,
    models_of,
    one_of,
    text_of,
    why,
)
from guerdon.judges.local_models import as_answerer, run_model
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.tasks.roles import score_view, verify_view

QUESTION = "How good is the answer to this task: is it right, complete and clear?"
IS_RIGHT = "Is the answer to this task right?"
WORDS = {"yes": 1.0, "no": 0.0}
PLACES = ("question", "prompt", "completion", "answer", "mark", "form")

Scale = tuple[int, int] | Literal["yes"]


@part
class judge(Judging):
    """A model's verdict on a sample, on a `scale` of whole numbers, (n - low) / (high - low), or "yes": 1 for yes, 0 for no.

    `by` is who judges: the name of a model that lies here, `local`, `endpoint` or `run_model`. A verdict that cannot
    be parsed is asked for a second time, then *failed*; it is never a 0. With `sure` the verdict is not sampled but expected:
    the mean over the allowed words, weighed by their probabilities as the first word of its answer. That
    is finer, and the only way with a model too small to keep to a form. `prompt` may be your own, with the places
    {question}, {prompt}, {completion}, {answer} (the task's), {mark} and {form}, as text or as the `Path` of a file. The last
    line of the reply is the verdict; or `read`, a function of the whole reply, returns a number, or None where there is none.
    `NAME/unread` counts replies that could not be read twice. `sprig` judges by the roles it knows, score from 1 to 5 and
    verify, and reads no question.

    Sources: Zheng et al. 2023, arXiv:2306.05685 (single-answer grading); Liu et al. 2023, arXiv:2303.16634 (weighing by
    probabilities).

    Args:
        by: what judges: a model's name, `local`, `endpoint` or `run_model`.
        question: what is asked about the sample.
        scale: least and largest number, or "yes".
        sure: use the probabilities of the allowed words in place of the sampled one.
        prompt: template in place of the built-in one.
        name: name in metrics.
        read: reads the verdict from a reply to your own prompt, or gives None where there is none.

    >>> import guerdon as gd
    >>> checked = gd.judge(gd.local("sprig", cache=False), scale="yes")
    >>> print(checked.explain(prompt="chain 8 +9 -6", completion="8+9=17\\n17-6=11\\n= 11").splitlines()[0])
    judge: 1 (8+9=17 +
    """

    by: Any
    question: str = ""
    scale: Scale = (1, 5)
    sure: bool = False
    prompt: str | Path = ""
    name: str = "judge"
    read: Callable[[str], float | None] | None = knob(default=None, absent=None)

    total: Tally = state(factory=dict)
    since: Any = live()

    def __post_init__(self) -> None:
        self.by = as_answerer(self.by)
        if self.scale != "yes" and (len(self.scale) != 2 or not self.scale[0] < self.scale[1]):
            raise UserError(f"{self.name}.scale must be 'yes' or two whole numbers, worst and best, not {self.scale!r}")
        if self.sure and self.scale != "yes" and not 0 <= self.scale[0] < self.scale[1] <= 9:
            raise UserError(
                f"{self.name}: probabilities are of single words: with sure, scale must lie between 0 and 9"
            )
        self.prompt = template_of(self.prompt, self.name)
        check_places(f"{self.name}.prompt", self.prompt, PLACES)
        if self.read is not None and (self.sure or not self.prompt):
            raise UserError(
                f"{self.name}: read= reads replies to a prompt of your own: give prompt=, without sure=True"
            )

    async def score(self, samples: Samples) -> list[Outcome]:
        in_role = plays_role(self, samples)
        if in_role and self.scale not in ("yes", (1, 5)):
            raise UserError(f"{self.name}: sprig scores from 1 to 5 and verifies: scale must be (1, 5) or 'yes'")
        pairs = zip(samples.fields, samples.seeds, strict=True)
        verdicts = await self.put([self._question(fields, seed, in_role) for fields, seed in pairs], samples)
        return [failed(each) if each.broken else Outcome(Reason.VALUE, each.value, why(each)) for each in verdicts]

    def _question(self, fields: Mapping[str, Any], seed: int, in_role: bool) -> VerdictQuestion:
        texts = texts_of(self, fields, self.question or (IS_RIGHT if self.scale == "yes" else QUESTION))
        if self.scale == "yes":
            allowed, form, view = WORDS, YES_OR_NO, verify_view
            word = "yes or no"
        else:
            low, high = self.scale
            allowed = {str(n): (n - low) / (high - low) for n in range(low, high + 1)}
            word = f"a whole number from {low} (worst) to {high} (best)"
            form, view = f'"Verdict: N" with N {word}', score_view
        read = expected(allowed) if self.sure else one_of(allowed)
        if in_role:
            text = view(texts["prompt"], texts["completion"])
        else:
            template = str(self.prompt) or (POINTWISE_SURE if self.sure else POINTWISE)
            text = filled(template, {**texts, "form": word if self.sure else form})
        choices = tuple(allowed) if self.sure else ()
        question = JudgeQuestion((("user", text),), choices, in_role and self.sure, seed=seed)
        if self.read is not None:
            return VerdictQuestion(question, number_by(self.read), AS_ASKED)
        return VerdictQuestion(question, read, form, in_role)


def yes(by: Any, question: str = "", prompt: str = "", name: str = "yes") -> judge:
    """How sure a model is that the answer to `question` is yes: p(yes) / (p(yes) + p(no)), of the first word of its answer.

    It is `judge` with scale="yes" and `sure`. A model in this process reads both words, so the value is exact; a server
    returns the 20 likeliest tokens, and a word that is not among them counts as impossible. `sprig` goes through the solution
    first, as it learned to, and the words are compared where its verdict stands.

    Source: Zhang et al. 2024, arXiv:2408.15240.

    Args:
        by: what judges, as in `judge`.
        question: what is asked about the sample.
        prompt: template in place of the built-in one.
        name: name in metrics.

    >>> import guerdon as gd
    >>> sure = gd.yes(gd.local("sprig", cache=False))
    >>> tries = [{"prompt": "chain 8 +9 -6", "completion": f"8+9=17\\n17-6={n}\\n= {n}"} for n in (11, 12)]
    >>> [round(value) for value in gd.score_samples(sure, tries).whole]
    [1, 0]
    """
    return judge(by, question, "yes", True, prompt, name)


def self_judge(question: str = "", scale: Scale = "yes", sure: bool = False, prompt: str = "") -> judge:
    """The policy judges its own completions, with the weights it has at the time: `judge` by `run_model("policy")`.

    Source: Yuan et al. 2024, arXiv:2401.10020. Such a reward is only as good as the judge, and training cannot show the
    difference: log the true reward beside it.

    Args:
        question: what is asked about the sample.
        scale: least and largest number, or "yes".
        sure: use the probabilities of the allowed words in place of the sampled one.
        prompt: template in place of the built-in one.

    >>> import guerdon as gd
    >>> print(gd.exact() + gd.self_judge("Is the answer polite?").weight(0.2))
    exact + 0.2 * self_judge
    """
    return judge(run_model("policy"), question, scale, sure, prompt, "self_judge")


def plays_role(reward: Any, samples: Samples) -> bool:
    """Whether the judge is asked in a role it was brought up on. A prompt of the user's own goes to anyone."""
    if reward.prompt or not reward.by.plays_roles(models_of(samples)):
        return False
    if reward.question:
        raise UserError(
            f"{reward.name}: sprig reads no question, it verifies, scores and compares solutions: leave it out"
        )
    return True


def template_of(prompt: str | Path, name: str) -> str:
    """The text of a prompt that may be given as a file, so that the run's hash has the text."""
    if isinstance(prompt, str):
        return prompt
    try:
        return prompt.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name}.prompt: {prompt} cannot be read as text: {error}") from error


def number_by(read: Callable[[str], float | None]) -> Callable[[JudgeAnswer], float | None]:
    """The number that a user's function reads from a reply; None where there is none, or no finite one."""

    def number(answer: JudgeAnswer) -> float | None:
        value = read(answer.text)
        return None if value is None or not math.isfinite(value) else float(value)

    return number


def texts_of(reward: Any, fields: Mapping[str, Any], question: str) -> dict[str, str]:
    """What a prompt may hold about a sample."""
    texts = {name: text_of(fields, name, reward.name) for name in ("prompt", "completion", "answer")}
    return {**texts, "question": filled(question, texts), "mark": mark_of(*texts.values())}


def texts_of_group(reward: Any, group: Sequence[Mapping[str, Any]], question: str) -> dict[str, str]:
    """What a prompt may hold about samples of one task."""
    texts = texts_of(reward, group[0], question)
    return {**texts, "mark": mark_of(*(text_of(fields, "completion", reward.name) for fields in group))}
