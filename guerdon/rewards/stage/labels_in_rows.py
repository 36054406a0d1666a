"""Labels for the steps of solutions, as a file gives them: what process reward models are taught and examined on.

Leaves out: labels that a task's step checker finds out (`step_truth.py`).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import part
from guerdon.core.play import Play, players
from guerdon.rewards.asking.samples import Roles, Samples, check_roles
from guerdon.rewards.model.model_reading import SampleTokens
from guerdon.rewards.stage.step_truth import CheckedSolution


@part
class given_labels(FieldColumns):
    """A step column: the label of every step of a solution (`meta["steps"]`, `meta["labels"]`) on the step's last token, up to
    the first wrong one. One whose label is neither has none, and so have all other tokens.

    Steps are distinguished by the lines that they take. A track with another text than its task's solution has no labels.

    >>> import guerdon as gd
    >>> gd.rewards.given_labels().gives
    ('labels',)
    """

    gives_to: Gives = "labels"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = torch.full((batch.S,), float("nan"))
        for solution in labelled_solutions(batch, play, self.role):
            for end, label in zip(solution.ends, solution.labels, strict=False):
                value[end] = label
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


def labelled_solutions(batch: Batch, play: Play, role: Roles = "policy") -> list[CheckedSolution]:
    """Every track that recites a solution with labels: NaN where the label is neither right nor wrong."""
    samples = Samples.of_batch(batch, play, role)
    assert samples.track is not None
    tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
    solutions = []
    for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
        meta = fields["task"].meta
        if "labels" not in meta or fields["completion"] not in meta["say"]:
            continue
        pieces = tokens.cut(steps, "line", names[k] or fields["role"])
        lines = list(itertools.accumulate(_lines(step) for step in meta["steps"]))
        if lines[-1] != len(pieces):
            play.warn(f"a solution of {lines[-1]} lines is {len(pieces)} to the model's tokens, and has no labels")
            continue
        ends = [int(pieces[line - 1][-1]) for line in lines]
        labels = [math.nan if label is None else float(label) for label in meta["labels"]]
        solutions.append(CheckedSolution(k, ends, labels, whole=True))
    return solutions


def _lines(step: Any) -> int:
    return sum(bool(line.strip()) for line in step.split("\n"))
