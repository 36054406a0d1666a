"""RewardMATH: a right solution against nine wrong ones, by one score a solution, by scores of its steps, or by verdicts on
pairs.

Follows kimsh0507/RewardMATH_official at cde06ab, src/evaluation/eval.py: the aggregations of steps (lines 278-308), the rank of
the right solution, which comes after wrong ones of the same score (310-325), verdicts on pairs (333-357), and accuracy, also
with ties (371-376). Paper: arXiv:2410.01729.

- accuracy: the lowest score of a right solution is above the highest of a wrong one; MRR: 1 / rank of the best right one.
- verdicts: the right solution scores 1 + its wins; a wrong one 1 where it lost, else more than anything can have.
Other than theirs: a problem with a score that is missing is left out and counted; so is one whose steps have no number by an
aggregation (a negative product has no root), for that aggregation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from guerdon.audits.scores.rows import CHOSEN, REJECTED, Ledger, ScoreRow, ScoreRows, ScoreSettings, TextSlot, protocol

RIGHT = "human_to_GPT-4"  # whose solution is the right one in the published files
SIDES = ("A", "B")
EXTRAS_BY = "geometric_mean"  # the aggregation for which length and best of N are reported
Solutions = tuple[list[Any], list[Any]]  # the scores of right and of wrong ones


def _mean_logit(steps: Sequence[float]) -> float:
    p = np.array(steps)
    with np.errstate(all="ignore"):  # the odds of 1 are infinite, as they should be
        return float(1 / (1 + np.exp(-np.mean(np.log(p / (1 - p))))))


def _mean_odds(steps: Sequence[float]) -> float:
    p = np.array(steps)
    with np.errstate(all="ignore"):
        return float(np.maximum(0, np.mean(p / (1 - p))))


def _geometric_mean(steps: Sequence[float]) -> float:
    product = math.prod(steps)
    return product ** (1 / len(steps)) if product >= 0 else math.nan


AGGREGATIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "prod": math.prod,
    "geometric_mean": _geometric_mean,
    "mean": lambda steps: sum(steps) / len(steps),
    "mean_logit": _mean_logit,
    "mean_odd": _mean_odds,
    "last": lambda steps: steps[-1],
}


def aggregated(steps: Sequence[float], how: str) -> float:
    """The scores of steps as one number; NaN where they have none by this aggregation.

    >>> aggregated([0.5, 0.8], "prod"), aggregated([0.5, 0.5], "mean_odd")
    (0.4, 1.0)
    """
    return math.nan if any(map(math.isnan, steps)) or not steps else float(AGGREGATIONS[how](steps))


def first_of_all(chosen: Sequence[float], rejected: Sequence[float]) -> dict[str, float]:
    """What a problem is worth: accuracy, the same with ties, and the reciprocal rank.

    >>> first_of_all([2.0], [3.0, 2.0, 1.0])  # third: behind the one of its own score
    {'accuracy': 0.0, 'accuracy with ties': 0.0, 'MRR': 0.3333333333333333}
    """
    rank = 1 + sum(each >= max(chosen) for each in rejected)
    return {
        "accuracy": float(min(chosen) > max(rejected)),
        "accuracy with ties": float(min(chosen) >= max(rejected)),
        "MRR": 1 / rank,
    }


@protocol(
    "rewardmath",
    "1 right against 9 wrong solutions: accuracy and MRR, by scores, step scores under every aggregation, or verdicts",
    "score (a list: numbers, lists of step scores, or A/B) and solution_reference, for verdicts chosen_position;"
    " or chosen_scores and rejected_scores",
    "kimsh0507/RewardMATH_official cde06ab, src/evaluation/eval.py:272-389; arXiv:2410.01729",
    [TextSlot("chosen_scores", "prompt", "chosen"), TextSlot("rejected_scores", "prompt", "rejected")],
)
def rewardmath(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    """A row is a problem; what its scores are is seen from the first."""
    ledger = Ledger(plain=("MRR",))
    for row in rows:
        if row.has("chosen_position"):
            _verdicts(row, ledger)
            continue
        chosen, rejected = _solutions(row)
        if not chosen or not rejected:
            row.refuse(f"a problem has right and wrong solutions: {len(chosen)} right, {len(rejected)} wrong here")
        if any(isinstance(each, list) for each in (*chosen, *rejected)):
            _steps(row, chosen, rejected, ledger)
        else:
            _scores(row, chosen, rejected, ledger)
    return ledger


def _solutions(row: ScoreRow) -> Solutions:
    if not row.has("score", "scores"):
        return row.list_of(*CHOSEN) if isinstance(row.value(*CHOSEN), list) else [row.value(*CHOSEN)], row.list_of(
            *REJECTED
        )
    scores, names = row.list_of("score", "scores"), row.list_of("solution_reference")
    if len(scores) != len(names):
        row.refuse(f"{len(scores)} scores and {len(names)} solution_reference: give one for each")
    both = [*zip(scores, names, strict=True)]
    return [s for s, name in both if name == RIGHT], [s for s, name in both if name != RIGHT]


def _scores(row: ScoreRow, chosen: Sequence[Any], rejected: Sequence[Any], ledger: Ledger) -> None:
    good, bad = ([row.as_number(each, "score") for each in side] for side in (chosen, rejected))
    missing = sum(map(math.isnan, (*good, *bad)))
    ledger.count("scores", len(good) + len(bad) - missing)
    ledger.count("missing scores", missing)
    problem = row.problem()
    if not missing:
        ledger.notes(problem, "", first_of_all(good, bad))
    for side, scores, right in (("chosen", good, 1.0), ("rejected", bad, 0.0)):
        for score, length in zip(scores, row.lengths(side, len(scores)), strict=True):
            ledger.answer(problem, score, right, length)
    for a in good:
        for b in bad:
            ledger.pair(problem, a, b)


def _steps(row: ScoreRow, chosen: Sequence[Any], rejected: Sequence[Any], ledger: Ledger) -> None:
    good, bad = (
        [
            [row.as_number(each, "step score") for each in (steps if isinstance(steps, list) else [steps])]
            for steps in side
        ]
        for side in (chosen, rejected)
    )
    every = [step for steps in (*good, *bad) for step in steps]
    ledger.count("solutions", len(good) + len(bad))
    ledger.count("missing scores", sum(map(math.isnan, every)) + sum(not steps for steps in (*good, *bad)))
    notes: dict[str, float] = {}
    for how in AGGREGATIONS:
        right, wrong = ([aggregated(steps, how) for steps in side] for side in (good, bad))
        if not any(map(math.isnan, (*right, *wrong))):
            notes |= {f"{name}/{how}": value for name, value in first_of_all(right, wrong).items()}
    problem = row.problem()
    if notes:
        ledger.notes(problem, "", notes)
    remark = f"length is in steps; length and best of N go by {EXTRAS_BY} of the steps"
    if remark not in ledger.remarks:
        ledger.remarks.append(remark)
    for side, value in ((good, 1.0), (bad, 0.0)):
        for steps in side:
            ledger.answer(problem, aggregated(steps, EXTRAS_BY), value, float(len(steps)))


def _verdicts(row: ScoreRow, ledger: Ledger) -> None:
    said, stood = row.list_of("score", "scores"), row.list_of("chosen_position")
    if len(said) != len(stood) or not said:
        row.refuse(f"{len(said)} verdicts and {len(stood)} chosen_position: give one for each")
    wins = [verdict == side for verdict, side in zip(said, stood, strict=True)]
    ledger.count("verdicts", len(said))
    ledger.count("verdicts that are neither A nor B, not won", sum(each not in SIDES for each in said))
    largest = len(wins) + 2
    worth = first_of_all([sum(wins) + 1], [1 if won else largest for won in wins])
    ledger.notes(row.problem(), "", {**worth, "pairs won": sum(wins) / len(wins), **_by_side(wins, stood)})


def _by_side(wins: Sequence[bool], stood: Sequence[Any]) -> Mapping[str, float]:
    """How often the right solution wins where it stands first, and where it stands second."""
    result = {}
    for side in SIDES:
        of = [won for won, place in zip(wins, stood, strict=True) if place == side]
        if of:
            result[f"pairs won/right one is {side}"] = sum(of) / len(of)
    return result
