"""What answers cost: tokens, all that a search tried and dropped among them."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from guerdon.core.part import part
from guerdon.exams.exam import Sitting


@part
class tokens_spent:
    r"""`tokens` $= \frac1E \sum_e T_e$: the mean number of tokens that were sampled for a try. Of a search it is all that was
    sampled, whatever it kept; of a plain try its length. What scorers read is not in it. Unbiased.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> gd.exams.tokens_spent()(example_sitting([["ab", "abcd"]]))
    {'tokens': 3.0}
    """

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        episodes = sitting.batch.episodes
        spent = [e.info.get("tokens", sum(len(s.actions) - s.given for s in e.segments)) for e in episodes]
        return {"tokens": fmean(spent) if spent else 0.0}
