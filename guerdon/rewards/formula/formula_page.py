"""A formula for a notebook, its terms with weights and knobs; and the explanation of a score, which reads as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.core.html import page, preformatted, table
from guerdon.core.part import changed, is_part, label

DEEPER = "\u2003"  # a wide space, before a part of what stands above it


class Explanation(str):
    """Lines about a score: a text, which a prompt and a notebook show as it reads."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return page("", preformatted(self))


def as_html(reward: Any) -> str:
    return page(str(reward), table(("part", "weight", "made by", "knobs"), _rows(reward, reward.name, "", 0)))


def _rows(reward: Any, name: str, weight: str, depth: int) -> list[tuple[str, ...]]:
    """A row for a reward and for each of its parts, below it."""
    if label(reward) == "weighted":
        return _rows(reward.reward, name, _weight(reward), depth)
    terms = getattr(reward, "terms", {})
    inner = [_rows(part, each, _weight(terms.get(each)), depth + 1) for each, part in reward.of.items()]
    own = {k: v for k, v in changed(reward).items() if not _is_made_of(v)} if is_part(reward) else {}
    said = ", ".join(f"{k}={getattr(v, '__name__', None) or repr(v)}" for k, v in own.items())
    return [(DEEPER * depth + name, weight, label(reward), said), *(row for rows in inner for row in rows)]


def _weight(term: Any) -> str:
    by = getattr(term, "by", "")
    return f"{by:g}" if isinstance(by, int | float) else str(by)


def _is_made_of(value: Any) -> bool:
    """Whether a knob holds rewards, which have rows of their own."""
    values = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
    return any(hasattr(each, "leaves") for each in values)
