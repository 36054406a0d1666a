"""A model's own completions, judged beside the made ones: what a run would meet on its first step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from guerdon.core.task import truth_of
from guerdon.rewards.check.asking_twice import Asked
from guerdon.rewards.check.check_tables import gold_of, wrong_of
from guerdon.rewards.check.faults import SEVERAL, SHARE
from guerdon.rewards.check.gold_answers import Posed
from guerdon.rewards.check.reward_report import SAME, Finding, Severity, quoted


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
                Finding("model", severity, f"{len(which)} of {of} {words}", len(which), of, example, "tried")
            )
    if not numbers["judged"]:
        says = "the task has no truth for the model's tries: whether it pays the right ones is not known"
        findings.append(Finding("model", "warning", says, numbers["tries"], numbers["tries"]))
    if numbers["groups"] and numbers["flat"] == numbers["groups"]:
        says = "the model's tries at a problem are all worth the same, in every problem: there is nothing to learn from"
        findings.append(Finding("model", "warning", says, numbers["flat"], numbers["groups"]))
    return findings
