"""SVG as text, for figures that stand by themselves: elements whose words are escaped, and the scales they are drawn by.

Every plain `str` put into an element is escaped; only what `el` itself made (`Svg`) goes in as it is.
Leaves out: the report, whose charts are templates of its own.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable

Place = Callable[[float], float]
EMPTY_TAGS = ("path", "line", "circle", "rect")


class Svg(str):
    """Markup made by `el`. A plain `str` is never one."""


def el(name: str, /, *inside: str, **attributes: str | float) -> Svg:
    """An element. `text_anchor` becomes `text-anchor`."""
    written = "".join(f' {key.replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items())
    if name in EMPTY_TAGS and not inside:
        return Svg(f"<{name}{written}/>")
    return Svg(f"<{name}{written}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Svg:
    """Elements and words one after the other."""
    return Svg("".join(p if isinstance(p, Svg) else html.escape(p) for p in parts))


def scale(low: float, high: float, start: float, end: float) -> Place:
    """Linear from [low, high] to [start, end]; a range without width lies in the middle."""
    if high <= low:
        return lambda _: (start + end) / 2
    return lambda v: start + (v - low) / (high - low) * (end - start)
