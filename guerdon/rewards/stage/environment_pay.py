"""What the environment paid, as columns.

Leaves out: rewards that are computed from what the model wrote (`score_stages.py`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Segment
from guerdon.core.field_columns import FieldColumns
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.rewards.formula.scores import held
from guerdon.rewards.stage.placing import turn_ends


@part
class paid(FieldColumns):
    """What the environment paid, three times over: `reward`, the sum along a track; `reward_turns`, what each segment was paid
    in all; `reward_steps`, what each action was: its own pay, and for the last of a segment what that was paid as a whole.

    Pay of a segment without actions lies on the last action before it on its track, or else on the first: the steps of a
    track add up to its sum. A trunk's step has the mean over its tracks of such pay. With `of="role"` the sum is of all that
    the track's role was paid in the episode, for players without memory, whose every turn is a track; turns and steps stay
    what they are.

    What was never paid is *not applicable*: a turn that was not, the steps of tracks that never were. FAILED segments, pay that
    is NaN or more than float32 holds, and sums that one is part of, have *failed*.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> turns = [gd.Segment("policy", "", [], [0, 0], [0.0, 0.0], parent=i - 1, reward=r) for i, r in enumerate((1.0, 5.0))]
    >>> batch = gd.rewards.paid()(gd.pack([gd.Episode(gd.Ask(gd.Task("1", "")), tuple(turns))]), ExamplePlay())
    >>> batch["reward"].tolist(), batch["reward_turns"].tolist(), batch["reward_steps"].tolist()
    ([6.0], [1.0, 5.0], [0.0, 1.0, 0.0, 5.0])
    """

    gives_to: str = "reward"
    of: Literal["track", "role"] = knob(default="track", absent="track")

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to, f"{self.gives_to}_turns", f"{self.gives_to}_steps")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        places = zip(batch.episode.tolist(), batch.place.tolist(), strict=True)
        acted = [batch.episodes[e].segments[i] for e, i in places]
        turns = _column("segment", [_in_all(s) for s in acted], batch.end == ENDS.index(End.FAILED))
        if self.of == "track":
            quiet = turns.missing
            sums = batch.up(turns.value.double().nan_to_num(), "track", of="segment").tolist()
            spoken = (batch.up((~quiet).double(), "track", of="segment") > 0).tolist()
            broken = batch.up(turns.broken.double(), "track", of="segment") > 0
            paid = [math.nan if b else x if s else None for x, s, b in zip(sums, spoken, broken.tolist(), strict=True)]
            whole = _column("track", paid, batch.failed_K)
        else:
            whole = _of_roles(batch)
        steps = _steps(batch, acted, turns)
        return batch.with_cols(dict(zip(self.gives, (whole, turns, steps), strict=True)))


def _in_all(segment: Segment) -> float | None:
    """What a segment was paid, as a whole and for its actions; None where it was not paid."""
    got = [] if segment.reward is None else [float(segment.reward)]
    got += [] if segment.rewards is None else [float(segment.rewards.sum(dtype="float64"))]
    return sum(got) if got else None


def _column(level: Literal["segment", "track"], paid: list[float | None], failed: Tensor) -> Column:
    value = torch.tensor([0.0 if x is None else x for x in paid], dtype=torch.float64)
    wrong = ~held(value) & ~failed
    failed, quiet = failed | wrong, torch.tensor([x is None for x in paid], dtype=torch.bool)
    reason = torch.where(failed, int(Reason.FAILED), torch.where(quiet, int(Reason.NOT_APPLICABLE), 0))
    error = "ValueError: the environment paid NaN or more than float32 holds: pay finite numbers, or nothing"
    detail = {i: {"error": error} for i in torch.nonzero(wrong).flatten().tolist()}
    return Column(level, value.masked_fill(failed | quiet, math.nan).float(), reason.to(torch.int8), detail)


def _of_roles(batch: Batch) -> Column:
    """What each track's role was paid in its episode, the turns that no row of the batch holds included."""
    got: dict[tuple[int, str], list[float]] = defaultdict(list)
    broken: set[tuple[int, str]] = set()
    for e in set(batch.episode.tolist()):
        for segment in batch.episodes[e].segments:
            paid = _in_all(segment)
            got[e, segment.role] += [] if paid is None else [paid]
            if segment.end is End.FAILED:
                broken.add((e, segment.role))
    whose = [
        (e, batch.roles[r]) for e, r in zip(batch.episode[batch.leaf].tolist(), batch.role_K.tolist(), strict=True)
    ]
    failed = batch.failed_K | torch.tensor([key in broken for key in whose], dtype=torch.bool)
    return _column("track", [sum(got[key]) if got[key] else None for key in whose], failed)


def _steps(batch: Batch, acted: list[Segment], turns: Column) -> Column:
    whole_G = torch.tensor([s.reward or 0.0 for s in acted], dtype=torch.float64)
    each = [torch.zeros(len(s.actions)) if s.rewards is None else torch.from_numpy(s.rewards) for s in acted]
    own = batch.steps_by_track()
    pay = []
    for steps, path in zip(own, torch.split(batch.path_seg, torch.bincount(batch.path_track).tolist()), strict=True):
        lying = torch.zeros(len(steps), dtype=torch.float64)
        pay.append(lying.index_add_(0, turn_ends(batch.length[path]), whole_G[path]) if len(steps) else lying)
    none = torch.zeros(0, dtype=torch.long)
    value = gather_up(torch.cat([none.double(), *pay]), torch.cat([none, *own]), batch.S, "mean")
    value += torch.cat([none.double(), *each])
    spoken_K = batch.up((turns.reason != Reason.NOT_APPLICABLE).double(), "track", of="segment")
    quiet = batch.down(spoken_K, "track") == 0
    failed = (turns.reason == Reason.FAILED)[batch.seg] | ~held(value)
    reason = torch.where(failed, int(Reason.FAILED), torch.where(quiet, int(Reason.NOT_APPLICABLE), 0))
    return Column("step", value.float().masked_fill(failed | quiet, math.nan), reason.to(torch.int8))
