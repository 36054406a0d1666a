"""What a run inside a study came to: its held-out accuracy along the way, as evidence draws it.

Left out: curves of recipes that are proved themselves, which the proof reads from their folders.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError


def held_out(run: Any) -> list[dict[str, Any]]:
    """Every evaluation of a run: the tokens `spent` before it, pass@1 as `value`, and, of several kinds, each in `kinds`."""
    evaluations = [
        {"spent": spent["tokens"], "value": result["pass@1"], "kinds": result.get("kinds", {})}
        for spent, result in run.curve
    ]
    if not evaluations:
        raise UserError("this study reads the evaluations of its runs, and there are none: leave eval_tasks above 0")
    return evaluations
