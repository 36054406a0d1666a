"""How often verdicts are wrong, and how often a difference that is there is seen.

Whole proofs, with looks at 8, 16 and 32 seeds as `verdict.py` has them, are drawn many times from the differences of an arm
with itself, with replacement. Their signs are left as they are, so that a lean to one side, or a long tail, stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from guerdon.exams.statistics import t_quantile
from guerdon.loop.proof.verdict import ERROR, LOOKS, ROUNDING, levels

DRAWS = 4000
TIMES = (1.5, 2.0)  # the effect
WORDS = ("better", "worse", "equal", "not known")
Array = npt.NDArray[np.float64]


def outcomes(proofs: Array, effect: float) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.int64]]:
    """The word of each row of differences, and the seeds it took: what `compare` says look after look, of all rows at once.

    >>> words, seeds = outcomes(np.array([[0.05, 0.06] * 16, [0.5, -0.5] * 16]), effect=0.02)
    >>> [(str(word), int(n)) for word, n in zip(words, seeds)]
    [('better', 8), ('not known', 16)]
    """
    words = np.full(len(proofs), "not known", dtype="<U9")
    seeds = np.zeros(len(proofs), dtype=np.int64)
    going = np.ones(len(proofs), dtype=bool)
    for n, level in levels():
        seeds[going] = n
        mean, low, high = _intervals(proofs[:, :n], 1 - level)
        slack = ROUNDING * effect
        words[going & (low > effect + slack)] = "better"
        words[going & (high < -effect - slack)] = "worse"
        words[going & (low > -effect + slack) & (high < effect - slack)] = "equal"
        going &= words == "not known"
        if n > LOOKS[0]:
            going &= np.abs(mean) >= effect - slack
    return words, seeds


def _intervals(proofs: Array, confidence: float) -> tuple[Array, Array, Array]:
    """The mean of each row and the ends of its t-interval."""
    n = proofs.shape[1]
    mean = proofs.mean(axis=1)
    half = t_quantile(confidence, n - 1) * proofs.std(axis=1, ddof=1) / math.sqrt(n)
    return mean, mean - half, mean + half


def drawn(differences: Sequence[float], draws: int) -> Array:
    """So many proofs of the full size, drawn from the differences with replacement; always the same ones."""
    pick = np.random.default_rng(0).integers(0, len(differences), size=(draws, LOOKS[-1]))
    return np.asarray(differences, dtype=np.float64)[pick]


def error_rates(differences: Sequence[float], effect: float, draws: int = DRAWS) -> dict[str, float]:
    """The share of each verdict over proofs of an arm with itself, of wrong ones (*better* and *worse*), and the mean of the
    seeds that they took.

    >>> error_rates([0.001, -0.001, 0.002, 0.0], effect=0.02)["equal"]
    1.0
    """
    words, seeds = outcomes(drawn(differences, draws), effect)
    shares = {word: float(np.mean(words == word)) for word in WORDS}
    return {**shares, "wrong": shares["better"] + shares["worse"], "seeds": float(seeds.mean())}


def power(
    differences: Sequence[float], effect: float, times: Sequence[float] = TIMES, draws: int = DRAWS
) -> list[dict[str, float]]:
    """The share of *better* where the truth is so many times the effect, and the mean of the seeds that it took.

    The differences of an arm with itself are centred and shifted.

    >>> power([0.001, -0.001, 0.002, 0.0], effect=0.02, times=[2.0])
    [{'times': 2.0, 'better': 1.0, 'seeds': 8.0}]
    """
    proofs = drawn(differences, draws) - float(np.mean(differences))
    results = []
    for factor in times:
        words, seeds = outcomes(proofs + factor * effect, effect)
        results.append({"times": factor, "better": float(np.mean(words == "better")), "seeds": float(seeds.mean())})
    return results


def planted_collapse(
    sd: float, effect: float, share: float = 0.1, loss: float = 0.25, draws: int = DRAWS
) -> dict[str, float]:
    """How often verdicts are wrong where the baseline loses `loss` in a share of its runs, and the means are equal.

    Few seeds may hold no such run, and then the method, which is a little below the baseline's healthy runs, looks worse; many
    make it look better. The rules are that of the first edition at 8 seeds, the present one at 8, and with all its looks.

    >>> planted_collapse(sd=0.02, effect=0.02, share=0.0)["at 8"] <= 0.01
    True
    """
    generator = np.random.default_rng(0)
    size = (draws, LOOKS[-1])
    fell = generator.random(size) < share
    proofs = generator.normal(0.0, sd, size) + loss * fell - loss * share
    words, seeds = outcomes(proofs, effect)
    wrong = (words == "better") | (words == "worse")
    return {
        "sd": sd,
        "effect": effect,
        "first edition": float(np.mean(_first_edition(proofs[:, : LOOKS[0]], effect))),
        "at 8": float(np.mean(wrong & (seeds == LOOKS[0]))),
        "all looks": float(np.mean(wrong)),
    }


def collapse_table(sds: Sequence[float], effects: Sequence[float], draws: int = DRAWS) -> list[dict[str, float]]:
    """`planted_collapse` for each spread and each effect.

    >>> len(collapse_table(sds=[0.01, 0.02], effects=[0.02], draws=100))
    2
    """
    return [planted_collapse(sd, effect, draws=draws) for sd in sds for effect in effects]


def _first_edition(proofs: Array, effect: float) -> npt.NDArray[np.bool_]:
    """Which rows the first edition called a difference: the 95 % interval leaves 0 out, and the mean is the effect or more."""
    mean, low, high = _intervals(proofs, 1 - ERROR)
    return ((low > 0) & (mean >= effect)) | ((high < 0) & (mean <= -effect))
