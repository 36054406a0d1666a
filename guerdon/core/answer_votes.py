"""The answer that a vote counts.

Leaves out: marks, numbers and JSON (`core/answer_text.py`), and the counting.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from guerdon.core.answer_text import final_number, marked, normal


def vote(text: str, answer: str, marks: Sequence[str], fallback: bool) -> Hashable | None:
    """The answer that a text gives, for counting: the number, or the text (in any case, any space as one), that follows the
    last place of the first of `marks` that occurs; without one the last number, or the whole text, unless `fallback` is off.

    >>> vote("so 4, Answer: five", "text", ("Answer:",), True), str(vote("so 4", "number", ("Answer:",), True))
    ('five', '4')
    """
    if answer == "number":
        parsed = final_number(text, marks, fallback)
        return None if parsed is None else parsed.value
    after = marked(text, marks)
    if after is None and not fallback:
        return None
    return normal(text if after is None else after, casefold=True, spaces=True) or None
