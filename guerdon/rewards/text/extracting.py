r"""Finding an answer in text: the answer that a vote counts, and lists of items.

Leaves out: marks, numbers and JSON (`core/answer_text.py`), algebra (`maths` in `answers.py`).
"""

from __future__ import annotations

import re
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


# --- items --------------------------------------------------------------------------------------------------------

PAIRS = {"[": "]", "(": ")", "{": "}", '"': '"', "'": "'", "“": "”", "`": "`"}


def items(text: str, separator: str) -> list[str]:
    """The items of a list in text: split at the pattern `separator`; brackets, bullets and quotes around them are taken off.

    >>> items('["red", "blue"]', ","), items("- red" + chr(10) + "- blue", r"[,\\n]")
    (['red', 'blue'], ['red', 'blue'])
    """
    text = text.strip().removeprefix("\\{").removesuffix("\\}")
    pieces = (piece or "" for piece in re.split(separator, _unwrapped(text)))
    bare = (_unwrapped(re.sub(r"^\s*[-*•]\s+", "", piece).strip()) for piece in pieces)
    return [item for item in bare if item]


def _unwrapped(text: str) -> str:
    return text[1:-1].strip() if len(text) > 1 and PAIRS.get(text[0]) == text[-1] else text
