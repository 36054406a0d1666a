"""Delta debugging: a text made as short as it can be while something about it still holds.

Zeller & Hildebrandt, Simplifying and Isolating Failure-Inducing Input (IEEE TSE 28(2), 2002), their ddmin without the
subsets, of which complements are enough for texts: first lines, then words, then letters. What is left is 1-minimal in
letters where the tests sufficed: no single letter can go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Holds = Callable[
    [Sequence[str]], list[bool]
]  # of several texts whether it still holds; fewer answers when no call is left
UNITS = (re.compile(r"[^\n]*\n|[^\n]+"), re.compile(r"\S+\s*|\s+"), re.compile(r".", re.S))
TOGETHER = 4  # texts that are tried at a time


def shrunk(text: str, holds: Holds) -> str:
    """The shortest text on the way down for which `holds` says so.

    >>> shrunk("one two\\nthree 7 four\\nfive", lambda texts: ["7" in t for t in texts])
    '7'
    """
    for unit in UNITS:
        text = "".join(_minimal(unit.findall(text), holds))
    return text


def _minimal(parts: list[str], holds: Holds) -> list[str]:
    pieces = 2
    while parts:
        pieces = min(pieces, len(parts))
        edges = [len(parts) * k // pieces for k in range(pieces + 1)]
        without = [parts[: edges[k]] + parts[edges[k + 1] :] for k in range(pieces)]
        shorter, spent = _first(without, holds)
        if shorter is not None:
            parts, pieces = shorter, max(pieces - 1, 2)
        elif pieces >= len(parts) or spent:
            return parts
        else:
            pieces *= 2
    return parts


def _first(choices: list[list[str]], holds: Holds) -> tuple[list[str] | None, bool]:
    """The first choice for which it holds, and whether the calls were spent before one was found."""
    for at in range(0, len(choices), TOGETHER):
        some = choices[at : at + TOGETHER]
        answers = holds(["".join(each) for each in some])
        if True in answers:
            return some[answers.index(True)], False
        if len(answers) < len(some):
            return None, True
    return None, False
