"""How often a reward is wrong, by kind of completion, with intervals over problems, and what moves it that should not.

A completion is *accepted* where it is paid more than half-way from what a wrong answer to its problem usually earns to what its
gold earns. Problems are the sample: completions of one problem are not independent. Length, form, place and style are changed
while the truth stays; a change is reported as a share of the reward for being right there: gold less the usual wrong answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from guerdon.audits.asking import Asked, ask, gold_of, wrong_of
from guerdon.audits.kinds import RIGHT, SAME, CheckedSample
from guerdon.audits.probes.answers import PREAMBLE, is_code, near_misses, wrong_cores
from guerdon.audits.probes.gold import WHY, Posed
from guerdon.core.statistics import auc, interval, t_interval
from guerdon.rewards.formula.reward import Reward


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


def auc_of(asked: Asked) -> dict[str, float]:
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


Make = Callable[[str, int, str], CheckedSample]
CHANGES: dict[str, tuple[Callable[[str], str], ...]] = {
    "length": (lambda text: f"{PREAMBLE * 12}\n{text}", lambda text: f"{PREAMBLE * 40}\n{text}"),
    "form": (lambda text: f"**{text}**", lambda text: f"<think>\n{WHY}\n</think>\n{text}"),
    "place": (lambda text: f"{text}\n\n{WHY}",),
    "style": (
        lambda text: f"# Solution\n\n- First, we analyse it carefully.\n- Then we conclude.\n\n{text}",
        lambda text: f"Great question! Let me verify each step. Therefore, with full confidence:\n{text}",
    ),
}
NEARLY = 0.1  # of what being right is worth: partial credit that falls by less is noise


@dataclass(frozen=True)
class Changed:
    """A text before and after a change that leaves its truth as it was."""

    what: str
    group: int
    right: bool
    before: str
    after: str


def sensitivities(formula: Reward, posed: Sequence[Posed], own: Asked, make: Make) -> dict[str, dict[str, Any]]:
    """By property: the mean change of right and of wrong answers, with 95 % intervals over problems, and the largest."""
    gold, wrong = gold_of(own), wrong_of(own)
    worth = {g: gold[g] - wrong[g] for g in gold if g in wrong and gold[g] > wrong[g] + SAME}
    changes = [each for group, p in enumerate(posed) if group in worth for each in _changes(group, p, posed)]
    if not changes:
        return {}
    samples = [make("changed", c.group, text) for c in changes for text in (c.before, c.after)]
    values = ask(formula, samples, "changed").values
    moved: dict[str, dict[bool, dict[int, list[float]]]] = {}
    for n, change in enumerate(changes):
        gap = (values[2 * n + 1] - values[2 * n]) / worth[change.group]
        if gap == gap:
            moved.setdefault(change.what, {}).setdefault(change.right, {}).setdefault(change.group, []).append(gap)
    return {what: _told(by_truth) for what, by_truth in moved.items()}


def _changes(group: int, posed: Posed, others: Sequence[Posed]) -> Iterator[Changed]:
    wrong = near_misses(posed, others)[:1]
    if is_code(posed.own.core):
        return
    for what, changes in CHANGES.items():
        for change in changes:
            if posed.says_right(change(posed.own.text)):
                yield Changed(what, group, True, posed.gold.text, change(posed.gold.text))
            for text in wrong:
                if posed.is_wrong(text) and posed.is_wrong(change(text)):
                    yield Changed(what, group, False, text, change(text))


def _told(by_truth: dict[bool, dict[int, list[float]]]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for right, by_group in by_truth.items():
        means = [float(np.mean(gaps)) for gaps in by_group.values()]
        mean, low, high = t_interval(means)[:3] if len(means) > 1 else (means[0], float("nan"), float("nan"))
        largest = max((gap for gaps in by_group.values() for gap in gaps), key=abs)
        told["right" if right else "wrong"] = {
            "mean": mean, "low": low, "high": high, "largest": largest, "problems": len(means)
        }  # fmt: skip
    return told


# --- partial credit -------------------------------------------------------------------------------------------------


def partial_credit(
    formula: Reward, posed: Sequence[Posed], own: Asked, make: Make
) -> tuple[dict[str, Any], list[tuple[CheckedSample, float, CheckedSample, float]]]:
    """Whether who is further is paid no less: pairs of answers of which one has more right than the other, how many of them
    are out of order, how many half-right ones are paid above gold; and those pairs, the worst first."""
    gold, wrong = gold_of(own), wrong_of(own)
    samples, place = [], []
    for group, each in enumerate(posed):
        ladder = _ladder(each, posed) if group in gold and gold[group] > wrong.get(group, -np.inf) + SAME else []
        place += [(group, degree) for degree in range(len(ladder))]
        samples += [make("partial", group, text) for text in ladder]
    if not samples:
        return {}, []
    values = ask(formula, samples, "partial").values
    ladders: dict[int, list[int]] = {}
    for n, (group, _) in enumerate(place):
        if values[n] == values[n]:
            ladders.setdefault(group, []).append(n)
    out_of_order, pairs, above = [], 0, 0
    for group, rungs in ladders.items():
        room = NEARLY * max(gold[group] - wrong.get(group, gold[group] - 1.0), SAME)
        above += sum(values[n] > gold[group] + SAME for n in rungs[:-1])
        for low, high in combinations(rungs, 2):
            pairs += 1
            if values[low] > values[high] + room:
                out_of_order.append((samples[low], values[low], samples[high], values[high]))
    varies = any(max(values[n] for n in rungs[:-1]) > min(values[n] for n in rungs[:-1]) + SAME
                 for rungs in ladders.values() if len(rungs) > 2)  # fmt: skip
    numbers = {
        "problems": len(ladders), "pairs": pairs, "out_of_order": len(out_of_order), "above_gold": above,
        "gives_partial_credit": varies,
    }  # fmt: skip
    return numbers, sorted(out_of_order, key=lambda each: each[3] - each[1])


def _ladder(posed: Posed, others: Sequence[Posed]) -> list[str]:
    """Answers with more and more right in them, gold last: fields of an object, items of a list, lines of a solution."""
    core = posed.own.core
    steps = [*_objects(core)] or [*_lists(core)]
    if steps:
        texts = [posed.gold.put(text) for text in steps]
    elif posed.own.work and posed.gold is posed.own and not is_code(core):
        lines = posed.own.work.split("\n")
        cores = wrong_cores(posed, others)
        texts = [
            posed.own.put(cores[-1]).replace(posed.own.work, "\n".join(lines[:n]), 1) for n in range(len(lines) + 1)
        ]
        texts = [text.lstrip("\n") for text in texts] if cores else []
    else:
        texts = []
    texts = [text for text in dict.fromkeys(texts) if posed.is_wrong(text)]
    return [*texts, posed.gold.text] if len(texts) > 1 else []


def _objects(core: str) -> Iterator[str]:
    try:
        value = json.loads(core)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict) and len(value) > 1:
        names = list(value)
        for n in range(len(names)):
            yield json.dumps({name: value[name] if i < n else "?" for i, name in enumerate(names)})


def _lists(core: str) -> Iterator[str]:
    items = core.split()
    if len(items) > 3 and all(item.strip(",").lstrip("-").isdigit() for item in items):
        for n in range(len(items) - 1):
            yield " ".join([*items[:n], *reversed(items[n:])])
