"""Refined linear decay: a learning rate made of an earlier run's gradient norms, smaller where they were large."""

from __future__ import annotations

from harness import Mechanism, World

from guerdon.core.schedule import at
from guerdon.recipes.curriculum.refined_linear_decay import SHAPES
from guerdon.studies.schedules import median_filter, refined, refinement

NOISY = [4.0] * 5 + [1.0] * 5  # gradients of the first half are four times as large


def shape(norms, power=2.0, smooth=0.0):
    refinement.cache_clear()  # so that a mutant's is not the method's
    return [refined(3.0, norms, power=power, smooth=smooth).at(step, len(norms)) for step in range(len(norms))]


def way_on_noise(schedule):
    """The share of all that is stepped where gradients are mostly noise."""
    refinement.cache_clear()
    made = refined(1.0, NOISY) if schedule == "refined" else SHAPES[schedule](1.0)
    rates = [at(made, step, 10) for step in range(10)]
    return sum(rates[:5]) / sum(rates)


mechanism = Mechanism(
    "refined-linear-decay",
    source="arXiv:2310.07831, algorithm 1: w_t sum of w after t with w = G^-2 (SGD) or G^-1 (Adam), the largest scaled to peak",
    also=[refined, refinement, median_filter],
    numbers={
        "norms 1 2 1 1": (lambda: shape([1.0, 2.0, 1.0, 1.0]), [3.0, 2 / 3, 4 / 3, 0.0]),
        "the power of Adam": (lambda: shape([1.0, 2.0, 1.0, 1.0], power=1.0), [3.0, 1.2, 1.2, 0.0]),
        "equal norms are linear decay": (lambda: shape([2.0] * 4), [3.0, 2.0, 1.0, 0.0]),
        "a run of twice the length goes along the same curve": (
            lambda: (refinement.cache_clear(), [refined(1.0, [1.0] * 3, smooth=0.0).at(s, 5) for s in range(5)])[1],
            [1.0, 0.75, 0.5, 0.25, 0.0],
        ),
        "medians of three, the first repeated, the last mirrored": (
            lambda: median_filter([5.0, 1.0, 4.0, 2.0, 9.0], 3),
            [5.0, 4.0, 2.0, 4.0, 2.0],
        ),
        "medians of five": (lambda: median_filter([5.0, 1.0, 4.0, 2.0, 9.0], 5), [5.0, 4.0, 4.0, 2.0, 4.0]),
        "half of ten is a width of five: two large norms go, three stay": (
            lambda: [shape([1.0] * 3 + [9.0] * n + [1.0] * (7 - n), smooth=0.5)[3] for n in (2, 3)],
            [3 * 6 / 9, 3 * (4 + 2 / 81) / 81 / (6 + 3 / 81)],
        ),
    },
    world=World(
        says="the first half of the run is noise: less of the way is gone there than by linear decay",
        measure=way_on_noise,
        on={"schedule": "refined"},
        off={"schedule": "linear"},
        moves=-0.3,
    ),
    equal={
        "refinement: min(filtered) -> max(filtered)": "a common factor of the weights, which goes with the scaling",
        "refinement: 1.0 -> 2.0": "0 over 1 or over 2, where one norm is all there is",
        "median_filter: i <= last -> i < last": "mirrored at the last, the last is itself",
        "median_filter: 1 -> 2 (2)": "one value more at the end, which no window reaches",
    },
    without={
        "refined_linear_decay": "the study around the schedule; tests/recipes/test_studies.py trains its networks"
    },
)
