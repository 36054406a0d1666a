"""Which columns of a user's rows are the prompt, the answer, the worked solution, the options: named, or guessed.

A guess is made from the names and the first hundred rows, and refused, with what to type, where two names fit or none does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError
from guerdon.data.data_rows import LOOKED_AT, Records
from guerdon.data.lines import shown
from guerdon.text.answers import marked

PROMPTS = (
    "prompt",
    "question",
    "problem",
    "instruction",
    "query",
    "input",
    "messages",
    "conversation",
    "conversations",
)
ANSWERS = (
    *(
        "answer",
        "final_answer",
        "answers",
        "answer_key",
        "correct_answer",
        "ground_truth",
        "expected",
        "expected_answer",
    ),
    *("expected_output", "gold", "target", "label", "output", "response", "completion", "reference", "solution"),
)
OPTIONS = ("choices", "options")
MARKS = ("####", r"\boxed")  # what a worked solution has its final answer after
NONE = "none"  # for --answer: there are no answers, only a reward judges


class OtherRows(UserError):
    """Rows of another kind than what is wanted of them, as far as their columns tell."""


@dataclass(frozen=True)
class RowColumns:
    """Columns by what they are for; empty where there is none. `mark`: answers are worked solutions, and what follows it is the
    final answer. `is_chat`: the last message of the prompt's column may be the answer."""

    prompt: str = ""
    answer: str = ""
    solution: str = ""
    options: str = ""
    mark: str = ""
    is_chat: bool = False


def find_columns(rows: Records, name: str, prompt: str, answer: str, solution: str, has_template: bool) -> RowColumns:
    """The columns of some rows; those that were named must be there."""
    there = rows.columns
    first = [row.value for row in itertools.islice(rows, LOOKED_AT) if row.value is not None]
    if not first:
        return RowColumns(prompt or "prompt", "" if answer == NONE else answer or "answer", solution)
    for flag, column in (("--prompt", prompt), ("--answer", answer), ("--solution", solution)):
        if column and column not in there and not (flag == "--answer" and column == NONE):
            raise UserError(f"{name} has no column {shown(column)} for {flag} (columns: {named(there)})")
    options = _first(OPTIONS, there)
    if options and not any(isinstance(row.get(options), dict | list) or _is_listed(row.get(options)) for row in first):
        options = ""
    if not prompt and not has_template:
        prompt = _guess(PROMPTS, there, name, "prompt", f"--template '{{{{ {there[0] if there else 'COLUMN'} }}}} ...'")
    talks = [row.get(prompt) for row in first]
    is_chat = bool(prompt) and any(isinstance(talk, list | dict) for talk in talks)
    if not answer and not (is_chat and _first(ANSWERS, there, (prompt,)) == ""):
        also = f"--answer {NONE}, where a --reward alone judges"
        answer = _guess(ANSWERS, there, name, "answer", also, (prompt, options))
    answer = "" if answer == NONE and NONE not in there else answer
    texts = [row.get(answer) for row in first] if answer else []
    mark = next((m for m in MARKS if texts and all(isinstance(t, str) and marked(t, m) for t in texts)), "")
    return RowColumns(prompt, answer, solution, options, mark, is_chat)


def _guess(usual: Sequence[str], there: Sequence[str], name: str, what: str, also: str, but: Sequence[str] = ()) -> str:
    fitting = [column for column in there if _plain(column) in map(_plain, usual) and column not in but]
    best = [column for column in fitting if _plain(column) == usual[0]]
    if len(best) == 1 or len(fitting) == 1:
        return (best or fitting)[0]
    if fitting:
        several = " or ".join(f"`{column}`" for column in fitting[:4])
        raise UserError(f"{name}: the {what} could be {several}: say which, --{what} {fitting[0]} (or {also})")
    raise OtherRows(
        f"{name}: no column looks like the {what} (columns: {named(there)}): say which, --{what} COL (or {also})"
    )


def _first(usual: Sequence[str], there: Sequence[str], but: Sequence[str] = ()) -> str:
    fitting = [column for word in usual for column in there if _plain(column) == _plain(word) and column not in but]
    return fitting[0] if fitting else ""


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _is_listed(value: Any) -> bool:
    """Whether a text of a CSV is a list in JSON."""
    return isinstance(value, str) and value.startswith(("[", "{"))


def first_of(texts: Sequence[str], count: int, between: str = "; ", total: int = 0) -> str:
    """Some of what there is, and how much more: of `total`, where not all of it is at hand."""
    more = (total or len(texts)) - count
    return between.join([*texts[:count], *([f"and {more} more"] if more > 0 else [])])


def named(columns: Sequence[str]) -> str:
    """Names of columns in a message."""
    return first_of([name if name.isidentifier() and len(name) <= 40 else shown(name) for name in columns], 8, ", ")
