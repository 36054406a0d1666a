"""What recipes of preferences have in common: where the answers come from that they recite, a task or a file. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.curricula.demonstrations import contrasts, dataset_rows
from guerdon.tasks.recited_rows import RecitedRows


def brings_answers(task: Any) -> bool:
    """Whether it is a file's rows with their answers; nobody knows what others are worth then."""
    return isinstance(task, RecitedRows)


def to_recite(task: Any, wrong: int) -> Any:
    """A file's own answers, or of a task gold solutions and `wrong` near-misses each."""
    return dataset_rows(task) if brings_answers(task) else contrasts(task, wrong=wrong)
