r"""Finding an answer in text: the answer that a vote counts, and lists of items.

Leaves out: marks, numbers and JSON (`core/answer_text.py`), algebra (`maths` in `answers.py`).
"""

from __future__ import annotations

import re

from guerdon.core.answer_votes import vote as vote

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
