r"""Texts that the patterns in a reward's own code would take: `r"(\d+) passed"` becomes `1 passed`.

A pattern is read for one plain text that it matches; what comes out is tried on the pattern, and dropped if it does not fit.
Leaves out: all that a pattern could match. Also here: the texts that a judge's script, its template and its criteria hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from guerdon.rewards.check.named_marks import LONGEST, code_texts
from guerdon.rewards.formula.reward import Reward

SPECIAL = re.compile(r"\\[dwsDWSbB.()+*?|\[\]{}^$]|\[[^\]]+\][+*{]|\(\?[:iP=!<]|\.\*|\.\+|[^\\]\|")
CLASSES = {
    "d": "1",
    "w": "a",
    "s": " ",
    "D": "a",
    "W": ":",
    "S": "a",
    "b": "",
    "B": "",
    "n": "\n",
    "t": "\t",
    "Z": "",
    "A": "",
}
MOST = 12  # texts of one reward
DEEP = 4


def own_texts(formula: Reward) -> list[str]:
    """All texts that a reward holds: in its functions, in the script that answers for a judge, in templates and criteria."""
    texts: dict[str, None] = {}
    for leaf in formula.leaves:
        texts |= dict.fromkeys(code_texts(leaf.called))
        texts |= dict.fromkeys(_held(leaf, DEEP))
    return list(texts)


def criteria_of(leaf: Any) -> list[str]:
    """The criteria of a rubric, none of anything else."""
    return [str(each.text) for each in getattr(leaf, "criteria", None) or () if hasattr(each, "text")]


def matched_texts(texts: Sequence[str]) -> list[str]:
    """One text for each pattern among some texts."""
    made = dict.fromkeys(text for pattern in texts if SPECIAL.search(pattern) for text in _matching(pattern))
    return [text for text in made if 1 < len(text.strip()) <= 2 * LONGEST][:MOST]


def _held(value: Any, deep: int) -> Iterator[str]:
    """Texts in a part's knobs, in the parts among them, and in the code of classes and functions that are a user's."""
    if isinstance(value, str):
        yield value
    elif deep and isinstance(value, list | tuple | set | frozenset):
        yield from (text for each in value for text in _held(each, deep - 1))
    elif deep and isinstance(value, dict):
        yield from (text for each in value.values() for text in _held(each, deep - 1))
    elif deep and callable(getattr(value, "__code__", None) and value):
        yield from code_texts(value)
    elif deep and is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _held(getattr(value, each.name, None), deep - 1)
        if not type(value).__module__.startswith("guerdon."):
            for method in vars(type(value)).values():
                if getattr(method, "__code__", None) is not None and not method.__name__.startswith("__"):
                    yield from code_texts(method)


def _matching(pattern: str) -> Iterator[str]:
    try:
        known = re.compile(pattern)
    except re.error:
        return
    for choice in (0, 1, 2, -1):
        text = _sample(pattern, choice)
        if text is not None and known.search(text):
            yield text


def _sample(pattern: str, choice: int) -> str | None:
    """A text for a pattern, of alternatives the one that is chosen; None where it is too deep to read."""
    reader = _Reader(pattern, choice)
    try:
        return reader.alternatives()
    except (IndexError, ValueError):
        return None


class _Reader:
    """Reads a pattern from left to right. What looks ahead or back, and flags, come to nothing."""

    def __init__(self, pattern: str, choice: int) -> None:
        self.pattern, self.at, self.choice = pattern, 0, choice

    def alternatives(self) -> str:
        parts = [self._sequence()]
        while self.at < len(self.pattern) and self.pattern[self.at] == "|":
            self.at += 1
            parts.append(self._sequence())
        return parts[self.choice if -1 <= self.choice < len(parts) else 0]

    def _sequence(self) -> str:
        text = ""
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            text += self._repeated(self._atom())
        return text

    def _atom(self) -> str:
        c = self.pattern[self.at]
        self.at += 1
        if c == "\\":
            c = self.pattern[self.at]
            self.at += 1
            return CLASSES.get(c, "" if c.isdigit() else c)
        if c == "[":
            return self._one_of()
        if c == "(":
            return self._group()
        return {".": "a", "^": "", "$": ""}.get(c, c)

    def _one_of(self) -> str:
        end = self.pattern.index("]", self.at + 1 + (self.pattern[self.at] == "^"))
        inside, self.at = self.pattern[self.at : end], end + 1
        if inside.startswith("^"):
            return next(c for c in "a1 .:" if re.fullmatch(f"[{inside}]", c))
        return CLASSES.get(inside[1], inside[1]) if inside[0] == "\\" else inside[0]

    def _group(self) -> str:
        silent = False
        if self.pattern.startswith("?", self.at):
            head = re.compile(r"\?(?:P?<\w+>|:|[aiLmsux-]+:?|=|!|<=|<!|P=\w+|#)").match(self.pattern, self.at)
            if head is None:
                raise ValueError("no group")
            self.at = head.end()
            silent = head[0] in ("?=", "?!", "?<=", "?<!", "?#") or head[0].startswith("?P=")
        text = self.alternatives()
        if self.pattern[self.at : self.at + 1] != ")":
            raise ValueError("no end")
        self.at += 1
        return "" if silent else text

    def _repeated(self, text: str) -> str:
        match = re.compile(r"([*+?]|\{(\d+)(?:,\d*)?\})[?+]?").match(self.pattern, self.at)
        if match is None:
            return text
        self.at = match.end()
        if match[1] == "?" and not self.choice:
            return ""
        return text if match[1] == "+" else text * int(match[2]) if match[2] else text if text.strip() else ""
