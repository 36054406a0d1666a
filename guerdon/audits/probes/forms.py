"""In which form a reward wants an answer: bare, after a mark, between tags, in a box, in JSON; the marks in its code included.

Rows of a file say what the answer is and not how a model shall write it. A reward that only reads a box is not worse for that,
so it is tested in the form that it pays for. A task with worked solutions has a form, and there it must be paid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from guerdon.audits.asking import ask
from guerdon.audits.kinds import SAME, CheckedSample
from guerdon.audits.probes.answers import wrong_cores
from guerdon.audits.probes.gold import FORMS, HERE, Posed, in_form
from guerdon.rewards.formula.reward import Reward

PROBED = 2  # problems that forms are tried on


def choose_forms(formula: Reward, posed: Sequence[Posed], sample: Callable[[str, int, str], CheckedSample]) -> str:
    """The form that answers are to be written in, "" for the task's own; each prompt states it, and the form paid best."""
    probes = [(n, each, wrong_cores(each, posed)) for n, each in enumerate(posed)]
    probes = [(n, each, cores) for n, each, cores in probes if cores and each.own.core][:PROBED]
    forms = ["", *_candidates([each for _, each, _ in probes], marks_in(formula))] if probes else []
    samples = [
        sample(kind, n, _written(each, form, core))
        for form in forms
        for n, each, cores in probes
        for kind, core in (("gold", each.own.core), ("near-miss", cores[-1]))
    ]
    if not samples:
        return ""
    values = ask(formula, samples, "forms").values
    worth = {}
    for place, form in enumerate(forms):
        mine = values[place * 2 * len(probes) : (place + 1) * 2 * len(probes)]
        worth[form] = _mean(mine[::2]), _mean(mine[1::2])
    form = _wanted(worth, probes[0][1])
    highest = {f: max([w for w in worth[f] if w == w], default=-math.inf) for f in forms}
    best = max(forms, key=highest.__getitem__)
    for each in posed:
        if form:
            each.use(form)
        if best != form and highest[best] > highest[form] + SAME:
            each.best = best
    return form


def _candidates(posed: Sequence[Posed], marked: Sequence[str]) -> list[str]:
    forms = [*FORMS, *marked]
    forms += [*(f"{form}\n{posed[0].own.mark}{HERE}" for form in FORMS if posed[0].own.mark)]
    forms = list(dict.fromkeys(forms))
    if not any(each.own.work for each in posed):
        return forms
    return [f for f in forms if all(each.says_right(_written(each, f, each.own.core)) for each in posed)]


def _written(each: Posed, form: str, core: str) -> str:
    return in_form(form, core, *([each.own.work] if each.own.work else [])) if form else each.own.put(core)


def _wanted(worth: dict[str, tuple[float, float]], probe: Posed) -> str:
    """The task's own form if a right answer is paid in it, or if it is a form; else the one in which being right pays most, of
    several one that the task accepts too, or the best paid."""
    gains = {form: right - wrong for form, (right, wrong) in worth.items() if right == right and wrong == wrong}
    most = max(gains.values(), default=0.0)
    if gains.get("", 0.0) > SAME or probe.own.work or most <= SAME:
        return ""
    level = [form for form, gain in gains.items() if gain >= most - SAME]
    return max(level, key=lambda f: (probe.says_right(in_form(f, probe.own.core)), worth[f][0]))


def _mean(values: Sequence[float]) -> float:
    known = [v for v in values if v == v]
    return sum(known) / len(known) if known else math.nan


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
