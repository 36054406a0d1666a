"""Faults of a reward, from its scores of completions with known labels, a model's own tries included.

*Severe*: a policy that maximises the reward need not solve the task, right answers are not paid, or the reward is unreliable.
*Warning*: worth knowing. Wrong answers that are all paid the same are neither: a reward may be 0 or 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from guerdon.audits.asking import Asked, gold_of, wrong_of
from guerdon.audits.kinds import KINDS, PROBES, RIGHT, SAME, Finding, Severity, quoted
from guerdon.audits.probes.gold import Posed, shown_form
from guerdon.core.column import Reason
from guerdon.core.task import truth_of
from guerdon.rewards.formula.reward import Reward

SEVERAL, SHARE = 3, 0.1  # so many of a kind, or such a share of it, are not chance
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
NEARLY = 0.1  # of what a right answer is worth above a wrong one, or above nothing
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
    """What the task does not know about its own answers."""
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
    """A single one says little about how strict a reward is."""
    return _grade(count, of) if of > 1 else "warning"


def luck_of(posed: Sequence[Posed]) -> float:
    """How often the same answer to all problems is right; 0 where answers are not among a few."""
    cores = Counter(each.own.core for each in posed)
    return cores.most_common(1)[0][1] / len(posed) if len(cores) <= OPTIONS and len(posed) > len(cores) else 0.0


def _level(asked: Asked, posed: Sequence[Posed]) -> list[Finding]:
    """Wrong completions that are worth what gold is, or more. Where lists of answers are not paid and mentions are, the first
    answer counts: with numbers, which any solution is full of, that is a fault."""
    findings = list(_paid_like_gold(asked, luck_of(posed)))
    first = "list" not in {f.about for f in findings} and all(each.value is None for each in posed)
    return [replace(f, severity="warning") if first and f.about == "mention" else f for f in findings]


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
        yield Finding("worth", severity, says, len(paid), len(mine), example, (kind,))


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
        yield Finding("worth", severity, says, len(over), len(shaped), example, ("form",))


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
            yield Finding("worth", severity, says, len(lost), len(mine), example, (kind,))


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
            yield Finding("worth", severity, says, len(more), len(mine), example, (kind,))
    long = [(s, v) for s, v in said if s.kind == "long and right" and s.group in gold and s.group in wrong]
    short = [(s, v) for s, v in long if v <= wrong[s.group] + SAME < gold[s.group]]
    if short:
        sample, value = short[0]
        size = len(sample.fields["actions"])
        says = f"a right answer after {size} tokens of other text is worth no more than a wrong one"
        example = f"{value:.3g}, gold is {gold[sample.group]:.3g}"
        yield Finding("worth", "warning", says, len(short), len(long), example, ("long and right",))


def _silent(asked: Asked) -> Iterator[Finding]:
    """Completions that it does not score: they are not trained on."""
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


PROBLEMS = 0.25  # share of the problems that were tried which must show a fault
ALIKE = 0.5  # ... of those whose wrong answers are nearly right, where partial credit may be meant
PARTLY_RIGHT = (
    *("near-miss", "other answer", "suffix", "prefix", "truncated", "hedged", "list", "mention", "one move wrong"),
    *("leaves early", "half done", "part of it", "wrong at the end", "undoes it", "other order", "plays on", "mutant"),
    *("does too much", "too many answers", "other path", "part of the answer", "off by little", "query that cheats"),
    *("other values", "other rows", "other columns", "shuffled", "object", "by heart", "constant program"),
)
BY_FORM_ALONE = ("form", "marks", "no answer", "without form")  # what these may earn is looked at elsewhere


def nearly_paid(asked: Asked, known: Sequence[Finding], luck: float = 0.0) -> Iterator[Finding]:
    """Kinds that the check has nothing severe against, and that earn nearly what gold earns. `luck` is how often one
    answer to all problems is right: what is read as a guess is paid as often."""
    severe = {f.about for f in known if f.severity == "severe"}
    gold, least = gold_of(asked), _least(asked)
    for kind in dict.fromkeys(s.kind for s in asked.samples if s.kind not in RIGHT):
        if kind in severe or kind in FORGIVEN or kind in BY_FORM_ALONE:
            continue
        mine = [(s, v) for s, v in zip(asked.samples, asked.values, strict=True) if s.kind == kind and s.group in gold]
        room = {g: NEARLY * (gold[g] - _floor(gold[g], least.get(g, 0.0))) for g in gold}
        paid = [(s, v) for s, v in mine if v >= gold[s.group] - max(room[s.group], SAME)]
        tried, hit = {s.group for s, _ in mine}, {s.group for s, _ in paid}
        if len(hit) < 2 or len(hit) < PROBLEMS * len(tried) or (luck and len(hit) < (luck + PROBLEMS) * len(tried)):
            continue
        if kind in PARTLY_RIGHT and (len(paid) < ALIKE * len(mine) and len(paid) < SEVERAL * len(hit)):
            continue
        if kind in PARTLY_RIGHT and len(hit) < ALIKE * len(tried):
            continue
        sample, value = max(paid, key=lambda each: (each[1] - gold[each[0].group], -len(each[0].text)))
        says = f"{len(paid)} of {len(mine)} {KINDS[kind]} score nearly as much as the right answer"
        example = f"{quoted(sample.text)} is paid {value:.3g}, right is {gold[sample.group]:.3g}"
        yield Finding("worth", "severe", says, len(paid), len(mine), example, (kind,))


def shown_by_enough(findings: Sequence[Finding], asked: Asked, kinds: Sequence[str]) -> list[Finding]:
    """Findings about some `kinds` are severe only where a good part of the problems shows them."""
    gold = gold_of(asked)
    settled = []
    for each in findings:
        if each.about in kinds and each.severity == "severe" and each.fault == "worth":
            mine = [
                (s, v)
                for s, v in zip(asked.samples, asked.values, strict=True)
                if s.kind == each.about and s.group in gold
            ]
            tried, hit = {s.group for s, _ in mine}, {s.group for s, v in mine if v >= gold[s.group] - SAME}
            if each.count < len(mine) and len(hit) < max(min(2, len(tried)), PROBLEMS * len(tried)):
                each = replace(each, severity="warning")
        settled.append(each)
    return settled


def _least(asked: Asked) -> dict[int, float]:
    """The least that anything wrong is paid, by problem."""
    least: dict[int, float] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.kind not in RIGHT and value == value:
            least[sample.group] = min(value, least.get(sample.group, value))
    return least


def _floor(gold: float, least: float) -> float:
    """What gold is counted from: a fine for being wrong does not make it worth more."""
    return min(gold, max(least, 0.0)) if gold > 0 else least


def judged(posed: Sequence[Posed], tries: Asked, made: Asked) -> tuple[dict[str, Any], list[Finding]]:
    """How a reward and the truth agree about tries. Paid as gold is what is worth as much; unpaid what is nearer to wrong."""
    if not tries.samples:
        return {}, []
    gold, wrong = gold_of(made), wrong_of(made)
    numbers: dict[str, Any] = {"tries": len(tries.samples), "judged": 0, "right": 0, "agree": 0, "unclear": 0}
    paid_wrong, unpaid_right, known_wrong = [], [], 0
    for sample, value in zip(tries.samples, tries.values, strict=True):
        each, group = posed[sample.group], sample.group
        truth = truth_of(each.source, each.task, sample.fields)
        unclear = truth is None or (truth == 0.0 and each.own.core and each.ends_right(sample.text))
        if unclear or value != value or group not in gold:
            numbers["unclear"] += 1
            continue
        middle = (gold[group] + wrong.get(group, gold[group] - 1.0)) / 2
        numbers["judged"] += 1
        numbers["right"] += truth == 1.0
        numbers["agree"] += (value > middle) == (truth == 1.0)
        known_wrong += truth != 1.0
        if truth != 1.0 and value >= gold[group] - SAME:
            paid_wrong.append((sample, value))
        if truth == 1.0 and value <= middle:
            unpaid_right.append((sample, value))
    numbers |= {"wrong_paid_as_gold": len(paid_wrong), "right_unpaid": len(unpaid_right), **_groups(tries)}
    return numbers, _faults(numbers, gold, paid_wrong, unpaid_right, known_wrong)


def _groups(tries: Asked) -> dict[str, int]:
    groups: dict[int, list[float]] = {}
    for sample, value in zip(tries.samples, tries.values, strict=True):
        if value == value:
            groups.setdefault(sample.group, []).append(value)
    several = [values for values in groups.values() if len(values) > 1]
    return {"groups": len(several), "flat": sum(float(np.ptp(values)) <= SAME for values in several)}


def _faults(
    numbers: dict[str, Any], gold: dict[int, float], paid: list[Any], unpaid: list[Any], wrong: int
) -> list[Finding]:
    findings = []
    for which, of, words in (
        (paid, wrong, "wrong tries of the model score as much as the right answer"),
        (unpaid, numbers["right"], "right tries of the model are paid like wrong ones"),
    ):
        if which:
            severity: Severity = "severe" if len(which) >= SEVERAL or len(which) >= SHARE * of else "warning"
            sample, value = which[0]
            example = f"{quoted(sample.text)} is paid {value:.3g}, gold is {gold[sample.group]:.3g}"
            findings.append(
                Finding("model", severity, f"{len(which)} of {of} {words}", len(which), of, example, ("tried",))
            )
    if not numbers["judged"]:
        says = "the task has no truth for the model's tries: whether it pays the right ones is not known"
        findings.append(Finding("model", "warning", says, numbers["tries"], numbers["tries"]))
    if numbers["groups"] and numbers["flat"] == numbers["groups"]:
        says = "the model's tries at a problem are all worth the same, in every problem: there is nothing to learn from"
        findings.append(Finding("model", "warning", says, numbers["flat"], numbers["groups"]))
    return findings
