"""Refusing to answer: what a refusal is worth by how far it came, and how well a policy knows what it cannot do.

A refusal is a solution whose last line gives `no` for an answer:
a word that sprig knows to end on, which a mark it never ends on is not.
For problems that may be answered so it is no refusal. Leaves out: refusals in prose.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.episode import Episode
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Split, TaskSource
from guerdon.rewards.asking.samples import completion_of, paths
from guerdon.tasks.family import ANSWER, read_solution

UNKNOWN = "no"
REFUSAL = ANSWER + UNKNOWN


@part
class or_refused(FieldColumns):
    r"""1 for a right answer, -1 for a wrong one, and for a refusal after $l$ steps $2/(1 + e^{-c_2 (l - c_1)}) - 1$: the
    further it came, the better it is to say that one does not know; short of $c_1$ it is laziness.

    Auto-CEI (Zhao et al. 2024, arXiv:2410.07627). With `c2=0` every refusal is worth 0. `column` says what is right; a try
    without a value has none.

    >>> from guerdon.core.example import ExamplePlay
    >>> bar = or_refused(c1=2.0, c2=1.0)
    >>> [round(bar.worth(text, 0.0, ExamplePlay()), 3) for text in ("= no", "a\nb\n= no", "a\nb\nc\n= no", "a\n= 7")]
    [-0.762, 0.0, 0.462, -1.0]
    """

    c1: float
    c2: float = knob(default=0.4, ge=0.0)
    column: Needs = "correct"
    gives_to: Gives = "worth"

    def worth(self, text: str, right: float, play: Play) -> float:
        steps, answer = read_solution(text)
        if answer != UNKNOWN:
            return 2.0 * right - 1.0
        return math.tanh(play.at(self.c2) * (len(steps) - play.at(self.c1)) / 2)  # the same curve, and never too large

    def __call__(self, batch: Batch, play: Play) -> Batch:
        right_column = batch.cols[self.column]
        texts = [completion_of(path) for _, path in paths(batch)]
        values = [self.worth(text, right, play) for text, right in zip(texts, right_column.value.tolist(), strict=True)]
        value = torch.tensor(values, dtype=torch.float32).masked_fill(right_column.missing, float("nan"))
        return batch.with_cols({self.gives_to: Column("track", value, right_column.reason)})


def abstention(source: TaskSource, tries: Sequence[Episode], weight: float = 0.2) -> dict[str, float]:
    """How well the last answers of episodes know their limits: `precision` of what was answered (0 where nothing was), the
    share `refused`, `accuracy` over all, `objective` = (1 - weight) precision + weight (1 - refused) as Auto-CEI has it; the
    mean number of steps before a refusal (`depth`; of all, where there is none) and the deviation over all (`spread`)."""
    right, refusals, lengths = [], [], []
    for episode in tries:
        text = episode.segments[-1].text
        steps, answer = read_solution(text)
        lengths.append(len(steps))
        if answer == UNKNOWN:
            refusals.append(len(steps))
        else:
            right.append(float(source.check(episode.task, text) or 0.0))
    precision = statistics.fmean(right) if right else 0.0
    refused = len(refusals) / len(lengths)
    return {
        "objective": (1 - weight) * precision + weight * (1 - refused),
        "precision": precision,
        "refused": refused,
        "accuracy": sum(right) / len(lengths),
        "depth": statistics.fmean(refusals or lengths),
        "spread": statistics.pstdev(lengths),
    }


def held(source: TaskSource, split: Split, tasks: int = 64, tries: int = 4) -> list[Ask]:
    """Asks to measure it with: held-out problems, or problems to train on from a place where no run begins."""
    size, first = source.size(split), 0 if split == "test" else 2**19
    return [Ask(source.get(split, first + i if size is None else (first + i) % size), tries) for i in range(tasks)]
