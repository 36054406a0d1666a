"""Which actions the numbers of a reward in steps belong to: a column at the level of steps, for credit to use.

A list with a number a turn lies on the turns' last actions.
A list with a number an action lies on the actions.
A list with a number a line (of a model that spells its actions as text) lies on the lines' last actions.
A reward that knows where its steps end says so, `detail["ends"]`.
Where the places are not known, and for a plain number, the whole lies on the track's last action.
Every other action of the track has 0, so that the sum along a track is its score.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.levels import gather_up
from guerdon.core.play import Play, players
from guerdon.rewards.asking.samples import Roles, Samples, paths, turns_of
from guerdon.rewards.formula.scores import LARGEST
from guerdon.rewards.model.model_reading import sample_tokens


def step_column(batch: Batch, whole: Column, play: Play, role: Roles) -> Column:
    """`whole` is the score of each track, its detail the steps that it came in."""
    own, ways = batch.steps_by_track(), paths(batch)
    noted = {k: whole.detail.get(k) or {} for k in torch.nonzero(~whole.missing).flatten().tolist()}
    lines = _line_ends(batch, play, role, [k for k, note in noted.items() if "steps" in note and "ends" not in note])
    where, value = [], []
    for k, note in noted.items():
        pay = torch.zeros(len(own[k]), dtype=torch.float64)
        if len(pay):
            numbers = torch.tensor(note.get("steps", [float(whole.value[k])]), dtype=torch.float64)
            turns = torch.tensor([sum(len(s.actions) for s in turn) for turn in turns_of(ways[k][1])])
            ends = _ends(turns, len(numbers), note.get("ends", lines.get(k)))
            if ends is None:
                pay[-1] = numbers.sum()
            else:
                pay.index_add_(0, ends, numbers)
        where.append(own[k])
        value.append(pay)
    none = torch.zeros(0, dtype=torch.long)
    # a step that several tracks share has the mean of what they say of it
    total = gather_up(torch.cat([none.double(), *value]), torch.cat([none, *where]), batch.S, "mean")
    reason = torch.where(torch.isnan(total), _why(batch, whole), 0)
    apart = total.abs() > LARGEST  # numbers that a column holds may add up, on one action, to one that it does not hold
    reason = torch.where(apart, int(Reason.FAILED), reason).to(torch.int8)
    return Column("step", total.masked_fill(apart, torch.nan).float(), reason)


def _ends(turns: Tensor, size: int, known: Sequence[int] | None) -> Tensor | None:
    """The places among a track's actions, so many a turn, that its numbers lie on; None where that is not known."""
    total = int(turns.sum())
    if known is not None and len(known) == size and known[-1] <= total:
        return torch.tensor(known) + (total - known[-1]) - 1  # supplied actions come before the first
    if size == len(turns):
        return turn_ends(turns)
    return torch.arange(size) if size == total else None


def turn_ends(turns: Tensor) -> Tensor:
    """The places of the last actions of a track's turns, so many a turn; one without any shares the place before it."""
    return (torch.cumsum(turns, 0) - 1).clamp(min=0)


def _line_ends(batch: Batch, play: Play, role: Roles, tracks: Sequence[int]) -> dict[int, list[int]]:
    """After how many of their actions the lines of tracks end, where the models that played spell text."""
    if not tracks or not role:
        return {}
    samples = Samples.of_batch(batch, play, role)
    assert samples.track is not None
    at, names = {k: i for i, k in enumerate(samples.track.tolist())}, players(batch, play)
    ends: dict[int, list[int]] = {}
    for name in dict.fromkeys(names[k] for k in tracks):
        model = play.models.get(name)
        if hasattr(model, "decode") or hasattr(model, "shell"):
            mine = [k for k in tracks if names[k] == name]
            tokens = sample_tokens(samples.pick([at[k] for k in mine]), play, name)
            pieces = [tokens.cut(steps, "line", name) for steps in tokens.steps()]
            ends |= {k: list(itertools.accumulate(map(len, p))) for k, p in zip(mine, pieces, strict=True) if p}
    return ends


def _why(batch: Batch, whole: Column) -> Tensor:
    """[S] why a step has no value: the worst of what its tracks say; not applicable where they say nothing."""
    index, track = batch.track_steps
    worst = gather_up(whole.reason[track].double(), index, batch.S, "max")
    return worst.clamp(min=float(Reason.NOT_APPLICABLE))
