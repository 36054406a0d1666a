"""How often a reward is wrong, by kind of completion, with intervals over problems, and how well it tells right from wrong.

A completion is *accepted* where it is paid more than half-way from what a wrong answer to its problem is usually worth to what
its gold is worth. Problems are the sample: completions of one problem are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.statistics import auc, interval
from guerdon.rewards.check.asking_twice import Asked
from guerdon.rewards.check.check_tables import RIGHT, gold_of, wrong_of
from guerdon.rewards.check.reward_report import SAME, CheckedSample


@dataclass(frozen=True)
class ErrorRate:
    """A share with its 95 % interval, of `of` completions."""

    rate: float
    low: float
    high: float
    count: int
    of: int

    def __str__(self) -> str:
        return "-" if not self.of else f"{self.rate:.1%} [{self.low:.1%}, {self.high:.1%}]"


def rate_of(by_problem: dict[int, list[bool]]) -> ErrorRate:
    """The share of what is true, problems weighing the same.

    >>> rate_of({0: [True, False], 1: [False, False]}).rate
    0.25
    """
    shares = [sum(said) / len(said) for said in by_problem.values() if said]
    mean, low, high = interval(shares)
    every = [each for said in by_problem.values() for each in said]
    return ErrorRate(mean, low, high, sum(every), len(every))


def bars(asked: Asked) -> dict[int, float]:
    """What a completion must be paid more than to be accepted, by problem; none where gold is not paid above wrong ones."""
    gold, wrong = gold_of(asked), wrong_of(asked)
    return {
        group: (paid + wrong.get(group, paid - 1.0)) / 2
        for group, paid in gold.items()
        if paid > wrong.get(group, paid - 1.0) + SAME
    }


def error_rates(asked: Asked) -> dict[str, dict[str, Any]]:
    """By kind: `error` is the share of right ones that are not accepted, or of wrong ones that are."""
    limits = bars(asked)
    by_kind: dict[str, dict[int, list[bool]]] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.group in limits and value == value:
            accepted = value > limits[sample.group]
            said = by_kind.setdefault(sample.kind, {}).setdefault(sample.group, [])
            said.append(accepted != (sample.kind in RIGHT))
    told = {kind: vars(rate_of(said)) for kind, said in by_kind.items()}
    return {kind: {**rate, "errors": rate["count"], "scored": rate["of"]} for kind, rate in told.items()}


def whole_rates(asked: Asked) -> dict[str, ErrorRate]:
    """False positives of all wrong completions and false negatives of all right ones."""
    limits = bars(asked)
    wrong: dict[int, list[bool]] = {}
    right: dict[int, list[bool]] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.group in limits and value == value:
            accepted = value > limits[sample.group]
            if sample.kind in RIGHT:
                right.setdefault(sample.group, []).append(not accepted)
            else:
                wrong.setdefault(sample.group, []).append(accepted)
    return {"false_positives": rate_of(wrong), "false_negatives": rate_of(right)}


def told_apart(asked: Asked) -> dict[str, float]:
    """AUC: how often a right completion is paid more than a wrong one of the same problem, ties half, over problems."""
    groups: dict[int, tuple[list[float], list[float]]] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if value == value:
            groups.setdefault(sample.group, ([], []))[sample.kind not in RIGHT].append(value)
    each = [auc(right, wrong) for right, wrong in groups.values() if right and wrong]
    mean, low, high = interval(each)
    return {"auc": mean, "low": low, "high": high, "problems": len(each)}


def clearest(asked: Asked, kinds: Sequence[str], most: int = 3) -> list[tuple[CheckedSample, float, float]]:
    """Completions of some kinds that show best what is wrong with them: of wrong ones the best paid, of right ones the worst,
    each of another problem and kind if there are, the shortest first; with what they and their gold are paid."""
    gold, limits = gold_of(asked), bars(asked)
    shown = []
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.kind in kinds and value == value and sample.group in gold:
            right = sample.kind in RIGHT
            fault = gold[sample.group] - value if right else value - gold[sample.group]
            if sample.group not in limits or (value > limits[sample.group]) != right:
                shown.append((-round(fault, 6), len(sample.text), sample, value))
    shown.sort(key=lambda each: each[:2])
    fresh: list[tuple[CheckedSample, float, float]] = []
    rest: list[tuple[CheckedSample, float, float]] = []
    seen: set[object] = set()
    for _, _, sample, value in shown:
        if sample.text in seen:
            continue
        seen.add(sample.text)
        mine: set[object] = {sample.kind, sample.group}
        (rest if mine <= seen else fresh).append((sample, value, gold[sample.group]))
        seen |= mine
    return [*fresh, *rest][:most]
