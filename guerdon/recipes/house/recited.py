"""What recipes of preferences have in common: where the answers come from that they recite, a task or a file. No recipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.part import part
from guerdon.core.task import Ask
from guerdon.curricula.demonstrations import contrasts, dataset_rows
from guerdon.select.pairs import paired
from guerdon.select.second_roles import Tried
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


@part
class demonstration:
    """The ask of tries at a problem, once more, with its solution or else its answer to recite; none where that is empty."""

    source: Any

    def __call__(self, tried: Sequence[Tried]) -> Ask | None:
        ask = tried[0].episode.ask
        text = self.source.solution(ask.task) if hasattr(self.source, "solution") else ask.task.answer
        return ask.but(n=1, note={"say": [text]}) if text.strip() else None
