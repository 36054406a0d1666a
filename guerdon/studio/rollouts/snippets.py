"""The line of a completion that a list shows: the first with what was searched for in it, or the first that is not empty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

WIDE = 240  # characters
BEFORE = 60  # of them before the first mark


def snippet(completion: str, prompt: str, marks: Sequence[str]) -> dict[str, Any]:
    """`line`: pieces, each with whether it was searched for; `of`: the prompt where the completion does not contain it.

    >>> snippet("first\\nthen two and Two", "two?", ["two"])
    {'line': [['then ', False], ['two', True], [' and ', False], ['Two', True]], 'of': 'completion'}
    >>> snippet("first", "is it two?", ["two"])
    {'line': [['is it ', False], ['two', True], ['?', False]], 'of': 'prompt'}
    >>> snippet("\\n  first\\nsecond", "", [])
    {'line': [['first', False]], 'of': 'completion'}
    """
    wanted = re.compile("|".join(map(re.escape, marks)), re.IGNORECASE) if marks else None
    for of, text in (("completion", completion), ("prompt", prompt)) if wanted else ():
        first = wanted.search(text)  # type: ignore[union-attr]
        if first is not None:
            return {"line": _pieces(_line(text, first.start()), wanted), "of": of}
    said = completion.lstrip()
    return {"line": _pieces(_line(said, 0), wanted), "of": "completion"}


def _line(text: str, at: int) -> str:
    """The line about a place in a text, cut where it is long."""
    start = max(text.rfind("\n", 0, at) + 1, at - BEFORE)
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    cut = text[start : min(end, start + WIDE)]
    is_cut_before, is_cut_after = start > 0 and text[start - 1] != "\n", start + WIDE < end
    return f"{'…' * is_cut_before}{cut}{'…' * is_cut_after}"


def _pieces(line: str, wanted: re.Pattern[str] | None) -> list[list[Any]]:
    pieces: list[list[Any]] = []
    at = 0
    for match in wanted.finditer(line) if wanted else ():
        if match.start() > at:
            pieces.append([line[at : match.start()], False])
        if match.end() > match.start():
            pieces.append([match[0], True])
        at = match.end()
    if at < len(line) or not pieces:
        pieces.append([line[at:], False])
    return pieces
