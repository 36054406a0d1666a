"""Refusing to answer, and one's own tries as lessons: the parts of Auto-CEI.

A refusal is a solution whose last line gives `no` for an answer. Sprig knows that word as an end, and ends on no mark that it
was never taught. For problems that may be answered with `no` it is no refusal.
`or_refused` says what a refusal is worth, `abstention` how well a policy knows what it cannot do. `resampled` and `retold` are
for `Learn(on=...)`: tries are imitated more often the better they were, or with another end. Other stages see them
as they were.
Leaves out: refusals in prose; which tries are good enough (`select/filters.py`).
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from guerdon.core.batch import Batch, Group
from guerdon.core.column import Column
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.pack import pack, unpack
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, TaskSource
from guerdon.exams.drawing import draw_problems
from guerdon.rewards.asking.samples import completion_of, paths
from guerdon.tasks.family import ANSWER, read_solution

UNKNOWN = "no"
REFUSAL = ANSWER + UNKNOWN


@part
class resampled(FieldColumns):
    r"""Every group's tries, each once and as many again drawn with $p_i \propto e^{r_i / temperature}$; those with a `column`
    of `least` or less are then left out. A track weighs as often as it is there.

    The lessons of Auto-CEI's expert iteration (Zhao et al. 2024, arXiv:2410.07627, by its code). Tries without a value are left
    out and in no draw. Weights count in a mean over steps, `sft`'s default; a mean over tracks does not see them. *Biased* on
    purpose: at a low temperature it is the best of the group, at a high one the policy as it is.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> lessons = resampled("reward", temperature=0.01)(example_tries([[1.0, 0.0, -1.0, None]]), ExamplePlay())
    >>> lessons["reward"].tolist(), lessons.weight.tolist()  # three are drawn, and all are the first
    ([1.0, 0.0], [4.0, 1.0])
    """

    column: Needs = "reward"
    temperature: float = knob(default=1.0, gt=0.0)
    least: float = -1.0
    by: Group = "task"

    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.column, "resampled")
        group_K, groups = batch.group(self.by)
        dice, often = play.generator("resampled"), (~column.missing).double()
        for group in range(groups):
            mine = torch.nonzero((group_K == group) & ~column.missing).flatten()
            if len(mine):
                chance = torch.softmax(column.value[mine].double() / play.at(self.temperature), 0)
                drawn = torch.multinomial(chance, len(mine), replacement=True, generator=dice)
                often[mine] += torch.bincount(drawn, minlength=len(mine)).double()
        often = often * (torch.nan_to_num(column.value, nan=self.least) > self.least)
        through = gather_up(
            often[batch.path_track], batch.path_seg, batch.G
        )  # a trunk stands for all tracks through it
        weight = batch.weight / batch.shared[batch.seg].clamp(min=1) * through[batch.seg]
        kept = batch.take(often > 0)
        return dataclasses.replace(kept, weight=_rows_of(batch, weight, often > 0)).recount()


def _rows_of(batch: Batch, x: torch.Tensor, tracks: torch.Tensor) -> torch.Tensor:
    """[S] numbers for the steps that are left when some tracks are taken."""
    left = torch.zeros(batch.G, dtype=torch.bool)
    left[batch.path_seg[tracks[batch.path_track]]] = True
    return x[left[batch.seg]].to(batch.weight.dtype)


@part
class retold(FieldColumns):
    """Tries that have a `column` of 0 or less, told with `ending` in place of their last line: the way that was gone, and
    another end. With `"= no"` a wrong answer becomes a refusal, which is R-tuning (Zhang et al. 2023, arXiv:2311.09677) as
    Auto-CEI has it (Zhao et al. 2024, arXiv:2410.07627).

    With `only_end` what it has in common with what was said is given, and the other end alone is learned: to imitate wrong ways
    again and again costs a small model what it knew. What is told otherwise was not sampled: its log-probs are unknown, and
    losses that need them cannot learn it. A try without a value stays as it is. Of columns those for each track are kept.

    >>> retold(ending="= no").instead("1+1=3\\n= 3")
    '1+1=3\\n= no'
    """

    ending: str
    column: Needs = "correct"
    only_end: bool = False

    shelf = "select"

    def instead(self, text: str) -> str:
        return "\n".join([*text.strip().split("\n")[:-1], self.ending])

    def __call__(self, batch: Batch, play: Play) -> Batch:
        episodes = unpack(batch)
        if any(len(episode.segments) > 1 for episode in episodes):
            raise UserError("retold changes answers of one turn: use it with single_turn")
        wrong = batch.cols[self.column].value <= 0
        for k in torch.nonzero(wrong).flatten().tolist():
            e = int(batch.episode[batch.leaf[k]])
            (tried,) = episodes[e].segments
            text = self.instead(tried.text)
            reply = play.models[episodes[e].ask.seated(play.seats)[tried.role]].teacher_force(tried.view, text)
            given = _in_common(tried.actions, reply.actions) if self.only_end else 0
            retold_segment = tried.but(
                context=reply.context, actions=reply.actions, logp=reply.logp, text=text, given=given, end=reply.end
            )
            episodes[e] = episodes[e].but(segments=(retold_segment,))
        play.log(retold_share=float(wrong.double().mean()) if batch.K else 0.0)
        return pack(e for e in episodes if e.segments).with_cols(
            {n: c for n, c in batch.cols.items() if c.level == "track"}
        )


def _in_common(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> int:
    """How many actions two tracks begin with that are the same."""
    shorter = min(len(one), len(other))
    differs = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(differs[0]) if len(differs) else shorter


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

    shelf = "scores"

    def worth(self, text: str, right: float, play: Play) -> float:
        steps, answer = read_solution(text)
        if answer != UNKNOWN:
            return 2.0 * right - 1.0
        return math.tanh(play.at(self.c2) * (len(steps) - play.at(self.c1)) / 2)  # the same curve, and never too large

    def __call__(self, batch: Batch, play: Play) -> Batch:
        right = batch.cols[self.column]
        texts = [completion_of(path) for _, path in paths(batch)]
        values = [self.worth(text, is_right, play) for text, is_right in zip(texts, right.value.tolist(), strict=True)]
        value = torch.tensor(values, dtype=torch.float32).masked_fill(right.missing, float("nan"))
        return batch.with_cols({self.gives_to: Column("track", value, right.reason)})


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


EXAM = 256  # problems, where a run does not say how many


def held(source: TaskSource, tasks: int = 64, tries: int = 4) -> list[Ask]:
    """Asks to measure it with on the way: problems to train on, from a place where no run begins."""
    size, first = source.size("train"), 2**19
    return [Ask(source.get("train", first + i if size is None else (first + i) % size), tries) for i in range(tasks)]


def examined_on(source: TaskSource, tasks: int, seed: int) -> list[Ask]:
    """Asks to measure it with at the end: held-out problems that the seed draws, as many tries at every kind of problem."""
    drawn = draw_problems(source, tasks or EXAM, seed)
    count = Counter(task.kind for task in drawn)
    each = max(count.values())
    return [Ask(task, max(1, each // count[task.kind])) for task in drawn]
