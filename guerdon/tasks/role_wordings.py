"""The wordings in which a model is asked to act in a role: sprig's control words, and plain language for other models.

A recipe's part takes one as a knob, `wording: str = ROLE_WORDINGS["verify"].knob(question="prompt", answer="attempt")`, the
fields by what they are called there. Which wording counts depends on the model (`core/wordings.py`).
Leaves out: the truth about replies of sprig's roles (`roles.py`), and judges, which mark off what they judge (`judges`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.core.wordings import ByModel, by_model
from guerdon.tasks.field.reflections import debug_view, fix_view, reflect_view
from guerdon.tasks.judging.judge_roles import critique_view
from guerdon.tasks.roles import prefer_view, propose_view, revise_view, said, score_view, verify_view
from guerdon.text.verdicts import NO, NONE, YES, read_after, read_line, read_number, read_side, read_verdict

if TYPE_CHECKING:  # lists need no torch
    from guerdon.core.play import Play


@dataclass(frozen=True)
class RoleWording:
    """A role in two wordings, with fields in braces.

    Args:
        name: its name in settings, `roles.NAME`.
        about: what a reply says.
        fields: what a wording has in braces, all of them.
        sprig: the wording that sprig was trained on.
        plain: the wording for models that follow instructions, with the form of the reply.
        form: that form, for roles whose reply ends on a verdict.
        read: reads it from a reply, None where there is none; of other roles, whose reply the task reads, it is the reply.
    """

    name: str
    about: str
    fields: tuple[str, ...]
    sprig: str
    plain: str
    form: str = ""
    read: Callable[[str], str | int | None] = str

    def reply(self, said: str | int) -> str:
        """The last line of a reply that says this."""
        return self.form.format(str(said).upper() if self.name == "prefer" else said)

    def is_sprigs(self, wording: str) -> bool:
        """Whether a wording is sprig's, whatever its fields are called there."""
        return FIELD.sub("{}", wording) == FIELD.sub("{}", self.sprig)

    def log_read(self, wording: str, is_read: Iterable[bool], play: Play) -> None:
        """Log how many replies to a wording there were in a step, and how many could not be read. Runs in sprig's wording have
        metrics of their own for that."""
        if not self.is_sprigs(wording):
            each = list(is_read)
            lost = float(each.count(False))
            play.log(**{f"roles/{self.name}/asked": float(len(each)), f"roles/{self.name}/unreadable": lost})

    @property
    def values(self) -> ByModel:
        """Its two values for a knob that is empty for sprig, with the fields as they are called here."""
        return ByModel("", self.plain, self.name, {name: name for name in self.fields})

    def knob(self, *, required: bool = False, joined: bool = True, **places: str) -> Any:
        """A knob that holds this wording, its fields as they are called there. One that `joined` a part in use is not in the
        hash while it is sprig's."""
        called = {name: places.get(name, name) for name in self.fields}
        sprig, plain = (
            text.format(**{name: f"{{{place}}}" for name, place in called.items()}) for text in (self.sprig, self.plain)
        )
        absent = sprig if joined else dataclasses.MISSING
        return by_model(sprig, plain, role=self.name, places=called, required=required, absent=absent)


FIELD = re.compile(r"\{\w+\}")
TOP = 8  # tries that a forecast is of, as the released code of MASA asks for it
ABOUT = "\n\nProblem:\n{question}\n\nAnswer:\n{answer}"  # the request stands first: small models keep to its form then
PROGRAM = "{question}\n\nThis program is wrong:\n```python\n{answer}\n```\n\nHere it fails: {failure}\n\n"

ROLE_WORDINGS = {
    each.name: each
    for each in (
        RoleWording(
            "verify",
            "whether an answer is right",
            ("question", "answer"),
            verify_view("{question}", "{answer}"),
            "Check whether an answer to a problem is right. Say briefly why, then end with one line:"
            ' "Verdict: yes" if it is right, or "Verdict: no" if it is wrong.' + ABOUT,
            "Verdict: {}",
            read_verdict,
        ),
        RoleWording(
            "score",
            "how good an answer is, from 1 to 5",
            ("question", "answer"),
            score_view("{question}", "{answer}"),
            "Score an answer to a problem from 1 to 5. Say briefly why, then end with one line: "
            '"Score: 5 of 5" if it is right, down to "Score: 1 of 5" if it is wrong from the start.' + ABOUT,
            "Score: {} of 5",
            lambda reply: read_number(reply, 1, 5),
        ),
        RoleWording(
            "prefer",
            "which of two answers is better",
            ("question", "first", "second"),
            prefer_view("{question}", "{first}", "{second}"),
            "Compare two answers to a problem. Say briefly why one is better, then end with one line: "
            '"Better: A" if answer A is better, or "Better: B" if answer B is better.\n\nProblem:\n{question}'
            "\n\nAnswer A:\n{first}\n\nAnswer B:\n{second}",
            "Better: {}",
            read_side,
        ),
        RoleWording(
            "critique",
            "the number of the first wrong line of a solution, or none",
            ("question", "answer"),
            critique_view("{question}", "{answer}"),
            'Check each line of a solution to a problem, then end with one line: "First wrong line: N", N being the number of'
            ' the first line that is wrong, or "First wrong line: none".\n\nProblem:\n{question}\n\nSolution:\n{answer}',
            "First wrong line: {}",
            read_line,
        ),
        RoleWording(
            "revise",
            "a better answer",
            ("question", "answer"),
            revise_view("{question}", "{answer}"),
            "{question}\n\nHere is an earlier answer to this:\n{answer}\n\nIt may be wrong. Look for mistakes in it, then"
            " answer again, in the form that is asked for above.",
        ),
        RoleWording(
            "reflect",
            "a program, what is wrong with it and a better one, until nothing is wrong",
            ("question",),
            reflect_view("{question}"),
            "{question}\n\nWrite the program in a ```python block. Then look for a mistake in it, without running it. If there"
            " is one, say in a sentence what is wrong, write the whole corrected program in another ```python block, and look"
            ' again. If there is none, end with one line, "Verdict: ok".',
        ),
        RoleWording(
            "explain",
            "what is wrong with a program, and a corrected one",
            ("question", "answer", "failure"),
            debug_view("{question}", "{answer}", "{failure}"),
            PROGRAM
            + "Say in one or two sentences what is wrong with it. Then write the whole corrected program in a ```python"
            " block.",
        ),
        RoleWording(
            "fix",
            "a corrected program",
            ("question", "answer", "failure"),
            fix_view("{question}", "{answer}", "{failure}"),
            PROGRAM + "Write the whole corrected program in a ```python block, and nothing else.",
        ),
        RoleWording(
            "forecast",
            "how many of 8 tries at a problem will be right",
            ("question",),
            "rate\n{question}",
            "Estimate how many of 8 tries at a problem you would get right. Do not solve it. Say it in one line: "
            '"Forecast: 8 of 8" if all would be right, down to "Forecast: 0 of 8" if none would.'
            "\n\nProblem:\n{question}",
            "Forecast: {} of 8",
            lambda reply: read_forecast(reply),
        ),
        RoleWording(
            "propose",
            "a new problem of a kind",
            ("kind", "level", "example"),
            propose_view("{kind}", "{level}"),
            "Write one new problem of the kind {kind}, level {level}. Here is one:\n{example}\n\nSolve yours first, so that it"
            ' has a solution. End with one line, "Problem: ..." with the problem as it is to be asked.',
            "Problem: {}",
            lambda reply: read_after(reply, "problem"),
        ),
    )
}

REFERENCED = RoleWording(  # with the right answer above the one to be verified
    "verify",
    "whether an answer is right",
    ("question", "reference", "answer"),
    verify_view("{question}", "reference {reference}\n{answer}"),
    "Check whether an answer to a problem agrees with the right answer. Say in one line: "
    '"Verdict: yes" if it does, or "Verdict: no" if it does not.\n\nProblem:\n{question}'
    "\n\nRight answer:\n{reference}\n\nAnswer to be checked:\n{answer}",
    "Verdict: {}",
    read_verdict,
)
MARKED = dataclasses.replace(ROLE_WORDINGS["critique"], sprig=ROLE_WORDINGS["verify"].sprig)  # sprig marks every line


def verdict_in(reply: str) -> str | None:
    """Yes or no, as sprig ends on it, or after a `Verdict:`; None where there is neither.

    >>> [verdict_in(text) for text in ("2+2=4 +\\n= yes", "It adds up. Verdict: no", "yes it is")]
    ['yes', 'no', None]
    """
    return said(reply, (YES, NO)) or (read_verdict(reply) if "verdict" in reply.lower() else None)


def numbered(text: str) -> str:
    """The lines of a solution with their numbers.

    >>> print(numbered("9x=36\\n\\nx=4"))
    1. 9x=36
    2. x=4
    """
    return "\n".join(f"{n}. {line}" for n, line in enumerate(filter(str.strip, text.split("\n")), start=1))


def marks_by_critique(text: str, reply: str, right: bool) -> list[float] | None:
    """A number for every line of a solution by the first wrong one that a reply names: 1 before it, 0, and after it whether the
    solution is `right`. None where it names none of them.

    >>> marks_by_critique("9x=36\\nx=5\\n= 5", "First wrong line: 2", right=False)
    [1.0, 0.0, 0.0]
    """
    size, first = sum(bool(line.strip()) for line in text.split("\n")), read_line(reply)
    if first == NONE:
        return [1.0] * size
    return (
        None
        if not isinstance(first, int) or first > size
        else [1.0] * (first - 1) + [0.0] + [float(right)] * (size - first)
    )


def read_forecast(reply: str) -> int | None:
    """How many of 8: the number that a reply begins with, or that it states.

    >>> [read_forecast(text) for text in ("5", " 5 of 8", "9", "It is hard. Forecast: 2", "so 5")]
    [5, 5, None, 2, None]
    """
    number = re.match(r"\s*(\d+)", reply)
    if number is None:
        return read_number(reply, 0, TOP, "forecast")
    return int(number[1]) if int(number[1]) <= TOP else None
