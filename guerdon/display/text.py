"""What stands in a run folder as people read it: numbers, views of a role, exceptions, details of a score."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from guerdon.core.episode import End

FEW = 16  # numbers of an array that stand there one by one
Style = Literal["number", "signed", "count", "share"]
ENDS = {
    End.DONE: "ended by itself",
    End.CUT: "cut short by a limit",
    End.FAILED: "failed",
    End.STOPPED: "stopped at a stop string",
}


def show(value: float, style: Style = "number") -> str:
    """A number at the precision a reader can use; a true minus sign, thousands apart.

    >>> show(-0.12345), show(1234567), show(0.5, "share"), show(2.0, "signed")
    ('−0.123', '1.23e6', '50.0 %', '+2')
    """
    if style == "count":
        text = f"{value:,.0f}"
    elif style == "share":
        text = f"{100 * value:.1f} %"
    else:
        text = _rounded(value)
        if style == "signed" and value > 0:
            text = f"+{text}"
    return text.replace("-", "−")


def _rounded(value: float) -> str:
    size = abs(value)
    if not math.isfinite(value) or size >= 1e6 or 0 < size < 1e-3:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits}e{int(power)}" if power else digits
    if value == int(value) or size >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.{1 if size >= 100 else 2 if size >= 10 else 3 if size >= 0.1 else 4}f}"


def view_text(view: Any) -> str:
    """Text as it is, a small array by its numbers, a large one by its type and shape.

    >>> view_text(["which corner?", np.zeros((32, 32, 3), np.uint8)])
    '["which corner?", "uint8 32 x 32 x 3"]'
    """
    return view if isinstance(view, str) else json.dumps(view, default=_named, ensure_ascii=False)


def _named(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a view holds JSON and arrays, not {type(value).__name__}")
    if value.size <= FEW:
        return [float(f"{x:.4g}") if value.dtype.kind == "f" else x for x in value.ravel().tolist()]
    return f"{value.dtype} {' x '.join(map(str, value.shape))}"


@dataclass(frozen=True)
class ErrorText:
    """An exception: its last line, and the whole of it for who opens it."""

    line: str
    whole: str


def error_text(error: str, otherwise: str = "") -> ErrorText:
    """Of an exception's traceback; `otherwise` is the line of one that says nothing."""
    return ErrorText((error.strip().splitlines() or [otherwise])[-1], error.strip())


def split_detail(detail: Any) -> tuple[str, str]:
    """The error in a column's detail, and the rest of it as JSON."""
    error = str(detail["error"]) if isinstance(detail, dict) and "error" in detail else ""
    rest = {n: v for n, v in detail.items() if n != "error"} if isinstance(detail, dict) else detail
    return error, json.dumps(rest, ensure_ascii=False) if rest else ""
