"""Labels for the lines of solutions, by the task's own step checker: what process reward models are taught and examined on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import part
from guerdon.core.play import Play, players
from guerdon.rewards.asking.samples import Roles, Samples, check_roles
from guerdon.rewards.model.model_reading import SampleTokens
from guerdon.tasks.family import Family
from guerdon.tasks.roles import marks


@part
class line_labels(FieldColumns):
    """A step column: 1 on the last token of every line that follows, 0 on that of the first that does not. No other step
    has a label, and no line after an error: what follows from a wrong line is neither right nor wrong (Lightman et al.
    2023, arXiv:2305.20050, label up to the first error too).

    The answer is a line like any other. A solution that ends without one errs in its last line; of one that was cut short
    the lines that are there are labelled. Truth is the family's, so labels are exact; tracks of other roles have none.

    >>> import guerdon as gd
    >>> gd.rewards.line_labels(gd.tasks.chain(level=2)).gives
    ('labels',)
    """

    task: Any
    gives_to: Gives = "labels"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)
        if not isinstance(self.task, Family):
            name = getattr(self.task, "name", repr(self.task))
            raise UserError(f"{name} has no step checker: choose a generated family (guerdon list tasks)")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = torch.full((batch.S,), float("nan"))
        for solution in checked_solutions(batch, self.task, play, self.role):
            for end, label in zip(solution.ends, solution.labels, strict=False):
                value[end] = label
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


@dataclass(frozen=True)
class CheckedSolution:
    """A track as its step checker sees it."""

    track: int
    ends: list[int]  # the step that each line ends on
    labels: list[float]  # of the lines up to the first wrong one, or all
    whole: bool  # False where it was cut short before an error: whether it would have been right is not known

    @property
    def wrong(self) -> int | None:
        """The number of the first wrong line, None where there is none."""
        return self.labels.index(0.0) if 0.0 in self.labels else None


def checked_solutions(batch: Batch, task: Family, play: Play, role: Roles = "policy") -> list[CheckedSolution]:
    """Every track of a role, or several, that did not fail and has a line. Turns are taken together, one below the other."""
    samples = Samples.of_batch(batch, play, role)
    assert samples.track is not None
    tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
    cut = (batch.end == ENDS.index(End.CUT))[batch.leaf].tolist()
    solutions = []
    for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
        text = "\n".join(fields["turns"])
        if len(steps) and text.strip():
            ends = [int(piece[-1]) for piece in tokens.cut(steps, "line", names[k] or fields["role"])]
            solutions.append(_checked(k, ends, marks(task, fields["task"], text), cut[k]))
    return solutions


def _checked(track: int, ends: list[int], line_marks: str, cut: bool) -> CheckedSolution:
    """`line_marks` has a mark for the answer even where none came: that one is the last line's, or nobody's if it was cut."""
    labels = [float(mark == "+") for mark in line_marks]
    missing = len(labels) > len(ends)
    labels = labels[: len(ends)]
    if missing and not cut:
        labels[-1] = 0.0
    return CheckedSolution(track, ends, labels, whole=not (missing and cut))
