"""HTML that cannot be broken into, and numbers as people read them.

Every plain `str` put into an element is escaped; only what `el` itself made (`Html`) goes in as it is. So a completion,
a prompt or a name needs no thought: it cannot become markup.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import Literal
from urllib.parse import quote

Style = Literal["number", "signed", "count", "share"]
EMPTY_TAGS = ("meta", "br", "path", "line", "circle", "rect")


class Html(str):
    """Markup made by `el`. A plain `str` is never one."""


def el(name: str, /, *inside: str, **attributes: str | float | bool | None) -> Html:
    """An element. `class_` and `data_key` become `class` and `data-key`; None and False leave the attribute out."""
    said = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        said += f" {attribute}" if value is True else f' {attribute}="{html.escape(_visible(str(value)))}"'
    if name in EMPTY_TAGS and not inside:
        return Html(f"<{name}{said}/>" if name not in ("meta", "br") else f"<{name}{said}>")
    return Html(f"<{name}{said}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    return Html("".join(p if isinstance(p, Html) else html.escape(_visible(p)) for p in parts))


def free(text: str, tag: str = "span", /, **attributes: str | float | bool | None) -> Html:
    """Words of the run itself (a name, a hash, a prompt), as opposed to a number the report shows."""
    return el(tag, text, data_text=True, **attributes)


def _visible(text: str) -> str:
    """Control characters as their pictures: a NUL must neither vanish nor break the page."""
    return "".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\t\n" else c for c in text)


def key_of(*parts: str | int) -> str:
    """A stable name for a number on the page, without blanks so that several can stand in one attribute."""
    return quote("/".join(str(p) for p in parts), safe="/@:._-+=[]()", errors="backslashreplace")


def show(value: float, style: Style = "number") -> str:
    """A number at the precision a reader can use; a true minus sign, thousands apart."""
    if style == "count":
        said = f"{value:,.0f}"
    elif style == "share":
        said = f"{100 * value:.1f} %"
    else:
        said = _number(value)
        if style == "signed" and value > 0:
            said = f"+{said}"
    return said.replace("-", "−")


def _number(value: float) -> str:
    size = abs(value)
    if not math.isfinite(value) or size >= 1e6 or 0 < size < 1e-3:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits}e{int(power)}" if power else digits
    if value == int(value) or size >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.{1 if size >= 100 else 2 if size >= 10 else 3 if size >= 0.1 else 4}f}"
