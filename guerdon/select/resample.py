"""The policy's own tries as demonstrations: reworded, or repeated more often the better they scored.

For `Learn(on=...)`: other stages see the tries as they were.
Leaves out: which tries are good enough (`filters.py`).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from guerdon.core.batch import Batch, Group
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Needs
from guerdon.core.levels import gather_up
from guerdon.core.pack import pack, unpack
from guerdon.core.part import knob, part
from guerdon.core.play import Play


@part
class resampled(FieldColumns):
    r"""Every group's tries, each once and as many again drawn with $p_i \propto e^{r_i / temperature}$; those with a `column`
    of `least` or less are then left out. A track weighs as often as it is there.

    The lessons of Auto-CEI's expert iteration (Zhao et al. 2024, arXiv:2410.07627, by its code). Tries without a value are left
    out and in no draw. Weights count in a mean over steps, `sft`'s default; a mean over tracks does not see them. *Biased* on
    purpose: at a low temperature it is the best of the group, at a high one the policy as it is.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> found = resampled("reward", temperature=0.01)(example_tries([[1.0, 0.0, -1.0, None]]), ExamplePlay())
    >>> found["reward"].tolist(), found.weight.tolist()  # three are drawn, and all are the first
    ([1.0, 0.0], [4.0, 1.0])
    """

    column: Needs = "reward"
    temperature: float = knob(default=1.0, gt=0.0)
    least: float = -1.0
    by: Group = "task"

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

    def instead(self, text: str) -> str:
        return "\n".join([*text.strip().split("\n")[:-1], self.ending])

    def __call__(self, batch: Batch, play: Play) -> Batch:
        episodes = unpack(batch)
        if any(len(episode.segments) > 1 for episode in episodes):
            raise UserError("retold changes answers of one turn: use it with single_turn")
        wrong = batch.cols[self.column].value <= 0
        for k in torch.nonzero(wrong).flatten().tolist():
            e = int(batch.episode[batch.leaf[k]])
            (segment,) = episodes[e].segments
            text = self.instead(segment.text)
            reply = play.models[episodes[e].ask.seated(play.seats)[segment.role]].recite(segment.view, text)
            given = _in_common(segment.actions, reply.actions) if self.only_end else 0
            changed = segment.but(
                context=reply.context, actions=reply.actions, logp=reply.logp, text=text, given=given, end=reply.end
            )
            episodes[e] = episodes[e].but(segments=(changed,))
        play.log(retold_share=float(wrong.double().mean()) if batch.K else 0.0)
        return pack(e for e in episodes if e.segments).with_cols(
            {n: c for n, c in batch.cols.items() if c.level == "track"}
        )


def _in_common(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> int:
    """How many actions two tracks begin with that are the same."""
    shorter = min(len(one), len(other))
    differs = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(differs[0]) if len(differs) else shorter
