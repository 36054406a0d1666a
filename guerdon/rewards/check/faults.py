"""What there is to say against a reward, from what it said about completions whose truth is known.

*Severe*: a policy that maximises it need not solve the task, right answers are not paid, or it cannot be relied on. *Warning*:
worth knowing. Wrong answers that are all worth the same are neither: a reward may be 0 or 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from guerdon.core.column import Reason
from guerdon.rewards.check.asking_twice import Asked
from guerdon.rewards.check.check_tables import RIGHT, gold_of, wrong_of
from guerdon.rewards.check.gold_answers import Posed, shown_form
from guerdon.rewards.check.reward_report import KINDS, PROBES, SAME, Finding, Severity, quoted
from guerdon.rewards.formula.reward import Reward

SEVERAL, SHARE = 3, 0.1  # so many of a kind, or such a share of it, is no accident
SLOW = 1.0  # seconds of a call
FORGIVEN = ("close", "code equal to all", "look-alike", "extra keys")  # level with gold may be meant there
ODD = ("not a number", "code that cheats", "code equal to all", *PROBES)  # what breaks on these alone seldom meets them
OPTIONS = 6  # the most answers that one can guess among
GUESSES = (
    *("empty", "blank", "unicode", "mark repeated", "prompt", "no answer", "begging", "fine words", "long"),
    *("master key", "self-praise", "injection", "gives up", "busy", "pretends", "idle work", "cites all", "own words"),
    *("crumb", "refusal", "prose", "verdict", "manner", "criteria", "drawn out", "odd answer"),
)
IDLE = (*GUESSES, "list", "mention", "hedged")  # what takes no solving: nearly gold is as good as gold there
NEARLY = 0.1  # of what a right answer is worth above a wrong one
BY_FORM = ("form", "marks", "no answer")
HELD = (
    "padded",
    "spaced",
    "another answer",
)  # right answers that must be paid; "reworded" ones a reward may be strict about


def failures_of(formula: Reward, asked: Asked) -> list[dict[str, Any]]:
    failures = []
    for leaf in formula.leaves:
        for sample, outcome in zip(asked.samples, asked.outcomes[id(leaf)], strict=True):
            if outcome.reason >= Reason.FAILED:
                error = str(outcome.detail["error"]).strip().rpartition("\n")[2]
                where = {"component": leaf.name, "kind": sample.kind, "task": sample.fields["task"].id}
                failures.append({**where, "error": error, "completion": sample.text})
    return failures


def broken(failures: Sequence[Mapping[str, Any]], asked: Asked) -> list[Finding]:
    """One finding for each component and way in which it broke."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in failures:
        groups.setdefault((each["component"], each["error"].partition(":")[0]), []).append(each)
    findings = []
    for (name, _), them in groups.items():
        kinds = dict.fromkeys(each["kind"] for each in them)
        severity: Severity = "warning" if kinds.keys() <= {*ODD} else "severe"
        says = f"{name} fails on {len(them)} completions ({', '.join(kinds)}): {them[0]['error']}"
        findings.append(
            Finding("failure", severity, says, len(them), len(asked.samples), f"on {quoted(them[0]['completion'])}")
        )
    return findings


def faults(formula: Reward, posed: Sequence[Posed], asked: Asked, form: str) -> list[Finding]:
    """All that is wrong with what it pays."""
    values = [v for v in asked.values if v == v]
    if not values:
        all_broken = bool(asked.whole.broken.all())
        return [] if all_broken else [Finding("worth", "severe", "it does not apply to any completion")]
    if max(values) - min(values) <= SAME:
        return [Finding("worth", "severe", f"it says {values[0]:g} about every completion: there is nothing to learn")]
    findings = [*_truth(posed, form)]
    if any(each.own.core for each in posed):
        findings += [*_unpaid(asked), *_level(asked, posed), *_form_over_truth(asked)]
        findings += [*_right_otherwise(asked, any(each.says_right(each.gold.text) for each in posed)), *_more(asked)]
    findings += [*_silent(asked), *_constant(asked), *_slow(asked)]
    return sorted(findings, key=lambda f: f.severity != "severe")


def played_faults(asked: Asked) -> list[Finding]:
    """The same of whole episodes, whose truth is how they went."""
    values = [v for v in asked.values if v == v]
    if not values:
        return (
            [] if bool(asked.whole.broken.all()) else [Finding("worth", "severe", "it does not apply to any episode")]
        )
    if max(values) - min(values) <= SAME:
        return [Finding("worth", "severe", f"it says {values[0]:g} about every episode: there is nothing to learn")]
    findings = [*_unpaid(asked), *_paid_like_gold(asked, 0.0), *_silent(asked), *_constant(asked), *_slow(asked)]
    return sorted(findings, key=lambda f: f.severity != "severe")


def _truth(posed: Sequence[Posed], form: str) -> Iterator[Finding]:
    """What the task cannot tell about its own answers."""
    none = sum(each.known is None for each in posed)
    lost = sum(each.known == 0.0 for each in posed)
    if not any(each.own.core for each in posed):
        yield Finding("task", "warning", "the problems have no answers: what it pays for could not be judged")
    elif none:
        yield Finding(
            "task", "warning", "the task cannot check completions: judged by its answers alone", none, len(posed)
        )
    if lost:
        says = f"the task's own check calls its answer wrong in {lost} of {len(posed)} problems"
        yield Finding("task", "warning", says, lost, len(posed), quoted(posed[0].own.text))
    if form and not any(each.says_right(each.gold.text) for each in posed):
        says = f"it pays answers written as {shown_form(form)!r}, which the task's own check does not take for right"
        yield Finding("form", "warning", says, len(posed), len(posed), quoted(posed[0].gold.text))


def _unpaid(asked: Asked) -> Iterator[Finding]:
    """Gold that has no score, or is worth no more than what is usually wrong."""
    gold, wrong = gold_of(asked), wrong_of(asked)
    size = sum(s.kind == "gold" for s in asked.samples)
    reasons = asked.whole.reason.tolist()
    mute = [s for s, r in zip(asked.samples, reasons, strict=True) if s.kind == "gold" and r == Reason.NOT_APPLICABLE]
    if mute:
        severity = _grade(len(mute), size)
        says = f"right answers have no score in {len(mute)} of {size} problems"
        yield Finding("worth", severity, says, len(mute), size, quoted(mute[0].text))
    poor = [group for group in gold if group in wrong and gold[group] <= wrong[group] + SAME]
    if poor:
        text = next(s.text for s in asked.samples if s.kind == "gold" and s.group == poor[0])
        means = [float(np.mean([known[g] for g in poor])) for known in (gold, wrong)]
        says = f"right answers are worth no more than wrong ones in {len(poor)} of {size} problems"
        example = f"{means[0]:.3g} against {means[1]:.3g}, right is {quoted(text)}"
        yield Finding("worth", _grade(2 * len(poor), size), says, len(poor), size, example)


def _grade(count: int, of: int) -> Severity:
    return "severe" if count >= SEVERAL or count >= SHARE * of else "warning"


def _grade_of_many(count: int, of: int) -> Severity:
    """One that stands alone tells little of how strict a reward is."""
    return _grade(count, of) if of > 1 else "warning"


def luck_of(posed: Sequence[Posed]) -> float:
    """How often the same answer to all problems is right; 0 where answers are not among a few."""
    cores = Counter(each.own.core for each in posed)
    return cores.most_common(1)[0][1] / len(posed) if len(cores) <= OPTIONS and len(posed) > len(cores) else 0.0


def _level(asked: Asked, posed: Sequence[Posed]) -> list[Finding]:
    """Wrong completions that are worth what gold is, or more. Where lists of answers are not paid and mentions are, the first
    answer counts: with numbers, which any solution is full of, that is a fault."""
    findings = list(_paid_like_gold(asked, luck_of(posed)))
    first = "list" not in {f.completions for f in findings} and all(each.value is None for each in posed)
    return [replace(f, severity="warning") if first and f.completions == "mention" else f for f in findings]


def _paid_like_gold(asked: Asked, luck: float) -> Iterator[Finding]:
    """With `luck` a completion that says the same to all problems is read as a guess, and paid as often as a guess is right."""
    gold = gold_of(asked)
    best, plain = _best_of(asked), wrong_of(asked)
    for kind in dict.fromkeys(s.kind for s in asked.samples if s.kind not in RIGHT):
        mine = [(s, v) for s, v in zip(asked.samples, asked.values, strict=True) if s.kind == kind and s.group in gold]
        short = {g: NEARLY * max(gold[g] - plain.get(g, gold[g]), 0.0) if kind in IDLE else 0.0 for g in gold}
        paid = [(s, v) for s, v in mine if v >= gold[s.group] - max(short[s.group], SAME)]
        if not paid:
            continue
        severity = "warning" if kind in FORGIVEN else _grade(len(paid), len(mine))
        if kind in GUESSES and len(paid) <= luck * len(mine):
            severity = "warning"
        gaps = [(best.get(s.group, v) - v, v - plain.get(s.group, v)) for s, v in paid]
        if kind in BY_FORM and all(right > SAME and right >= shape - SAME for right, shape in gaps):
            severity = "warning"  # in that form, being right is worth more still
        sample, value = max(paid, key=lambda each: (each[1] - gold[each[0].group], -len(each[0].text)))
        gap = value - gold[sample.group]
        how = "more than" if gap > SAME else "nearly as much as" if gap < -SAME else "as much as"
        says = f"{len(paid)} of {len(mine)} {KINDS[kind]} score {how} the right answer"
        example = f"{quoted(sample.text)} is paid {value:.3g}, right is {gold[sample.group]:.3g}"
        yield Finding("worth", severity, says, len(paid), len(mine), example, kind)


def _best_of(asked: Asked) -> dict[int, float]:
    """Gold in the form that is paid best."""
    said = zip(asked.samples, asked.values, strict=True)
    return {**gold_of(asked), **{s.group: v for s, v in said if s.kind == "gold in its best form" and v == v}}


def _form_over_truth(asked: Asked) -> Iterator[Finding]:
    """A form that is worth more than being right."""
    best, gold, plain = _best_of(asked), gold_of(asked), wrong_of(asked)
    said = list(zip(asked.samples, asked.values, strict=True))
    plain |= {s.group: v for s, v in said if s.kind == "without form" and v == v}
    shaped = [(s, v) for s, v in said if s.kind == "form" and v == v and s.group in best and s.group in plain]
    gaps = [(best[s.group] - v, v - plain[s.group]) for s, v in shaped]
    over = [n for n, (right, shape) in enumerate(gaps) if right > SAME and shape >= right - SAME and shape > SAME]
    over = [
        n for n in over if shaped[n][1] < gold[shaped[n][0].group] - SAME or best[shaped[n][0].group] > shaped[n][1]
    ]
    if over:
        right, shape = (float(np.mean([gaps[n][k] for n in over])) for k in (0, 1))
        more = shape > right + SAME
        says = f"the form of an answer is worth {'more than' if more else 'as much as'} its being right"
        example = f"{shape:.3g} for the form, {right:.3g} for being right: {quoted(shaped[over[0]][0].text)}"
        severity = _grade(len(over), len(shaped)) if more else "warning"
        yield Finding("worth", severity, says, len(over), len(shaped), example, "form")


def _right_otherwise(asked: Asked, known: bool) -> Iterator[Finding]:
    """Right answers, by the task's own word, that are paid like wrong ones when they are written otherwise. Of a form that is
    not `known` to the task it cannot say how strict one may be."""
    gold, wrong = gold_of(asked), wrong_of(asked)
    middle = {g: (gold[g] + wrong.get(g, gold[g] - 1.0)) / 2 for g in gold if gold[g] > wrong.get(g, -np.inf) + SAME}
    for kind in (*HELD, "reworded"):
        mine = [
            (s, v) for s, v in zip(asked.samples, asked.values, strict=True) if s.kind == kind and s.group in middle
        ]
        lost = [(s, v) for s, v in mine if v <= middle[s.group] or v != v]
        if lost:
            severity = _grade_of_many(len(lost), len(mine)) if kind in HELD and known else "warning"
            says = f"{len(lost)} of {len(mine)} {KINDS[kind]} are paid like wrong ones"
            sample, value = lost[0]
            example = f"{quoted(sample.text)} is paid {value:.3g}, gold is {gold[sample.group]:.3g}"
            yield Finding("worth", severity, says, len(lost), len(mine), example, kind)


def _more(asked: Asked) -> Iterator[Finding]:
    """Gold that is worth more for being said again or at length."""
    gold, wrong = gold_of(asked), wrong_of(asked)
    said = list(zip(asked.samples, asked.values, strict=True))
    for kind in ("repeated", "long and right"):
        mine = [(s, v) for s, v in said if s.kind == kind and s.group in gold]
        more = [(s, v) for s, v in mine if v > gold[s.group] + SAME]
        if more:
            sample, value = max(more, key=lambda each: each[1])
            worth = gold[sample.group] - wrong.get(sample.group, gold[sample.group])
            severity: Severity = "severe" if value - gold[sample.group] > max(worth, SAME) else "warning"
            says = f"{len(more)} of {len(mine)} {KINDS[kind]} score more than the right answer said once"
            example = f"{quoted(sample.text)} is paid {value:.3g}, gold is {gold[sample.group]:.3g}"
            yield Finding("worth", severity, says, len(more), len(mine), example, kind)
    long = [(s, v) for s, v in said if s.kind == "long and right" and s.group in gold and s.group in wrong]
    short = [(s, v) for s, v in long if v <= wrong[s.group] + SAME < gold[s.group]]
    if short:
        sample, value = short[0]
        size = len(sample.fields["actions"])
        says = f"a right answer after {size} tokens of other text is worth no more than a wrong one"
        example = f"{value:.3g}, gold is {gold[sample.group]:.3g}"
        yield Finding("worth", "warning", says, len(short), len(long), example, "long and right")


def _silent(asked: Asked) -> Iterator[Finding]:
    """Completions that it says nothing about: nobody learns from them."""
    reasons = asked.whole.reason.tolist()
    wrong = [(s, r) for s, r in zip(asked.samples, reasons, strict=True) if s.kind not in RIGHT]
    mute = [s for s, r in wrong if r == Reason.NOT_APPLICABLE]
    if len(mute) > SHARE * len(wrong):
        says = f"{len(mute)} of {len(wrong)} wrong completions have no score, so nothing is learned from them"
        yield Finding("worth", "warning", says, len(mute), len(wrong), quoted(mute[0].text))


def _constant(asked: Asked) -> Iterator[Finding]:
    """Terms that never vary."""
    for name, scores in asked.parts.items():
        values = [v for v in scores.value.tolist() if v == v]
        if values and max(values) - min(values) <= SAME:
            yield Finding("term", "warning", f"the term {name} is {values[0]:g} for every completion: it adds nothing")


def _slow(asked: Asked) -> Iterator[Finding]:
    median = float(np.median(asked.seconds))
    if median > SLOW:
        yield Finding("slow", "warning", f"it is slow: a call takes {median:.1f} s")
