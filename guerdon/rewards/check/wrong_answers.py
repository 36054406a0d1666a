"""Answers that look like the right one and are not, made from the right one: numbers, options, lists, JSON, code, words.

Every one is held against the task before it counts as wrong (`gold_answers.py`).
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from guerdon.core.seeds import derive
from guerdon.rewards.check.gold_answers import OPTION, Posed

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
OPPOSITES = (
    *(("yes", "no"), ("true", "false"), ("t", "f"), ("even", "odd"), ("positive", "negative"), ("valid", "invalid")),
    *(("correct", "incorrect"), ("spam", "ham"), ("entailment", "contradiction"), ("left", "right"), ("1", "0")),
)
MOST = 8  # wrong answers made for one problem
FEW = 4  # ... of which so many are other problems'


def near_misses(posed: Posed, others: Sequence[Posed]) -> list[str]:
    """Whole completions: the family's own, else the right solution with wrong answers in it."""
    own = [text for text in posed.near_misses if posed.gold is posed.own and posed.is_wrong(text)]
    return own or [posed.gold.put(core) for core in wrong_cores(posed, others)]


def wrong_cores(posed: Posed, others: Sequence[Posed]) -> list[str]:
    """Wrong answers in place of the right one."""
    made = [core for core in dict.fromkeys(_changed(posed, others)) if posed.is_wrong_core(core)]
    return [*made[:MOST], *[core for core in other_cores(posed, others) if core not in made]][:MOST]


def other_cores(posed: Posed, others: Sequence[Posed]) -> list[str]:
    """The answers of other problems that are none of this one."""
    cores = dict.fromkeys(other.own.core for other in others if other is not posed)
    return [core for core in cores if posed.is_wrong_core(core)][:FEW]


def options(posed: Posed) -> list[str]:
    """The answers that there are to choose among, where a problem is one of choosing."""
    core = posed.own.core.strip()
    letter = OPTION.match(core)
    if letter:
        first = "A" if letter[1].isupper() else "a"
        stated = set(re.findall(r"(?<!\w)\(?([A-Ha-h])[).:](?=\s)", posed.task.prompt))
        last = max({chr(ord(first) + 3), letter[1], *(s for s in stated if s.isupper() == letter[1].isupper())})
        return [core.replace(letter[1], chr(n)) for n in range(ord(first), ord(last) + 1)]
    for pair in OPPOSITES:
        if core.casefold() in pair and not (core == "1" and posed.task.prompt.count("1") > 1):
            other = pair[1 - pair.index(core.casefold())]
            return [core, other.capitalize() if core[:1].isupper() and len(other) > 1 else _as(core, other)]
    listed = posed.task.meta.get("options", posed.task.meta.get("choices"))
    if isinstance(listed, list | tuple) and all(isinstance(x, str) for x in listed):
        return list(listed)
    return []


def _as(core: str, other: str) -> str:
    return other.upper() if core.isupper() else other


def is_code(text: str) -> bool:
    """Whether a text is a piece of Python, not just an expression or a word."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    kinds = ast.FunctionDef | ast.ClassDef | ast.For | ast.While | ast.Import | ast.ImportFrom | ast.Return | ast.Assign
    return any(isinstance(node, kinds) for node in body)


def _changed(posed: Posed, others: Sequence[Posed]) -> Iterator[str]:
    core = posed.own.core
    draw = random.Random(derive("wrong answer", posed.task.prompt, core))
    if is_code(core):
        yield from _other_code(core)
        return
    value = _json(core)
    if isinstance(value, dict | list) and value:
        yield from _other_json(value)
        return
    chosen = options(posed)
    yield from chosen
    if chosen and not NUMBER.fullmatch(core):
        return
    yield from _other_items(posed)
    yield from _other_numbers(core, any(other.own.core.strip().startswith("-") for other in others))
    if not NUMBER.search(core):
        yield from _other_words(core, draw)


def _other_numbers(core: str, signed: bool) -> Iterator[str]:
    """One number changed, the last: off by one either way, two digits swapped; alone also ten times as much and, where answers
    have signs, the other sign."""
    places = list(NUMBER.finditer(core))
    if not places:
        return
    start, stop = places[-1].span()
    text = places[-1][0]
    whole, dot, part = text.partition(".")
    digits = whole.lstrip("-")
    alone = len(places) == 1
    for number in (
        f"{int(whole) + 1}{dot}{part}",
        f"{int(whole) - 1}{dot}{part}",
        (text[1:] if text.startswith("-") else f"-{text}") if alone and signed else "",
        f"{'-' * whole.startswith('-')}{digits[:-2]}{digits[-1]}{digits[-2]}{dot}{part}" if len(digits) > 1 else "",
        f"{whole}0{dot}{part}" if alone else "",
        f"{int(whole) + 10 ** (len(digits) - 2)}{dot}{part}" if len(digits) > 2 else "",
        f"{int(whole) * 2 + 3}{dot}{part}",
    ):
        if number:
            yield core[:start] + number + core[stop:]


def _other_items(posed: Posed) -> Iterator[str]:
    """A list in another order, where the problem is to order it: the prompt has the same items otherwise."""
    core = posed.own.core.strip()
    items = re.findall(r"[\w.-]+", core)
    between = re.sub(r"[\w.-]+", "\0", core)
    if len(items) < 3 or between.count("\0") != len(items):
        return

    def written(order: Sequence[str]) -> str:
        parts = iter(order)
        return re.sub("\0", lambda _: next(parts), between)

    asked = [word for word in re.findall(r"[\w.-]+", posed.task.prompt) if word in items]
    if sorted(asked) == sorted(items) and asked != items:
        yield written(asked)
        yield written(items[::-1])
        yield written([items[1], items[0], *items[2:]])
    yield written([*items[:-1], items[0]])


def _other_words(core: str, draw: random.Random) -> Iterator[str]:
    """A text cut short, gone on with, or with letters changed."""
    words = core.split()
    if len(words) > 2:
        yield " ".join(words[: len(words) // 2])
    letters = [i for i, c in enumerate(core) if c.isalpha()]
    if len(letters) > 1:
        i = draw.choice(letters)
        other = chr((ord(core[i].lower()) - ord("a") + 1 + draw.randrange(24)) % 26 + ord("a"))
        yield core[:i] + other + core[i + 1 :]
        j = next((j for j in letters if core[j : j + 2].isalpha() and core[j] != core[j + 1 : j + 2] != ""), None)
        if j is not None and len(words) == 1:
            yield core[:j] + core[j + 1] + core[j] + core[j + 2 :]
    if len(words) <= 2 and len(core) > 4:
        yield core[: len(core) // 2]
    yield f"{core}ish" if len(words) < 4 else f"{core} until it is not"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _other_json(value: Any) -> Iterator[str]:
    """The same shape with other values, a part missing, nothing in it."""
    yield json.dumps(_other_value(value))
    if isinstance(value, dict):
        yield json.dumps({**value, (key := next(iter(value))): _other_value(value[key])})
        yield json.dumps(dict.fromkeys(value))
        yield json.dumps(dict(list(value.items())[:-1]))
    else:
        yield json.dumps(value[:-1])
        yield json.dumps([*value, value[0]])
    yield "{}" if isinstance(value, dict) else "[]"


def _other_value(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    return (
        {k: _other_value(v) for k, v in value.items()} if isinstance(value, dict) else [_other_value(v) for v in value]
    )


def _other_code(core: str) -> Iterator[str]:
    """The same functions with nothing in them."""
    tree = ast.parse(core)
    names = [(node.name, ast.unparse(node.args)) for node in tree.body if isinstance(node, ast.FunctionDef)]
    for body in ("pass", "return None", "return 0", "return True", "raise NotImplementedError"):
        if names:
            yield "\n\n".join(f"def {name}({args}):\n    {body}" for name, args in names)
    if not names:
        yield "pass"
