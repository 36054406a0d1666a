"""Fin-PRM's own part: labels of steps and of whole solutions from what is known of a domain.

Leaves out: where the sources come from (`line_labels`, `monte_carlo_labels`, `verified`).
"""

from __future__ import annotations

from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.recipes.process.scored_uses import WHOLE, on_lines, softly_mixed
from guerdon.rewards.asking.samples import Samples


@part
class known_labels(FieldColumns):
    r"""Labels of lines, $\sum_k\mathrm{softmax}(r)_k\,r_k$ over a line's importance and its accuracy, and of whole
    solutions, $(1-c)\,o + c\,\frac{|K_y|}{|K_x|}$: the outcome $o$, and which of the facts $K_x$ that the problem asks
    for it states, $c$ being `coverage`.

    Accuracy is whether a line follows by the rules of the domain, importance how often tries that go on from it end well.
    Facts are the lines of the problem's worked solution. A line after the first wrong one has no accuracy, and its
    importance alone is its label. The last line has no label: what is said there is said of the whole.

    >>> import guerdon as gd
    >>> known_labels(gd.tasks.load("chain:2")).gives
    ('labels', 'whole')
    """

    task: Any
    accuracy: Needs = "accuracy"
    importance: Needs = "importance"
    outcome: Needs = "correct"
    coverage: float = knob(default=0.25, ge=0.0, le=1.0)
    gives_to: Gives = "labels"
    whole_to: Gives = WHOLE

    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        importance, right = batch[self.importance], batch[self.outcome]
        label = softly_mixed(torch.stack([importance, batch[self.accuracy]], -1))
        label = label.masked_fill(importance.isnan(), float("nan"))
        for steps in batch.steps_by_track():
            ends = steps[~importance[steps].isnan()]
            label[ends[-1:]] = float("nan")
        whole, samples = right.clone(), Samples.of_batch(batch, play, "policy")
        assert samples.track is not None
        for k, fields in zip(samples.track.tolist(), samples.fields, strict=True):
            covered = stated(fields["completion"], self.task.solution(fields["task"]))
            whole[k] = (1 - self.coverage) * right[k] + self.coverage * covered
        reason = torch.where(whole.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: on_lines(label), self.whole_to: Column("track", whole, reason)})


def stated(text: str, solution: str) -> float:
    r"""The share of a solution's lines that a text has, in any order.

    >>> stated("2x=4\nx=3\n= 3", "2x=4\nx=2\n= 2")
    0.3333333333333333
    """
    facts = {line.strip() for line in solution.split("\n") if line.strip()}
    return len(facts & {line.strip() for line in text.split("\n")}) / max(len(facts), 1)
