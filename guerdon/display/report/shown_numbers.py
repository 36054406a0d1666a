"""A number on the page: its text, and the key by which it can be computed again from the run folder.

Every number that the report shows is made here, so each can be checked from the folder; `tests/test_report.py` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from guerdon.runs.headline import finite

Style = Literal["number", "signed", "count", "share", "tick", "tick_share"]


@dataclass(frozen=True)
class ShownNumber:
    """`key` stands in the page's `data-key`, `text` is what people read."""

    key: str
    text: str


def number(key: str, value: Any, style: Style = "number") -> ShownNumber | None:
    """A finite number with its key; None for anything else, of which the page says in words that there is none."""
    if finite(value) is None:
        return None
    return ShownNumber(key, show(value, style))


def key_of(*parts: str | int) -> str:
    """A stable name for a number on the page, without blanks so that several can stand in one attribute."""
    return quote("/".join(str(p) for p in parts), safe="/@:._-+=[]()", errors="backslashreplace")


def show(value: float, style: Style = "number") -> str:
    """A number at the precision a reader can use; a true minus sign, thousands apart.

    >>> show(-0.12345), show(1234567), show(0.5, "share"), show(2.0, "signed")
    ('−0.123', '1.23e6', '50.0 %', '+2')
    >>> show(0.25, "tick"), show(25000, "tick"), show(5e-9, "tick"), show(0.5, "tick_share")
    ('0.25', '25,000', '5e−9', '50 %')
    """
    if style == "count":
        text = f"{value:,.0f}"
    elif style == "share":
        text = f"{100 * value:.1f} %"
    elif style == "tick_share":
        text = f"{100 * value:.10g} %"
    elif style == "tick":
        text = _exact(value)
    else:
        text = _rounded(value)
        if style == "signed" and value > 0:
            text = f"+{text}"
    return text.replace("-", "−")


def _exact(value: float) -> str:
    """A round number, with no more digits than it has."""
    if value and not 1e-3 <= abs(value) < 1e6:
        digits, _, power = f"{value:e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def _rounded(value: float) -> str:
    size = abs(value)
    if not math.isfinite(value) or size >= 1e6 or 0 < size < 1e-3:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits}e{int(power)}" if power else digits
    if value == int(value) or size >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.{1 if size >= 100 else 2 if size >= 10 else 3 if size >= 0.1 else 4}f}"
