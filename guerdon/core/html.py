"""HTML for notebooks: what an object shows where a notebook asks for it (`_repr_html_`).

Every text is escaped, whatever wrote it: a completion may hold markup. Nothing is fetched and nothing runs. Colours are those
of the page around, light or dark: only shades of its own text colour are added.
Leaves out: what is shown of an object, which its class decides; the report of a run (`store/report`).
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LONGEST = 300  # characters of a text in a cell
ROWS = 20  # of a table, by default
# control characters stand there as their pictures; what turns the direction of writing is spelled out
HIDDEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
HIDDEN_WORDS = {code: f"\\u{code:04x}" for code in (0x061C, *range(0x200E, 0x2010), *range(0x202A, 0x202F))}
HIDDEN_WORDS |= {code: f"\\u{code:04x}" for code in range(0x2066, 0x206A)}
STYLE = (
    ".guerdon{font-size:.9em;line-height:1.4;color:inherit}"
    ".guerdon table{border-collapse:collapse;margin:.4em 0;width:auto}"
    ".guerdon th,.guerdon td{text-align:left;vertical-align:top;padding:.15em .7em;border:0;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);background:none;white-space:pre-wrap}"
    ".guerdon td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".guerdon .dim{opacity:.65}"
)


class _Html(str):
    """A piece of a page that is HTML already: the only text that is not escaped."""

    __slots__ = ()


def escaped(value: Any, longest: int = LONGEST) -> str:
    """Any value as text of a page: escaped, cut where it is long, nothing left that acts.

    >>> escaped("<script>")
    '&lt;script&gt;'
    """
    return value if isinstance(value, _Html) else _Html(html.escape(visible(cut(str(value), longest))))


def cut(text: str, longest: int = LONGEST) -> str:
    """A text, its middle left out where it is long."""
    half = max(1, (longest - 5) // 2)
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"


def visible(text: str) -> str:
    """A text in which nothing is hidden; lone surrogates, which have no UTF-8, are spelled out."""
    return text.translate(HIDDEN).translate(HIDDEN_WORDS).encode("utf-8", "backslashreplace").decode()


def table(titles: Sequence[str], rows: Iterable[Sequence[Any]], most: int = ROWS) -> str:
    """A table of the first rows; what is left out is counted below it."""
    rows = [*rows]
    head = "".join(f"<th>{escaped(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:most])
    more = note(f"and {len(rows) - most} more") if len(rows) > most else ""
    first = f"<thead><tr>{head}</tr></thead>" if any(titles) else ""
    return _Html(f"<table>{first}<tbody>{body}</tbody></table>{more}")


def pairs(values: Mapping[str, Any]) -> str:
    """Names and values, one a line."""
    return table((), values.items(), most=len(values))


def note(text: Any) -> str:
    return _Html(f'<div class="dim">{escaped(text)}</div>')


def page(title: str, *pieces: str) -> str:
    """What `_repr_html_` returns: a title and what stands under it."""
    body = "".join(escaped(piece) for piece in pieces if piece)
    head = f"<strong>{escaped(title)}</strong>" if title else ""
    return f'<div class="guerdon"><style>{STYLE}</style>{head}{body}</div>'


def number(value: Any) -> str:
    """A number as people read it; a dash for none.

    >>> number(0.25), number(3), number(None), number(float("nan"))
    ('0.25', '3', '-', '-')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(value: Any) -> str:
    is_number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return f'<td class="n">{escaped(number(value))}</td>' if is_number else f"<td>{escaped(value)}</td>"
