r"""In which form a reward wants an answer: bare, after a mark, between tags, in a box, in JSON.

Rows of a file say what the answer is and not how a model shall write it down. A reward that reads `\boxed{..}` alone is no
worse for that, so it is asked in the form it pays for. A task with worked solutions has a form, and there it must be paid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from guerdon.rewards.check.asking_twice import ask
from guerdon.rewards.check.gold_answers import FORMS, HERE, Posed, in_form
from guerdon.rewards.check.named_marks import marks_in
from guerdon.rewards.check.reward_report import SAME, CheckedSample
from guerdon.rewards.check.wrong_answers import wrong_cores
from guerdon.rewards.formula.reward import Reward

PROBED = 2  # problems that forms are tried on


def choose_forms(formula: Reward, posed: Sequence[Posed], sample: Callable[[str, int, str], CheckedSample]) -> str:
    """The form that answers are to be written in, "" for the task's own; each problem is told it, and the form paid best."""
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
