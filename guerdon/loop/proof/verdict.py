"""From paired differences to a word: better, worse, equal, or not known.

Pure arithmetic, decided before anything is run.
A difference is the method's score minus the baseline's of the same seed, turned so that more is better.
The effect is the smallest difference that counts, which the claim states beforehand.

**The words.** Each is read off one t-interval of the mean difference:

- *better*: the whole interval lies above the effect;
- *worse*: it lies below minus the effect;
- *equal*: it lies within the effect either side of 0;
- *not known*: anything else.

(A claim that this machine cannot try at all is *not testable here*; no comparison says so.)

**The looks.** There may be three, at the first 8, the first 16 and all 32 of the same seeds. Each spends its share of the
error of 5 %: its interval leaves out 1 %, 1.5 % and 2.5 %. The first look that says a word ends the matter: what later
looks would say does not count, and seeds between two looks wait for the next one.

**Why this is right 95 times in 100.** However the looks hang together, and whenever one stops, the chance that any of the
three intervals misses the true mean is at most 1 + 1.5 + 2.5 = 5 %. Where none misses, every word that is said is true, for
each says no more than that the mean is where its interval is. So the three words need no further correction among each other:
they divide the line between them, one interval can say only one, and a mean can make at most one of them true. What is
assumed is that a t-interval misses as often as it says, which rare collapses of an arm can undo: they are counted, and
`power.py` says what they do.

**As p-values.** A word has a one-sided p-value at each look (*equal*: the larger of its two). Twice that, divided by the
look's share of the error, is at most 5 % exactly where the look's interval says the word. The least over looks is the
word's adjusted p: another look never raises it.

**No spread.** Differences that are all the same (a spread below a billionth of the effect is rounding) give no t. Then the
value itself decides: p is 0 for what is true of it and 1 for the rest, and a value just at the effect says nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from guerdon.exams.statistics import mean_and_spread, t_above, t_interval

Verdict = Literal["better", "worse", "equal", "not known", "not testable here"]
Kind = Literal["better", "at least as good", "equal"]
Standing = Literal["supported", "refuted", "open"]
LOOKS = (8, 16, 32)  # seeds
SPENT = (0.2, 0.3, 0.5)  # the share of the error at each
ERROR = 0.05
ROUNDING = 1e-9  # of the effect
EXACT = 16  # values whose signs are turned in every way; more are turned at random
FLIPS = 2**16
FELL_EFFECTS, FELL_SPREADS = 5.0, 4.0
DEVIATIONS = 1.4826  # a normal's standard deviation, in median absolute deviations


class Look(TypedDict):
    """What the first `seeds` differences say: one-sided p-values, and the share of the error spent on them.

    `p_no_worse` is of the mean being above minus the effect, which *better* and *equal* have in common.
    """

    seeds: int
    level: float
    p_better: float
    p_worse: float
    p_equal: float
    p_no_worse: float


@dataclass(frozen=True)
class Comparison:
    """Two arms, seed by seed, or one sample of values.

    `low` and `high` are the plain 95 % t-interval over all seeds, to be shown; the words come from `looks`. `p` is the adjusted
    p of the word it says, or is nearest to saying. `flip` is the p-value of the signs alone. `collapses` are the runs that fell
    away, of the method and of the baseline. `needs` are the seeds that the next look takes; 0: there is none.
    """

    differences: list[float]
    mean: float
    sd: float
    low: float
    high: float
    effect: float
    looks: list[Look]
    p: float
    alone: Verdict
    flip: float
    collapses: list[int]
    needs: int


def compare(
    ours: Sequence[float],
    theirs: Sequence[float],
    effect: float,
    better: str = "higher",
    looks: Sequence[int] = LOOKS,
) -> Comparison:
    """The paired difference of two arms whose scores are in the order of their seeds.

    >>> ours = [0.33, 0.35, 0.34, 0.36, 0.35, 0.34, 0.36, 0.35]
    >>> compare(ours, [0.3] * 8, effect=0.02).alone
    'better'
    >>> compare(ours, [0.3] * 8, effect=0.04).needs  # not known after 8 seeds: 16 may tell
    16
    """
    sign = 1.0 if better == "higher" else -1.0
    differences = [sign * (a - b) for a, b in zip(ours, theirs, strict=True)]
    fell = [collapses(ours, effect, better), collapses(theirs, effect, better)]
    return _compared(differences, effect, fell, looks)


def compare_values(values: Sequence[float], effect: float, looks: Sequence[int] = LOOKS) -> Comparison:
    """One number per seed, held against 0: a score less its bound, a slope.

    >>> compare_values([0.05, 0.06, 0.04, 0.05, 0.05, 0.06, 0.04, 0.05], effect=0.02).alone
    'better'
    """
    return _compared(list(values), effect, [collapses(values, effect), 0], looks)


def _compared(differences: list[float], effect: float, fell: list[int], looks: Sequence[int]) -> Comparison:
    if not effect > 0:
        raise ValueError(f"the smallest effect that counts is above 0, not {effect}")
    if not all(math.isfinite(d) for d in differences):
        raise ValueError("a difference is not a number: a run without a score can be compared with nothing")
    taken = [_look(differences[:seeds], effect, level) for seeds, level in levels(looks) if seeds <= len(differences)]
    _, spread = mean_and_spread(differences)
    mean, low, high, _ = t_interval(differences)
    alone = first_word(taken)
    flip = sign_flip(differences)
    p = adjusted_p(taken, alone)
    comparison = Comparison(differences, mean, spread, low, high, effect, taken, p, alone, flip, fell, needs=0)
    return dataclasses.replace(comparison, needs=next_look(comparison, looks))


def levels(looks: Sequence[int] = LOOKS) -> list[tuple[int, float]]:
    """The seeds of each look, three at most, and the error spent on it."""
    return [(seeds, ERROR * share) for seeds, share in zip(looks, SPENT[: len(looks)], strict=True)]


def _look(differences: Sequence[float], effect: float, level: float) -> Look:
    no_worse = p_above(differences, -effect, effect)
    return Look(
        seeds=len(differences),
        level=level,
        p_better=p_above(differences, effect, effect),
        p_worse=p_above([-d for d in differences], effect, effect),
        p_equal=max(no_worse, p_above([-d for d in differences], -effect, effect)),
        p_no_worse=no_worse,
    )


def p_above(values: Sequence[float], bound: float, effect: float) -> float:
    """The one-sided t-test's p-value of a mean of `bound` or less; of values without spread 0 or 1."""
    mean, spread = mean_and_spread(values)
    if spread <= ROUNDING * effect:
        return 0.0 if mean - bound > ROUNDING * effect else 1.0
    return t_above((mean - bound) / (spread / math.sqrt(len(values))), len(values) - 1)


def _says(look: Look) -> Verdict:
    p: dict[Verdict, float] = {"better": look["p_better"], "worse": look["p_worse"], "equal": look["p_equal"]}
    return next((word for word in p if _adjusted(p[word], look) <= ERROR), "not known")


def _adjusted(p: float, look: Look) -> float:
    return min(1.0, ERROR * 2 * p / look["level"])


def first_word(looks: Sequence[Look]) -> Verdict:
    """The word of the first look that says one."""
    return next((word for word in map(_says, looks) if word != "not known"), "not known")


def adjusted_p(looks: Sequence[Look], word: Verdict) -> float:
    """The adjusted p of a word over the looks that were taken; where there is no word yet, the least of the three.

    The one becomes the other without a rise: at the first look that says a word, the other two are above 5 % still.
    """
    of_word = {
        "better": [_adjusted(look["p_better"], look) for look in looks],
        "worse": [_adjusted(look["p_worse"], look) for look in looks],
        "equal": [_adjusted(look["p_equal"], look) for look in looks],
    }
    return min(
        (p for each, over_looks in of_word.items() for p in over_looks if word in (each, "not known")), default=1.0
    )


def p_no_worse(comparison: Comparison) -> float:
    """The adjusted p of being at least as good: the mean is above minus the effect."""
    return min((_adjusted(look["p_no_worse"], look) for look in comparison.looks), default=1.0)


def next_look(comparison: Comparison, looks: Sequence[int] = LOOKS) -> int:
    """How many seeds the next look takes; 0: there is none.

    None follows a word. The second follows an open first always, a later one only where the mean is as large as the effect:
    elsewhere a difference that counts has become unlikely.
    """
    taken = [look["seeds"] for look in comparison.looks]
    if comparison.alone != "not known" or len(taken) == len(looks):
        return 0
    if len(taken) > 1 and not is_large(math.fsum(comparison.differences[: taken[-1]]) / taken[-1], comparison.effect):
        return 0
    return looks[len(taken)]


def is_large(mean: float, effect: float) -> bool:
    """Whether a mean, to either side, is an effect that counts."""
    return abs(mean) >= effect * (1 - ROUNDING)


def sign_flip(differences: Sequence[float]) -> float:
    """The p-value of the mean being this far from 0 where the sign of each difference is a coin's.

    It asks for no bell curve, only for differences that lie the same way to both sides of 0. Up to 16 are
    turned in every way; more in 2**16 ways that are drawn at random, always the same, and what was seen counts as one of them.

    >>> sign_flip([1.0, 2.0, 3.0])  # 2 of 8 ways are as far out: all three up, all three down
    0.25
    """
    values = np.asarray(differences, dtype=np.float64)
    signs = _ways_to_turn(len(values))
    sums = np.abs(signs @ values)
    as_far = int(np.sum(sums >= abs(values.sum()) - ROUNDING * np.abs(values).sum()))
    return as_far / len(signs) if len(values) <= EXACT else (as_far + 1) / (len(signs) + 1)


@functools.lru_cache(maxsize=len(LOOKS))
def _ways_to_turn(n: int) -> npt.NDArray[np.floating[Any]]:
    """Signs for n differences, a row for each way. Making them takes longer than using them, and a proof asks often."""
    if n <= EXACT:
        return 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1.0
    return 2.0 * np.random.default_rng(0).integers(0, 2, size=(FLIPS, n)) - 1.0


def collapses(scores: Sequence[float], effect: float, better: str = "higher") -> int:
    """How many runs of an arm fell away: they are worse than its median by more than five effects, and by more than four
    standard deviations as the median absolute deviation gives them.

    >>> collapses([0.5, 0.52, 0.51, 0.1], effect=0.02)
    1
    """
    sign = 1.0 if better == "higher" else -1.0
    middle = statistics.median(scores)
    deviation = DEVIATIONS * statistics.median(abs(s - middle) for s in scores)
    far = max(FELL_EFFECTS * effect, FELL_SPREADS * deviation)
    return sum(sign * (middle - s) > far for s in scores)


def stands(kind: Kind, comparison: Comparison, verdict: Verdict) -> Standing:
    """What a verdict makes of a claim. *At least as good* may also be known where *better* or *equal* is not."""
    if kind == "at least as good":
        is_supported = verdict in ("better", "equal") or p_no_worse(comparison) <= ERROR
        return "refuted" if verdict == "worse" else "supported" if is_supported else "open"
    if verdict not in ("better", "worse", "equal"):
        return "open"
    return "supported" if verdict == kind else "refuted"


def stands_cheaper(cost: Comparison, cost_verdict: Verdict, quality: Comparison, quality_verdict: Verdict) -> Standing:
    """A claim to be cheaper: better at cost, and at least as good at quality. Either can refute it."""
    both = {stands("better", cost, cost_verdict), stands("at least as good", quality, quality_verdict)}
    return "refuted" if "refuted" in both else "open" if "open" in both else "supported"
