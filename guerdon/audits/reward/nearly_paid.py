"""Wrong completions that are paid nine tenths of what gold is paid, or more: a policy that gets so much need not be right.

The check looks for those that are level with gold. Here a kind counts where enough problems show it, so that one odd problem
or partial credit for an answer that is nearly right is no finding. Leaves out: what is asked, and those that are level
(`rewards/check/faults.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from guerdon.rewards.check.asking_twice import Asked
from guerdon.rewards.check.check_tables import RIGHT, gold_of
from guerdon.rewards.check.faults import FORGIVEN, SEVERAL
from guerdon.rewards.check.reward_report import KINDS, SAME, Finding, quoted

NEARLY = 0.1  # of what gold is paid above nothing
PROBLEMS = 0.25  # share of the problems that were tried which must show a fault
ALIKE = 0.5  # ... of those whose wrong answers are nearly right, where partial credit may be meant
PARTLY_RIGHT = (
    *("near-miss", "other answer", "suffix", "prefix", "truncated", "hedged", "list", "mention", "one move wrong"),
    *("leaves early", "half done", "part of it", "wrong at the end", "undoes it", "other order", "plays on", "mutant"),
    *("does too much", "too many answers", "other path", "part of the answer", "off by little", "query that cheats"),
    *("other values", "other rows", "other columns", "shuffled", "object", "by heart", "constant program"),
)
BY_FORM = ("form", "marks", "no answer", "without form")  # what these may earn is looked at elsewhere


def nearly_paid(asked: Asked, known: Sequence[Finding], luck: float = 0.0) -> Iterator[Finding]:
    """Kinds that the check has nothing severe against, and that earn nearly what gold earns. `luck` is how often one
    answer to all problems is right: what is read as a guess is paid as often."""
    severe = {f.completions for f in known if f.severity == "severe"}
    gold, least = gold_of(asked), _least(asked)
    for kind in dict.fromkeys(s.kind for s in asked.samples if s.kind not in RIGHT):
        if kind in severe or kind in FORGIVEN or kind in BY_FORM:
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
        yield Finding("worth", "severe", says, len(paid), len(mine), example, kind)


def shown_by_enough(findings: Sequence[Finding], asked: Asked, kinds: Sequence[str]) -> list[Finding]:
    """Findings about some `kinds` are severe only where a good part of the problems shows them."""
    gold = gold_of(asked)
    settled = []
    for each in findings:
        if each.completions in kinds and each.severity == "severe" and each.kind == "worth":
            mine = [
                (s, v)
                for s, v in zip(asked.samples, asked.values, strict=True)
                if s.kind == each.completions and s.group in gold
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
