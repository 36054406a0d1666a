"""HTML for notebooks: what an object shows where a notebook asks for it (`_repr_html_`).

Every text is escaped, whatever wrote it: a completion may hold markup. Nothing is fetched and nothing runs. Colours are those
of the page around, light or dark: only shades of its own text colour are added.
Leaves out: what is shown of an object (`notebook.py`); the report of a run (`report`).
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guerdon.core.shown_text import LONGEST, cut, number, visible

ROWS = 20  # of a table, by default
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


def _cell(value: Any) -> str:
    is_number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return f'<td class="n">{escaped(number(value))}</td>' if is_number else f"<td>{escaped(value)}</td>"
