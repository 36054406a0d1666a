"""The word of a registered claim: ahead, behind, no difference beyond x, or inconclusive. Pure arithmetic.

- *ahead*: a one-sided t-test at 5 % finds the method better on the first seeds and again on the fresh ones, each sample by
  itself, and the 95 % interval over all pairs lies above 0;
- *behind*: the same below 0. Only this refutes a claim;
- *no difference beyond x*: the 95 % interval over all pairs lies within x on both sides of 0, where x is the claim's `effect`;
- *inconclusive*: none of these.

A difference that is confirmed and small is ahead or behind; of a claim that there is no difference (*equal*, *at least as
good*) the interval is asked first.

Two independent tests at 5 % are both passed by an arm without an effect in 0.25 % of proofs, whatever others are run beside
it, so there is no correction over claims. `simulation.py` measures how often that is, and how often effects are difference.
"""

from __future__ import annotations

from typing import Literal

from guerdon.prove.estimate import LEVEL, Estimate, detectable, p_above

Word = Literal["ahead", "behind", "no difference", "inconclusive"]
EACH, MORE = 8, 12  # seeds of each of the two samples; more where 8 and 8 see too little
SEES = 0.15  # of what GRPO on the true reward gains: the effect that the pairs must be able to detect


def word_of(difference: Estimate, kind: str = "better") -> Word:
    """The word of an estimate.

    >>> from guerdon.prove.estimate import estimate
    >>> up, more, none = [0.03, 0.04, 0.02, 0.03], [0.02, 0.03, 0.03, 0.04], [0.001, -0.001, 0.002, 0.0]
    >>> word_of(estimate(up + more, 0.02, first=4)), word_of(estimate(up + none, 0.02, first=4)), word_of(estimate(none, 0.02))
    ('ahead', 'inconclusive', 'no difference')
    """
    if difference.is_within and kind in ("equal", "at least as good"):
        return "no difference"
    if is_confirmed(difference, 1.0):
        return "ahead"
    if is_confirmed(difference, -1.0):
        return "behind"
    return "no difference" if difference.is_within else "inconclusive"


def is_confirmed(difference: Estimate, sign: float) -> bool:
    """Whether both samples lie on one side of 0, each by its own test, and the interval of all pairs does too."""
    halves = difference.halves
    if min(map(len, halves)) < 2 or not (difference.low if sign > 0 else -difference.high) > 0:
        return False
    return all(p_above([sign * d for d in half], 0.0, difference.effect) <= LEVEL for half in halves)


def word_of_cheaper(cost: Estimate, kept: Estimate) -> Word:
    """Of a claim to cost less and to keep quality: behind where either is; ahead where the cost is, and what is kept is ahead
    or without a difference beyond its margin."""
    words = word_of(cost), word_of(kept, "at least as good")
    if "behind" in words:
        return "behind"
    if words[1] == "inconclusive":
        return "inconclusive"
    return words[0]


def seeds_of_each(sd: float, gain: float | None) -> int:
    """How many seeds each of the two samples has: 8, or 12 where two samples of 8 cannot detect 15 % of what GRPO on the true
    reward gains.

    >>> seeds_of_each(sd=0.012, gain=0.12), seeds_of_each(sd=0.03, gain=0.12), seeds_of_each(sd=0.03, gain=None)
    (8, 12, 8)
    """
    return MORE if gain is not None and detectable(sd, 2 * EACH) > SEES * gain else EACH
