"""The marks that a reward's own code names: tags, words before a colon, keys of JSON. Answers are tried in them as well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

from guerdon.rewards.formula.reward import Reward

DEEP = 3  # functions that a function calls, and so on
MOST = 24  # forms of one reward
LONGEST = 60  # characters of a text that a reward may look for
TAG = re.compile(r"(?<![\w/])<([A-Za-z][\w-]{0,30})>")
BRACKETS = re.compile(r"\\?\[([A-Za-z][\w-]{0,30})\\?\]")
MARK = re.compile(r"([A-Za-z#*][\w #*-]{0,30}?(?::|=|=>|->|>>))")
KEY = re.compile(r"[A-Za-z_]\w{0,30}")


def marks_in(formula: Reward) -> list[str]:
    """Forms of answers, by the texts in the code of a formula's functions."""
    texts = texts_in(formula)
    return list(dict.fromkeys(_forms(texts, "loads" in texts)))[:MOST]


def texts_in(formula: Reward) -> list[str]:
    """The texts in the code of a formula's functions, the names of what they call, and the texts among their knobs."""
    texts: dict[str, None] = {}
    for leaf in formula.leaves:
        texts |= dict.fromkeys(_texts(leaf.called, DEEP))
        texts |= dict.fromkeys(v for v in vars(leaf).values() if isinstance(v, str))
    return list(texts)


def code_texts(function: Any) -> list[str]:
    """The texts in the code of a function and of those it calls, as they stand there."""
    return list(dict.fromkeys(_texts(function, DEEP, names=False)))


def _forms(texts: list[str], reads_json: bool) -> Iterator[str]:
    joined = "\n".join(texts)
    tags = list(dict.fromkeys(TAG.findall(joined)))
    for before, tag in zip([None, *tags], tags, strict=False):
        yield f"<{tag}>{{}}</{tag}>"
        yield f"{{why}}\n<{tag}>\n{{}}\n</{tag}>"
        if before:
            yield f"<{before}>{{why}}</{before}>\n<{tag}>{{}}</{tag}>"
            yield f"<{before}>\n{{why}}\n</{before}>\n<{tag}>\n{{}}\n</{tag}>"
    for name in dict.fromkeys(BRACKETS.findall(joined)):
        yield f"[{name}]{{}}[/{name}]"
        yield f"[{name}] {{}}"
    for mark in dict.fromkeys(m.strip() for m in MARK.findall(joined)):
        yield f"{mark} {{}}"
        yield f"{{why}}\n{mark} {{}}"
    keys = [text for text in texts if KEY.fullmatch(text)] if reads_json else []
    for key in keys:
        yield f'{{"{key}": "{{}}"}}'
        yield f'{{"{key}": {{}}}}'


def _texts(function: Any, deep: int, names: bool = True) -> Iterator[str]:
    """The texts in a function and in those it calls, and the `names` of what it calls."""
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if code is None or deep == 0:
        return
    yield from _of_code(code, names)
    known = {**getattr(function, "__globals__", {}), **_closed_over(function)}
    for name in dict.fromkeys((*code.co_names, *code.co_freevars)):
        value = known.get(name)
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value.pattern
        elif isinstance(value, str):
            yield value
        elif callable(value) and getattr(value, "__module__", "") == function.__module__:
            yield from _texts(value, deep - 1, names)
        elif isinstance(value, tuple | list | set | frozenset | dict):
            yield from (each for each in value if isinstance(each, str))


def _of_code(code: CodeType, names: bool = True) -> Iterator[str]:
    yield from code.co_names if names else ()
    for const in code.co_consts[0 if names else 1 :]:  # the first is what it says of itself
        if isinstance(const, str):
            yield const
        elif isinstance(const, CodeType):
            yield from _of_code(const, names)
        elif isinstance(const, tuple | frozenset):
            yield from (each for each in const if isinstance(each, str))


def _closed_over(function: Any) -> dict[str, Any]:
    cells = getattr(function, "__closure__", None) or ()
    values = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return values
