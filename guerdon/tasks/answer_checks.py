"""Whether a completion gives the answer of a row: the checks that `--check` names, and which of them answers look like.

A check is the truth that accuracy is made of. `exact` and `number` read text as the rewards `gd.exact` and `gd.numeric` do,
`math` is `gd.maths`, `plain_maths` the same without a package; `exact` also takes what the last line gives as the answer,
`= 24`, as solutions of generated families do. `python` runs unit tests in the sandbox.
What may hang (formulas, schemas, functions of the user's) runs in a worker process and is stopped after some seconds.
Leaves out: where answers come from (`files.py`).
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError, require_extra, unknown
from guerdon.core.task import Task
from guerdon.core.user_file import find_in_file
from guerdon.tasks.family import read_solution
from guerdon.tasks.field.plain_formula import plainly_equal
from guerdon.tasks.field.program_tests import passes_tests, passes_tests_later
from guerdon.tasks.slow_comparisons import fits_schema, same_formula
from guerdon.text.answers import MARKS, NOTHING, final_number, find_json, is_number, marked, normal, whole_json

SECONDS, SECONDS_OWN = 5.0, 30.0  # that a formula or schema may take, and a function of the user's
ABOUT = ("completion", "answer", "prompt", "task", "meta", "level")  # what a check is given by name, besides columns
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class CheckBroke(Exception):
    """A check that raised: its text is the exception of the function. The answer is neither right nor wrong."""


@dataclass(frozen=True)
class AnswerCheck:
    """How answers are checked: its name for `--check`, what that means in words, and the function. One that has `seconds` works
    in a worker process, for so long at most. `later` is the function for who can await, of the same parameters."""

    name: str
    words: str
    function: Callable[..., Any]
    seconds: float = 0.0
    trusted: bool = True
    later: Callable[..., Awaitable[Any]] | None = None

    async def wait(self, task: Task, completion: str) -> float | None:
        """The same by `later`."""
        assert self.later is not None
        return _verdict(await self.later(**self._arguments(task, completion)))

    def __call__(self, task: Task, completion: str) -> float | None:
        given = self._arguments(task, completion)
        if not self.seconds:
            return _verdict(self.function(**given))
        from guerdon.workers.worker_pool import shared_pool

        result = shared_pool().call_now(self.function, given, timeout=self.seconds, trusted=self.trusted)
        if result.kind == "timed out":
            raise TimeoutError(f"the check {self.name} took longer than {self.seconds:g} s")
        if result.kind == "failed":
            raise CheckBroke(result.error)
        return _verdict(result.value)

    def _arguments(self, task: Task, completion: str) -> dict[str, Any]:
        fields = (completion, task.answer, task.prompt, task, task.meta, task.level)
        known = {**task.meta, **dict(zip(ABOUT, fields, strict=True))}
        names, takes_all = _wants(self.function)
        return known if takes_all else {name: known[name] for name in names if name in known}

    def refuse_unknown(self, columns: Sequence[str]) -> None:
        """Refuse a function of the user's that asks for what rows do not have."""
        for name, parameter in inspect.signature(self.function).parameters.items():
            is_named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if is_named and parameter.default is parameter.empty and name not in (*ABOUT, *columns):
                raise unknown(f"argument of the check {self.name}", name, [*ABOUT, *columns])


def _verdict(value: Any) -> float | None:
    return None if value is None else float(value)


@functools.cache
def _wants(function: Callable[..., Any]) -> tuple[tuple[str, ...], bool]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters), any(p.kind is p.VAR_KEYWORD for p in parameters)


# --- the checks ------------------------------------------------------------------------------------------------------


def same_text(completion: str, answer: str) -> float | None:
    """Whether the answer is all that was said, or what the last line gives as the answer, `= 24`.

    >>> same_text(" Paris ", "Paris"), same_text("4*6=24" + chr(10) + "= 24", "24"), same_text("It is Paris", "Paris")
    (1.0, 1.0, 0.0)
    """
    wanted = answer.strip()
    return float(wanted in (completion.strip(), read_solution(completion)[1])) if wanted else None


def same_number(completion: str, answer: str) -> float | None:
    """Whether the number after the last mark (####, \\boxed, Answer:), or without one the last in the text, is the answer's.

    >>> same_number("48 + 24 = 72 clips.", "72"), same_number("#### 1,080", "1080.0"), same_number("none", "3")
    (1.0, 1.0, 0.0)
    """
    right, given = final_number(answer), final_number(completion)
    return None if right is None else float(given is not None and given.value == right.value)


def holds(completion: str, answer: str) -> float | None:
    """Whether the answer stands somewhere in what was said, as whole words, in any case and with any space.

    >>> holds("It is  paris, of course.", "Paris"), holds("14", "4")
    (1.0, 0.0)
    """
    wanted, said = (normal(text, casefold=True, spaces=True) for text in (answer, completion))
    if not wanted:
        return None
    before, after = (r"(?<!\w)" if wanted[0].isalnum() else ""), (r"(?!\w)" if wanted[-1].isalnum() else "")
    return float(re.search(before + re.escape(wanted) + after, said) is not None)


def same_choice(completion: str, answer: str, labelled: Any = None) -> float | None:
    """Whether the option that was chosen, by its letter or its text, is the answer's letter.

    >>> options = {"A": "red", "B": "blue"}
    >>> [same_choice(text, "B", options) for text in ("B", "(b)", "The answer is B.", "blue", "A or B? Answer: A")]
    [1.0, 1.0, 1.0, 1.0, 0.0]
    """
    if not answer.strip():
        return None
    named = labelled if isinstance(labelled, Mapping) else dict.fromkeys(LABELS, "")
    return float(chosen_label(completion, named) == answer.strip().upper())


def chosen_label(text: str, options: Mapping[str, str]) -> str | None:
    """The label of the option that a text chooses: what follows its mark, or the whole of it, as a label or an option's text;
    else the label that follows *answer*, or stands last in brackets or bold or alone; else the one option that it names."""
    after = marked(text, MARKS)
    said = normal(text if after is None else after, casefold=True, spaces=True)
    bare = said.strip(" .:;,()[]*_\"'`$\\{}")
    for label, option in options.items():
        if bare in (label.casefold(), normal(option, casefold=True, spaces=True) or None):
            return label.upper()
    labels = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    patterns = (
        rf"(?i:\b(?:answer|choice|option)(?:\s+is)?\b\s*:?)\s*[(\[*]*({labels})(?![\w'’])",
        rf"(?:\(|\[|\*\*)({labels})(?:\)|\]|\*\*|[.:)])",
        rf"(?<![\w'’])({labels})(?=[).:,]|\s*$)",
    )
    place = text if after is None else after
    for pattern in patterns:
        matches = re.findall(pattern, place)
        if matches:
            return str(matches[0 if after is not None else -1]).upper()
    named = [label for label, option in options.items() if option and holds(said, option) == 1.0]
    return named[0].upper() if len(named) == 1 else None


def same_json(completion: str, answer: str) -> float | None:
    """Whether the JSON in what was said has the value that the answer has: keys in any order, 1 and 1.0 the same.

    >>> same_json('Here: {"b": [1.0], "a": null}', '{"a": null, "b": [1]}'), same_json("true", "1")
    (1.0, 0.0)
    """
    right = whole_json(answer)
    if right is NOTHING:
        return None
    given = find_json(completion)
    return float(given is not NOTHING and _as_compared(given) == _as_compared(right))


def _as_compared(value: Any) -> Any:
    """A JSON value in which true is not 1."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {key: _as_compared(inner) for key, inner in value.items()}
    return [_as_compared(inner) for inner in value] if isinstance(value, list) else value


def fits_or_same(completion: str, answer: str = "", schema: Any = None) -> float | None:
    """By the row's schema, where it has one: whether the JSON fits it; else whether it has the answer's value."""
    if schema is None:
        return same_json(completion, answer)
    return fits_schema(completion, json.loads(schema) if isinstance(schema, str) else schema)


CHECKS = {
    check.name: check
    for check in (
        AnswerCheck("exact", "the text being the answer, or its last line `= answer`", same_text),
        AnswerCheck("number", "the last number in the text, or the one after ####, \\boxed or Answer:", same_number),
        AnswerCheck("choice", "the option that the text chooses, by letter or words", same_choice),
        AnswerCheck("contains", "the answer standing anywhere in the text", holds),
        AnswerCheck("math", "formulas that Math-Verify finds equal", same_formula, SECONDS),
        AnswerCheck("plain_maths", "formulas that come to the same, by a checker that needs no package", plainly_equal),
        AnswerCheck("json", "the JSON value in the text", fits_or_same, SECONDS),
        AnswerCheck(
            "python",
            "unit tests of the program in the text, run in the sandbox",
            passes_tests,
            later=passes_tests_later,
        ),
    )
}
EXTRAS = {"math": ("math_verify", "math-verify", "maths")}


def find_check(wanted: Any) -> AnswerCheck:
    """A check by its name, FILE.py:NAME, or a function of the user's."""
    if isinstance(wanted, AnswerCheck):
        return wanted
    if isinstance(wanted, str) and ".py" not in wanted:
        if wanted not in CHECKS:
            raise unknown("check", wanted, [*CHECKS, "FILE.py:NAME"])
        if wanted in EXTRAS and importlib.util.find_spec(EXTRAS[wanted][0]) is None:
            raise UserError(f"{require_extra(*EXTRAS[wanted][1:])} (or --check plain_maths, which needs nothing)")
        return CHECKS[wanted]
    function = find_in_file(wanted, "check") if isinstance(wanted, str) else wanted
    if not callable(function):
        raise UserError(f"a check is a name, FILE.py:NAME or a function, not {wanted!r}")
    name = wanted if isinstance(wanted, str) else getattr(function, "__name__", type(function).__name__)
    return AnswerCheck(name, f"your function {name}", function, SECONDS_OWN, trusted=False)


# --- guessing ----------------------------------------------------------------------------------------------------------


@dataclass
class AnswersSeen:
    """What the answers of a file look like, all of them: what a guess is made of."""

    count: int = 0
    numbers: int = 0
    letters: int = 0
    formulas: int = 0
    values: int = 0
    with_options: int = 0

    def see(self, answer: str, has_options: bool) -> None:
        self.with_options += has_options
        self.letters += len(answer) == 1 and answer in LABELS[:10]
        self.formulas += "\\" in answer or "$" in answer
        if self.numbers == self.count:  # as long as all are
            self.numbers += answer.isdecimal() or is_number(answer)
        if self.values == self.count:
            self.values += answer.startswith(("{", "[")) and whole_json(answer) is not NOTHING
        self.count += 1

    def guess(self) -> AnswerCheck:
        shares = {"choice": self.with_options or self.letters, "number": self.numbers, "json": self.values}
        for name, seen in shares.items():
            if self.count and seen == self.count:
                return CHECKS[name]
        if self.formulas * 10 >= self.count > 0:
            return CHECKS["math" if importlib.util.find_spec("math_verify") is not None else "plain_maths"]
        return CHECKS["exact"]
