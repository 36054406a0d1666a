"""What every stage needs that plays and scores for itself: a greedy baseline, restarts, asking again, hints.

Such a stage samples through `play`, so what it samples counts in the run's budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.part import label
from guerdon.core.play import Play
from guerdon.core.task import Ask


def play_scored(asks: Sequence[Ask], scores: Sequence[Any], play: Play) -> Batch:
    """New tries at asks, with the columns that the scoring stages give them."""
    batch = pack(play(asks)) if asks else pack([])
    for stage in scores:
        batch = stage(batch, play)
    return batch


def check_scores(scores: Sequence[Any], who: str) -> None:
    """Refuse scoring stages that could not score by themselves what a stage plays."""
    for stage in scores:
        if stage.needs:
            raise UserError(
                f"{who} scores what it plays itself, and {label(stage)} needs {', '.join(stage.needs)}: use score(...)"
            )


def given_by(scores: Sequence[Any]) -> tuple[str, ...]:
    """The columns that scoring stages give."""
    return tuple(name for stage in scores for name in stage.gives)
