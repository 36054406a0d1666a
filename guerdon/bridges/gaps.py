"""What a library receives where a number is missing. Left out: the scores themselves (`rewards/stage/scorer.py`)."""

from __future__ import annotations

import warnings

from guerdon.core.errors import Notice, RunStopped
from guerdon.rewards.stage.scorer import SampleScores


def no_gaps(scored: SampleScores, name: str, missing: float | None) -> list[float]:
    """The numbers, for a library that has no way to mark a missing one.

    Without `missing` a gap stops the run: no number made up here would be a reward.
    """
    gaps = [n for n, value in enumerate(scored.whole) if value is None]
    if not gaps:
        return [x for x in scored.whole if x is not None]
    if missing is None:
        raise RunStopped(
            f"{name} gave no score for {len(gaps)} of {len(scored.whole)} samples (first: {scored.in_words(gaps[0])}) and this "
            "library takes only numbers: fix the reward, or give such samples a value with missing=NUMBER"
        )
    warn_broken(scored, name, f"each counts {missing:g}, as chosen with `missing`")
    return [missing if x is None else x for x in scored.whole]


def warn_broken(scored: SampleScores, name: str, then: str) -> None:
    """Report how many samples failed or timed out, and what becomes of them."""
    line = scored.broken_in_words(name)
    if line:
        warnings.warn(f"{line}; {then}", Notice, stacklevel=3)
