"""Wrong answers of one turn beyond those of the check: off by little, a part, the letters shuffled, no answer at all, a trick.

Each is held against the task before it counts as wrong. Leaves out: programs, queries and judges (files beside this).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from guerdon.audits.probes.expressions import expression_probes
from guerdon.rewards.check.attacks import plainly_wrong
from guerdon.rewards.check.gold_answers import OPTION, Posed
from guerdon.rewards.check.wrong_answers import options

UNITS = (
    "km",
    "m",
    "cm",
    "mm",
    "kg",
    "g",
    "mg",
    "h",
    "min",
    "s",
    "l",
    "ml",
    "%",
    "dollars",
    "euros",
    "hours",
    "minutes",
)
# what readers, parsers and matchers stumble over: no numbers, patterns, brackets that do not close, other digits
ODD = (
    *("???", "1/0", "(", "[]", "{}", "None", "null", "N/A", "-", "--", "0x", "true", "x", "*", ".*", ".", "%", "^"),
    *("-inf", "-nan", "∞", "1e400", "''", '""', "\\", "<answer>", "</answer>", "[object Object]", "undefined"),
    *("lambda: 0", "9" * 400),
)
CRUMBS = ("e", "a", "the", "of", "1", "0", "2", "i", "s", "an")  # what most answers have in them
REFUSALS = ("I do not know.", "I cannot answer this.", "As an AI, I am not able to help with that.", "No answer.")
PROSE = (
    "It is the one that most books name.",
    "That depends, and there is much to be said on both sides.",
    "One should look at the question from every side before one says anything about it.",
)
HIDDEN = ("<!-- {} -->\n{}", "<think>{}</think>\n{}", "[//]: # ({})\n{}")
FIRST, FEW = 4, 10  # problems that all is asked about; of the rest so many of a kind
MIDDLE = (30, 100, 300)  # times a line, for what looks at length and refuses the very long
LINE = "We go on and look at the next part of it, which is as it was.\n"


def text_probes(posed: Posed, others: Sequence[Posed]) -> Iterator[tuple[str, str]]:
    """(kind, completion) for one problem whose answer is neither a program nor a query. What is the same for all problems is
    asked in full about the first few."""
    core, gold = posed.own.core.strip(), posed.gold
    wrong = plainly_wrong(posed, others)
    both = (gold.put, gold.bare) if gold.put(wrong) != gold.bare(wrong) else (gold.bare,)
    for kind, cores in (
        ("off by little", _off_by_little(posed)),
        ("part of the answer", _parts(posed)),
        ("shuffled", _shuffled(posed)),
        ("expression", expression_probes(posed)),
        ("object", _objects(core)),
        ("extra keys", _extra_keys(core)),
    ):
        fresh = [each for each in dict.fromkeys(cores) if posed.is_wrong_core(each)]
        yield from ((kind, write(each)) for each in fresh for write in both)
    first = any(posed is each for each in others[:FIRST])
    for kind, same in (("crumb", (*CRUMBS, *_ends(core))), ("odd answer", ODD if first else ODD[:FEW])):
        made = [
            each for each in dict.fromkeys(same) if posed.is_wrong_core(each) and each.casefold() != core.casefold()
        ]
        yield from ((kind, gold.bare(each)) for each in made)
        yield from ((kind, each) for each in made if first)
    yield from (("refusal", text) for text in (*REFUSALS, gold.bare("I do not know")))
    yield from (("prose", text) for text in PROSE)
    yield from (("hidden", form.format(core, gold.bare(wrong))) for form in HIDDEN)
    yield from (("drawn out", LINE * times + gold.bare(wrong)) for times in MIDDLE if first)
    yield from (("drawn out", f"{gold.bare(wrong)}\n" * times) for times in MIDDLE if first)
    yield from (("all options", write(each)) for each in _all_options(posed) for write in both)
    yield from (("prompt", text) for text in _echoes(posed, wrong))


def _off_by_little(posed: Posed) -> Iterator[str]:
    """Numbers that a loose tolerance, a rounding or a look at some of the digits would take for the right one."""
    core, value = posed.own.core.strip(), posed.value
    if value is None or not re.fullmatch(r"-?\d+(?:\.\d+)?", core):
        return
    whole = re.fullmatch(r"-?\d+", core) is not None
    number = float(core)
    if abs(number) >= 30:
        for share in (1.03, 0.97, 1.08, 0.92):
            yield str(round(number * share)) if whole else f"{number * share:.2f}"
    if whole:
        size = abs(int(core))
        for more in (10, 100, 1000):  # the last digits stay
            yield str(int(core) + more)
        if size >= 100:
            for digits in (1, 2):
                yield str(round(int(core), -(len(str(size)) - digits)))
        yield str(int(core) + 2)
        if size >= 10:
            yield core[:-1] + str((int(core[-1]) + 5) % 10)
            yield core[:-1]
        for other in re.findall(r"\d+", posed.task.prompt)[-2:]:  # alike where one counts round and round
            yield str(int(core) + int(other[:9]))
    else:
        yield core.replace(".", "")
        yield core.partition(".")[0]
        yield f"{number * 100:g}"
        yield f"{number / 100:g}"


def _items(core: str) -> tuple[list[str], str]:
    for between in (", ", ",", "; ", " "):
        items = core.split(between)
        if len(items) > 2 and all(items):
            return items, between
    return [], ""


def _parts(posed: Posed) -> Iterator[str]:
    """Some of the items of a list, or more than all of them, where the answer is one; the unit or the number alone."""
    core = posed.own.core.strip()
    items, between = _items(core)
    if items and (all(re.fullmatch(r"-?\d+(?:\.\d+)?", each) for each in items) or between != " "):
        yield between.join(items[:-1])
        yield between.join(items[: (len(items) + 1) // 2])
        yield items[0]
        if between == " ":  # in a list between commas to say something twice may do no harm
            yield between.join([*items, items[0]])
            yield between.join([*items, *items])
        yield between.join([*items, "999"])
        yield between.join([items[0]] * len(items))
    unit = re.fullmatch(r"(-?[\d.,]+)\s*([A-Za-z%€$°]+)", core)
    if unit is not None:
        spaced = " " if " " in core else ""
        yield from (f"{unit[1]}{spaced}{other}" for other in UNITS[:4] if other != unit[2])
        yield f"7{unit[1]}{spaced}{unit[2]}"
        yield f"1{spaced}{unit[2]}"


def _shuffled(posed: Posed) -> Iterator[str]:
    """The same letters, digits, words or items in another order."""
    core = posed.own.core.strip()
    if core.startswith(("{", "[")):
        return
    if re.fullmatch(r"\w{3,}", core):
        yield core[::-1]
        yield "".join(sorted(core))
    yield from _groups_moved(core)
    items, between = _items(core)
    is_ordered = re.search(
        r"(?i)\border|sort|rank|sequence|first to last|ascending|descending|alphabet", posed.task.prompt
    )
    if len(items) > 3 and (between == " " or is_ordered):
        yield between.join(reversed(items))
        yield between.join(sorted(items))
        yield between.join([*items[1:], items[0]])


def _groups_moved(core: str) -> Iterator[str]:
    """The numbers of a date, a time, a fraction or a place in each other's stead, what stands between them as it was.

    >>> list(_groups_moved("2024-03-05")), list(_groups_moved("3/4")), list(_groups_moved("7.5"))
    (['2024-05-03', '05-03-2024', '03-05-2024'], ['4/3'], [])
    """
    groups = re.findall(r"\d+", core)
    if not 2 <= len(groups) <= 4 or re.fullmatch(r"-?\d+[.,]\d+\W*", core) or re.search(r"[A-Za-z]{3}", core):
        return
    swapped, turned, moved = [*groups[:-2], groups[-1], groups[-2]], groups[::-1], [*groups[1:], groups[0]]
    for order in dict.fromkeys(map(tuple, (swapped, turned, moved))):
        left = iter(order)
        if list(order) != groups:
            yield re.sub(r"\d+", lambda match, left=left: next(left), core)  # type: ignore[misc]


def _ends(core: str) -> Iterator[str]:
    """Letters of the answer itself: the first, the last, one in the middle; its first and last word."""
    if len(core) > 3:
        yield from (core[0], core[-1], core[len(core) // 2])
    words = core.split()
    if len(words) > 2:
        yield from (" ".join(words[:1]), " ".join(words[1:-1]))


def _all_options(posed: Posed) -> Iterator[str]:
    """All that there is to choose among, put together in every way; wrong as long as more than one is said."""
    every = options(posed)
    if len(every) < 2:
        return
    core = posed.own.core
    others = [each for each in every if each != core]
    several = [others[0], core, *others[1:]]
    yield from (between.join(several) for between in ("", " ", "/", " and ", ", ", "\n"))
    yield from (between.join([core, others[0]]) for between in ("", "/", " and "))
    letter = OPTION.match(core)
    if letter:
        yield "".join(sorted(each.strip("().") for each in every))


def _echoes(posed: Posed, wrong: str) -> Iterator[str]:
    """The prompt's own words where an answer should be: all of it, its first and its last line, its longest words."""
    prompt = posed.task.prompt.strip()
    lines = [line for line in prompt.splitlines() if line.strip()]
    if not lines or len(prompt) > 4000:
        return
    yield f"{prompt}\n{posed.gold.bare(wrong)}"
    yield posed.gold.bare(" ".join(prompt.split()))
    yield posed.gold.bare(lines[-1])
    yield posed.gold.bare(lines[0])
    words = sorted(set(re.findall(r"\w{4,}", prompt)), key=len, reverse=True)[:8]
    yield posed.gold.bare(" ".join(words))


def _objects(core: str) -> Iterator[str]:
    """JSON with the right keys: one of them twice, values all alike, changed over, or a schema of them."""
    value = _object(core)
    keys = list(value)
    if not keys:
        return
    fields = [f"{json.dumps(key)}: {json.dumps(value[key])}" for key in keys]
    yield "{" + ", ".join([*fields, f'{json.dumps(keys[0])}: "?"']) + "}"  # the last of two counts
    yield json.dumps(dict.fromkeys(keys, ""))
    yield json.dumps(dict.fromkeys(keys, ()))
    yield json.dumps(dict.fromkeys(keys, keys))
    yield json.dumps(dict.fromkeys(keys, "?"))
    yield json.dumps(dict(list(value.items())[:1]))
    yield json.dumps({key: value[keys[n - 1]] for n, key in enumerate(keys)})
    yield json.dumps({"properties": {key: {"type": "string"} for key in keys}})


def _extra_keys(core: str) -> Iterator[str]:
    value = _object(core)
    if value:
        yield json.dumps({**value, "more": "x", "note": [1, 2, 3]})


def _object(core: str) -> dict[str, Any]:
    """The object that a text is, empty where it is none."""
    try:
        value = json.loads(core)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
