"""What a run inside a study came to: its held-out accuracy along the way, as evidence draws it.

Left out: curves of recipes that are proved themselves, which the proof reads from their folders.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.events import Evaluated, StepDone


def held_out(run: Any) -> list[dict[str, Any]]:
    """Every evaluation of a run: the tokens `spent` before it, pass@1 as `value`, and, of several kinds, each in `kinds`."""
    spent, total = {-1: 0}, 0
    for done in run.events(StepDone):
        total += done.tokens
        spent[done.step] = total
    found = [
        {"spent": spent[e.step], "value": e.result["pass@1"], "kinds": e.result.get("kinds", {})}
        for e in run.events(Evaluated)
    ]
    if not found:
        raise UserError("this study reads the evaluations of its runs, and there are none: leave eval_tasks above 0")
    return found
