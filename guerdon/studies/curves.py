"""Results of a run inside a study: its held-out accuracy along the way, as evidence draws it.

Left out: curves of recipes that are proved themselves, which the proof reads from their folders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from guerdon.core.errors import UserError


def held_out(run: Any) -> list[dict[str, Any]]:
    """Every evaluation of a run: the tokens `spent` before it, pass@1 as `value`, of several kinds each in `kinds`, and which
    `point` of the run it was, where that is known."""
    evaluations = [
        {
            "spent": spent["tokens"],
            "value": result["pass@1"],
            "kinds": result.get("kinds", {}),
            "point": result.get("point", ""),
        }
        for spent, result in run.curve
    ]
    if not evaluations:
        raise UserError("this study reads the evaluations of its runs, and there are none: leave eval_tasks above 0")
    return evaluations


def at_the_end(curve: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where a curve ends: the `value` and `kinds` of its last two whole exams on average, or of the last where there is one.

    >>> points = [{"value": 0.4, "kinds": {}, "point": "late"}, {"value": 0.5, "kinds": {}, "point": "last"}]
    >>> at_the_end(points)
    {'value': 0.45, 'kinds': {}}
    """
    ends = [point for point in curve if point["point"] in ("late", "last")][-2:] or curve[-1:]
    kinds = {kind: fmean(point["kinds"][kind] for point in ends) for kind in ends[-1]["kinds"]}
    return {"value": fmean(point["value"] for point in ends), "kinds": kinds}
