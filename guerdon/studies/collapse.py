"""When training broke down: two definitions, by exams and by the tries of training, and what was gained before.

A curve is pairs of a step and an accuracy from 0 to 1, in the order of steps.
Left out: signs that foretell a collapse, which are a watch's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

Curve = Sequence[tuple[float, float]]
ROUNDING = 1e-9  # accuracies are ratios of counts: a fall of exactly `fall` counts


def collapse_step(exams: Curve, fall: float = 0.1, running: int = 2) -> float | None:
    """The step of the first of so many exams `running` that are each at least `fall` under the best exam before them; None
    where there is none.

    >>> collapse_step([(0, 0.3), (5, 0.4), (10, 0.3), (15, 0.35), (20, 0.3), (25, 0.1)])
    20
    """
    best, below = float("-inf"), list[float]()
    for step, accuracy in exams:
        below = [*below, step] if accuracy <= best - fall + ROUNDING else []
        if len(below) == running:
            return below[0]
        best = max(best, accuracy)
    return None


def model_collapse_step(tries: Curve, under: float | None = None, block: int = 1) -> float | None:
    """The Model Collapse Step: the first step of training whose tries are right less often than `under`, by default than those
    of the first `block` of steps; each step counts with those before it in its block. None where there is none.

    >>> model_collapse_step([(0, 0.3), (1, 0.5), (2, 0.3), (3, 0.2)])
    3
    >>> model_collapse_step([(0, 0.3), (1, 0.5), (2, 0.0), (3, 0.0)], under=0.01, block=2)
    3
    """
    means = [(tries[i][0], fmean(a for _, a in tries[i + 1 - block : i + 1])) for i in range(block - 1, len(tries))]
    return next((step for step, mean in means if mean < (means[0][1] if under is None else under)), None)


def gain_at_best(exams: Curve) -> float:
    """By how much the best exam is above the first.

    >>> gain_at_best([(0, 0.25), (5, 0.5), (10, 0.0)])
    0.25
    """
    return max(accuracy for _, accuracy in exams) - exams[0][1]
