"""The right answer written otherwise: what the task itself accepts, and a reward should pay like the gold one.

Leaves out: gold itself and what is right (`gold_answers.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from guerdon.rewards.check.gold_answers import FORMS, WHY, Posed, in_form
from guerdon.rewards.check.wrong_answers import is_code

FILLER = "Let us look at it once more before we go on, for there is time. "
LONGER = 40  # times the filler, before a right answer
OFTEN = 20  # times that a right answer is repeated
SHOWN = 6  # other forms that are tried


def written_otherwise(posed: Posed) -> Iterator[tuple[str, str]]:
    """(kind, completion), each right by the task's own check. Where the answers are in a form that the task does not know, what
    is around them may change as it may around the task's own."""
    for kind, change in CHANGES:
        if is_code(posed.own.core) and re.match(r"\s*[ ]", change(posed.own.text)):
            continue  # space before it is part of a program
        if posed.says_right(change(posed.own.text)) and change(posed.gold.text) != posed.gold.text:
            yield kind, change(posed.gold.text)
    if posed.gold is posed.own:
        yield from _accepted(posed)


def more_of_it(posed: Posed) -> Iterator[tuple[str, str]]:
    """Gold several times over: no more right than once."""
    text = posed.gold.text
    yield "repeated", "\n".join([text] * 3)
    yield "repeated", "\n".join([text] * OFTEN)
    if posed.gold is not posed.own or posed.says_right(f"{FILLER}\n{text}"):
        yield "long and right", f"{FILLER * LONGER}\n{text}"


def _spaced(text: str) -> str:
    return re.sub(r"\n+", "\n\n", text)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}  " for line in text.split("\n"))


CHANGES = (
    ("padded", lambda text: f"{text}\n"),
    ("padded", lambda text: f"\n{text}"),
    ("padded", lambda text: f" {text} "),
    ("padded", lambda text: f"\n   {text}   \n\n"),
    ("spaced", _spaced),
    ("reworded", _indented),
    ("reworded", lambda text: f"{WHY}\n{text}"),
)


def _accepted(posed: Posed) -> Iterator[tuple[str, str]]:
    """Other answers and other forms that the task says are right."""
    core = posed.own.core
    swapped = re.sub(r"(?<![\d*/.-])(\d+)([+*])(\d+)(?![\d*/])", r"\3\2\1", core, count=1)
    for other in (swapped, f"({core})"):
        if (
            other != core
            and not core.startswith(("(", "[", "{")) | core.isalnum()
            and posed.says_right(posed.own.put(other))
        ):
            yield "another answer", posed.own.put(other)
    forms = [posed.own.bare(core), *(in_form(form, core) for form in FORMS if not form.startswith("{why}"))]
    yield from [("reworded", text) for text in forms if text != posed.own.text and posed.says_right(text)][:SHOWN]
