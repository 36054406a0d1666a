"""Tables that fit where they are read: a terminal gets the columns that matter most, shortened where they must be; a file or a
pipe gets all of them whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

GAP = 2  # between columns
MORE = "…"


@dataclass(frozen=True)
class TableColumn:
    """`rank` decides which columns are dropped first where there is little room, the lowest being kept longest; `least` how
    many signs a long one may be shortened to (0: it is shown whole or not at all), and `cut` where: at its end, in its
    middle, before a word, or at its end without a mark."""

    title: str
    rank: int = 0
    least: int = 0
    cut: Literal["end", "middle", "words", "bare"] = "end"


def fitted(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int
) -> tuple[list[str], list[list[str]]]:
    """The titles and rows of a table that is at most `width` wide. Columns without any value are left out. The first column by
    rank is there in any case.

    >>> columns = [TableColumn("name"), TableColumn("about", 1, least=6), TableColumn("paper", 2)]
    >>> fitted(columns, [["grpo", "compares tries at one prompt", "arXiv:2402.03300"]], 24)
    (['name', 'about'], [['grpo', 'compares tries at…']])
    """
    natural = [max([len(c.title), *(len(row[i]) for row in rows)]) for i, c in enumerate(columns)]
    order = sorted((i for i in range(len(columns)) if any(row[i] for row in rows)), key=lambda i: columns[i].rank)
    taken: dict[int, int] = {}
    left = width + GAP
    for i in order:
        need = min(natural[i], columns[i].least or natural[i])
        need = min(need, max(1, width)) if not taken else need
        if need + GAP <= left or not taken:
            taken[i], left = need, left - need - GAP
    for i in (i for i in order if i in taken):
        more = max(0, min(natural[i] - taken[i], left))
        taken[i], left = taken[i] + more, left - more
    shown = sorted(taken)
    return [shortened(columns[i].title, taken[i]) for i in shown], [
        [shortened(row[i], taken[i], columns[i].cut) for i in shown] for row in rows
    ]


def shortened(text: str, width: int, cut: str = "end") -> str:
    """A text of at most `width` signs, an ellipsis where some are missing.

    >>> shortened("grpo-successor-001", 12, "middle")
    'grpo-s…r-001'
    """
    if len(text) <= width or cut == "bare":
        return text[:width]
    if cut == "words" and " " in text[: width + 1]:
        return text[: width + 1].rpartition(" ")[0]
    end = (width - 1) // 2 if cut == "middle" else 0
    return text[: max(0, width - 1 - end)].rstrip() + MORE + (text[-end:] if end else "")


def in_lines(words: Sequence[str], width: int, most: int = 1) -> list[str]:
    """Words after commas on at most so many lines of a width; `…` replaces the others.

    >>> in_lines(["centre", "gae", "returns", "mix"], 20)
    ['centre, gae, …']
    """
    lines = [""]
    for i, word in enumerate(words):
        is_last_word, is_last_line = i == len(words) - 1, len(lines) == most
        joined = f"{lines[-1]} {word}".lstrip() + ("" if is_last_word else ",")
        if len(joined) + (0 if is_last_word or not is_last_line else 2) <= width:
            lines[-1] = joined
        elif is_last_line:
            lines[-1] = f"{lines[-1]} {MORE}".lstrip()
            break
        else:
            lines.append(word + ("" if is_last_word else ","))
    return lines
