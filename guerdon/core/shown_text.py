"""Texts and numbers as people read them: long ones cut, nothing hidden in them.

Leaves out: markup (`display/html.py`).
"""

from __future__ import annotations

import math
from typing import Any

LONGEST = 300  # characters of a text in a line or a cell
# control characters stand there as their pictures; what turns the direction of writing is spelled out
HIDDEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
HIDDEN_WORDS = {code: f"\\u{code:04x}" for code in (0x061C, *range(0x200E, 0x2010), *range(0x202A, 0x202F))}
HIDDEN_WORDS |= {code: f"\\u{code:04x}" for code in range(0x2066, 0x206A)}


def cut(text: str, longest: int = LONGEST) -> str:
    """A text, its middle left out where it is long."""
    half = max(1, (longest - 5) // 2)
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"


def visible(text: str) -> str:
    """A text in which nothing is hidden; lone surrogates, which have no UTF-8, are spelled out."""
    return text.translate(HIDDEN).translate(HIDDEN_WORDS).encode("utf-8", "backslashreplace").decode()


def number(value: Any) -> str:
    """A number as people read it; a dash for none.

    >>> number(0.25), number(3), number(None), number(float("nan"))
    ('0.25', '3', '-', '-')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
