"""What two texts have in common, word by word.

The shortest way from one to the other (Myers 1986, An O(ND) difference algorithm), bounded: texts of which more than some
hundreds of words differ are marked as different as a whole between what they begin and end with alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

WORDS = 20_000  # of either text that are looked at
EDITS = 400  # the most deleted or inserted words that are shown one by one
EACH = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # writing without blanks between words: a character is one
PIECE = re.compile(rf"\n|[^\S\n]+|[{EACH}]|[^\s{EACH}]+")

Kind = Literal["same", "left", "right"]


class Stretch(NamedTuple):
    """Text that is in both, in the left one alone or in the right one alone."""

    kind: Kind
    text: str


class WordDifference(NamedTuple):
    stretches: list[Stretch]
    is_rough: bool  # too different to be shown word by word
    is_cut: bool  # longer than what is looked at


def difference(left: str, right: str, edits: int = EDITS) -> WordDifference:
    """
    >>> [(s.kind, s.text) for s in difference("6 * 6 = 36", "6 + 6 = 12").stretches]
    [('same', '6 '), ('left', '*'), ('right', '+'), ('same', ' 6 = '), ('left', '36'), ('right', '12')]
    """
    a, b = PIECE.findall(left), PIECE.findall(right)
    is_cut = max(len(a), len(b)) > WORDS
    a, b = a[:WORDS], b[:WORDS]
    head = _alike(a, b)
    tail = _alike(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    steps = _shortest(middle_a, middle_b, edits)
    middle: list[tuple[Kind, str]] = (
        steps if steps is not None else [("left", w) for w in middle_a] + [("right", w) for w in middle_b]
    )
    whole: list[tuple[Kind, str]] = [("same", w) for w in a[:head]] + middle + [("same", w) for w in a[len(a) - tail :]]
    return WordDifference(_joined(whole), steps is None, is_cut)


def _alike(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words two texts begin with alike."""
    size = min(len(a), len(b))
    return next((i for i in range(size) if a[i] != b[i]), size)


def _shortest(a: Sequence[str], b: Sequence[str], most: int) -> list[tuple[Kind, str]] | None:
    """The fewest words to take out of `a` and put in from `b`; None where they are more than `most`."""
    reach = {1: 0}  # by diagonal x - y: the furthest x
    trace: list[dict[int, int]] = []
    for edits in range(min(most, len(a) + len(b)) + 1):
        trace.append(dict(reach) if edits < 2 else {k: reach[k] for k in range(-edits, edits + 1) if k in reach})
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(a) and 0 <= x - k < len(b) and a[x] == b[x - k]:
                x += 1
            reach[k] = x
            if x >= len(a) and x - k >= len(b):
                return _walked_back(a, b, trace)
    return None


def _walked_back(a: Sequence[str], b: Sequence[str], trace: list[dict[int, int]]) -> list[tuple[Kind, str]]:
    x, y = len(a), len(b)
    steps: list[tuple[Kind, str]] = []
    for edits in range(len(trace) - 1, -1, -1):
        reach, k = trace[edits], x - y
        down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        from_x = reach[before] if edits else 0
        from_y = from_x - before if edits else 0
        while x > from_x and y > from_y and x > 0 and y > 0 and a[x - 1] == b[y - 1]:
            x, y = x - 1, y - 1
            steps.append(("same", a[x]))
        if edits:
            steps.append(("right", b[from_y]) if down else ("left", a[from_x]))
            x, y = from_x, from_y
    return steps[::-1]


def _joined(steps: Sequence[tuple[Kind, str]]) -> list[Stretch]:
    """Stretches of one kind, what was taken out before what came in its place."""
    joined: list[Stretch] = []
    gone: list[str] = []
    come: list[str] = []

    def close() -> None:
        joined.extend(Stretch(kind, "".join(words)) for kind, words in (("left", gone), ("right", come)) if words)  # type: ignore[arg-type]
        gone.clear()
        come.clear()

    same: list[str] = []
    for kind, word in steps:
        if kind == "same":
            close()
            same.append(word)
            continue
        if same:
            joined.append(Stretch("same", "".join(same)))
            same.clear()
        (gone if kind == "left" else come).append(word)
    close()
    return [*joined, Stretch("same", "".join(same))] if same else joined
