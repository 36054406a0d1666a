"""What recipes of preferences have in common: where the answers come from that they recite, a task or a file. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.curricula.demonstrations import contrasts, dataset_rows
from guerdon.select.pairs import paired
from guerdon.tasks.recited_rows import RecitedRows


def brings_answers(task: Any) -> bool:
    """Whether it is a file's rows with their answers; nobody knows what others are worth then."""
    return isinstance(task, RecitedRows)


def told_by(task: Any) -> frozenset[str]:
    """What a file says of its pairs: "label", "margin"."""
    return getattr(task, "tells", frozenset())


def all_pairs(task: Any) -> paired:
    """Every better answer against every worse one, with the labels and margins of a file that has them."""
    return paired("correct", which="all", told=bool(told_by(task)))


def to_recite(task: Any, wrong: int) -> Any:
    """A file's own answers, or of a task gold solutions and `wrong` near-misses each."""
    return dataset_rows(task) if brings_answers(task) else contrasts(task, wrong=wrong)
