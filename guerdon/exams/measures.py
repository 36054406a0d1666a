"""How good a scorer's numbers are: as probabilities, and at finding the first wrong step.

Plain functions on lists.
Leaves out: where the numbers come from (`scorers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

CERTAIN = 0.5  # a step that is less likely right than this is called wrong


def first_wrong(chance: Sequence[float]) -> int | None:
    """The first step that is called wrong, None where none is."""
    return next((i for i, p in enumerate(chance) if p < CERTAIN), None)


def first_error_scores(predicted: Sequence[int | None], truth: Sequence[int | None]) -> dict[str, float]:
    r"""ProcessBench's protocol (Zheng et al. 2024, arXiv:2412.06559): the share of wrong solutions whose first error was
    named exactly, the share of right ones in which none was found, and F1, their harmonic mean.

    The paper chooses a model's threshold on one of its subsets; here it is 1/2. Where all solutions are of one kind there
    is no F1.

    >>> first_error_scores([1, 0, None, None], [1, 2, None, None])
    {'found_share': 0.5, 'cleared_share': 1.0, 'first_error_f1': 0.6666666666666666}
    """
    wrong = [s == t for s, t in zip(predicted, truth, strict=True) if t is not None]
    right = [s is None for s, t in zip(predicted, truth, strict=True) if t is None]
    scores = {name: sum(hits) / len(hits) for name, hits in (("found_share", wrong), ("cleared_share", right)) if hits}
    if len(scores) == 2:
        a, b = scores.values()
        scores["first_error_f1"] = 2 * a * b / (a + b) if a + b else 0.0
    return scores
