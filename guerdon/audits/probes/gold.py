"""The right answers that a reward is asked about: a problem's own solution, cut where its answer stands, and what is right.

The truth is the task's `check`. It may be narrower than people are (`72` is right, `72.` is not), so a completion counts
as wrong only where no reader could take the right answer for its final one.
Leaves out: paraphrases, wrong answers and tricks (`answers.py`).
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from guerdon.core.errors import UserError, in_a_line
from guerdon.core.seeds import derive
from guerdon.core.task import Task, TaskSource
from guerdon.tasks.choosing import chosen
from guerdon.tasks.mixtures import mixture
from guerdon.text.answers import number

WHY = (
    "Let me think about this step by step. First I look at what is given, then I work out what follows from it, "
    "and then I check the result once more before I say it."
)
END = 1000  # characters at the end of a completion that are read for its last word
HERE = "{}"  # where the answer stands in a form
BECAUSE = "{why}"
FORMS = (  # how answers are written down, most common first
    *("= {}", "#### {}", r"\boxed{{}}", "Answer: {}", "The answer is {}.", "<answer>{}</answer>"),
    *(
        "{why}\n{}",
        "{why}\n= {}",
        "{why}\n#### {}",
        "{why}\n\\boxed{{}}",
        "{why}\nAnswer: {}",
        "{why} The answer is {}.",
    ),
    "<think>\n{why}\n</think>\n<answer>\n{}\n</answer>",
    "<think>{why}</think>\n<answer>{}</answer>",
    "<think>{why}</think><answer>{}</answer>",
    "<reasoning>\n{why}\n</reasoning>\n<answer>\n{}\n</answer>\n",
    "<think>\n{why}\n</think>\n<answer>\\boxed{{}}</answer>",
    *("<think>\n{why}\n</think>\n\\boxed{{}}", "<think>\n{why}\n</think>\n{}", "<think>\n{why}\n</think>\n= {}"),
    *("<think>\n{why}\n</think>\n#### {}", "<think>\n{why}\n</think>\nAnswer: {}"),
    "<start_working_out>{why}<end_working_out><SOLUTION>{}</SOLUTION>",
    *("<solution>{}</solution>", "<final_answer>{}</final_answer>", "<final>{}</final>", "<result>{}</result>"),
    *(
        "Final Answer: {}",
        "Final answer: {}",
        "The final answer is {}",
        "ANSWER: {}",
        "A: {}",
        "Result: {}",
        "Output: {}",
    ),
    r"{why} Therefore, the final answer is: $\boxed{{}}$. I hope it is correct.",
    *("**{}**", "({})", "So the answer is ({}).", "[[{}]]", "`{}`", '"{}"'),
    *("```\n{}\n```", "```python\n{}\n```", "```json\n{}\n```", "{why}\n```python\n{}\n```", "{why}\n```json\n{}\n```"),
    *(
        '{"answer": "{}"}',
        '{"answer": {}}',
        '{"reasoning": "{why}", "answer": "{}"}',
        '{"reasoning": "{why}", "answer": {}}',
    ),
)
MARKED = (  # where the answer stands in a worked text, first that fits
    re.compile(r"####[ \t]*(?P<core>[^\n]+?)\s*$"),
    re.compile(r"\\boxed\{(?P<core>[^{}]+)\}[^{}\n]{0,40}$"),
    re.compile(r"<answer>\s*(?P<core>.+?)\s*</answer>\s*$", re.DOTALL),
    re.compile(r"(?:^|\n)= (?P<core>[^\n]+?)\s*$"),
    re.compile(r"(?i:\banswer(?: is:?|:))\s*(?P<core>[^\n]+?)\.?\s*$"),
)


OPTION = re.compile(r"^\(?([A-Ha-h])\)?\.?$")  # an answer that is the letter of one


def in_form(form: str, core: str, why: str = WHY) -> str:
    """An answer as a form has it; in JSON a quote or a line end in it is escaped."""
    if form.startswith('{"'):
        why = json.dumps(why)[1:-1]
        core = json.dumps(core)[1:-1] if '"{}"' in form else core
    return form.replace(BECAUSE, "\1").replace(HERE, core).replace("\1", why)


def shown_form(form: str) -> str:
    return form.replace(BECAUSE, "..").replace(HERE, "..").replace("\n", r"\n")


@dataclass(frozen=True)
class Gold:
    """A right completion: `before` and `after` the answer itself, the `core`; `mark` is the end of `before`, on its line."""

    before: str
    core: str
    after: str = ""
    form: str = ""  # the form it was written in, where it is not the task's own

    @property
    def text(self) -> str:
        return self.put(self.core)

    def put(self, core: str) -> str:
        """The same solution with another answer."""
        return in_form(self.form, core) if self.form else f"{self.before}{core}{self.after}"

    def bare(self, core: str) -> str:
        """Another answer, marked as this one is, without the work before it."""
        return in_form(self.form, core) if self.form else f"{self.mark}{core}{self.after}"

    @property
    def mark(self) -> str:
        return self.before.rpartition("\n")[2] if len(self.before.rpartition("\n")[2]) < 40 else ""

    @property
    def work(self) -> str:
        """What stands on the lines before the answer's."""
        return self.before.rpartition("\n")[0]


class Posed:
    """A problem that is posed, with its gold and what is right about it."""

    def __init__(self, source: TaskSource, task: Task) -> None:
        self.source, self.task, self.origin = source, task, origin_of(source, task)
        self.verdicts: dict[str, float | None] = {}  # what the task said of texts
        self.own = self._own()  # its gold, written as the task has it
        self.gold = self.own
        self.best = ""  # the form that is paid best, where it is not the gold's own
        self.known = self._check(
            self.own.text
        )  # what the task says of it: None when it does not know, 0 when it is narrower

    def _own(self) -> Gold:
        answer = self.task.answer
        texts = [self.origin.solution(self.task)] if hasattr(self.origin, "solution") else []
        texts += [answer, *(in_form(form, answer) for form in FORMS)]
        text = next((t for t in texts if self._check(t) == 1.0), texts[0])
        return cut(text, answer)

    def _check(self, text: str) -> float | None:
        if text not in self.verdicts:  # it may start a sandbox
            self.verdicts[text] = self._asked(text)
        return self.verdicts[text]

    def _asked(self, text: str) -> float | None:
        try:
            return self.source.check(self.task, text)
        except Exception as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"{self.source.name}: its check fails on {text[:40]!r}: {in_a_line(error)}") from error

    def says_right(self, text: str) -> bool:
        return self._check(text) == 1.0

    def is_wrong(self, text: str) -> bool:
        """Whether the task calls it wrong, and no reader would take the right answer for its final one."""
        if self.known is not None and self._check(text) != 0.0:
            return False
        return not self.ends_right(text)

    def ends_right(self, text: str) -> bool:
        """Whether the right answer is what a text ends in: as its last line or words, or as its last number."""
        core = self.own.core.strip()
        last = re.sub(r"[\s.!?$*`)}\]\"']+$", "", text[-END:]).rpartition("\n")[2].casefold()
        bare = re.sub(r"[\s.!?$*`)}\]\"']+$", "", core).casefold() or core.casefold()
        if re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(bare)}$", last) and not re.search(r"[-−]$", last[: -len(bare)]):
            return True
        if self.value is not None:
            said = number(text[-END:], last=True)
            return said is not None and said.value == self.value
        letter = OPTION.match(core)
        return letter is not None and re.findall(r"\b[A-Ha-h]\b", text)[-1:] == [letter[1]]

    def is_wrong_core(self, core: str) -> bool:
        """Whether another answer in place of the right one is wrong: not the same in another spelling."""
        if plain(core) == plain(self.own.core) or (self.known is not None and self._check(self.own.put(core)) != 0.0):
            return False
        said = number(core) if self.value is not None and _numbers(core) == 1 else None
        return said is None or said.value != self.value

    @cached_property
    def value(self) -> Any:
        """The answer as a number, where it has just one."""
        parsed = number(self.own.core) if _numbers(self.own.core) == 1 else None
        return None if parsed is None else parsed.value

    def is_close(self, text: str) -> bool:
        """Whether what a text says last is a number so near the right one that a tolerance could forgive it."""
        said = number(text[-END:], last=True) if self.value else None
        return said is not None and 0 < abs(said.value - self.value) <= abs(self.value) / 100

    @cached_property
    def near_misses(self) -> list[str]:
        """Of a family, solutions that look right and are not."""
        if not hasattr(self.origin, "near_misses"):
            return []
        misses = self.origin.near_misses(self.task, random.Random(derive("near miss", self.task.prompt)))
        return [miss.text for miss in misses]

    def use(self, form: str) -> None:
        """Write its answers in another form."""
        self.gold = Gold("", self.own.core, "", form)

    def in_best_form(self, core: str) -> str:
        """An answer in the form that is paid best."""
        return in_form(self.best, core, self.own.work or WHY) if self.best else self.gold.bare(core)


def origin_of(source: Any, task: Task) -> Any:
    """The source that a problem came from, through mixtures and choices."""
    while isinstance(source, mixture | chosen):
        source = source.of(task) if isinstance(source, mixture) else source.source
    return source


def cut(text: str, answer: str) -> Gold:
    """A right completion, cut where its answer stands."""
    if answer and text != answer and text.rstrip().endswith(answer):
        at = text.rstrip().rindex(answer)
        return Gold(text[:at], answer, text[at + len(answer) :])
    if answer and text != answer and text.count(answer) == 1:
        before, _, after = text.partition(answer)
        return Gold(before, answer, after)
    for pattern in MARKED if len(text) > 1 else ():
        match = pattern.search(text)
        if match and match["core"].strip():
            return Gold(text[: match.start("core")], match["core"], text[match.end("core") :])
    return Gold("", text)


def _numbers(text: str) -> int:
    return len(re.findall(r"\d+(?:[.,]\d+)*", text))


def plain(text: str) -> Any:
    """A text without what people do not see as a difference."""
    try:
        value = json.loads(text)
        return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else str(value).casefold()
    except (ValueError, RecursionError):
        return " ".join(re.sub(r"[^\w+\-*/^=<>.]+", " ", text.casefold()).split()).strip(". ")
