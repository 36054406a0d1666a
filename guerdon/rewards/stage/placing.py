"""Which actions the numbers of a reward in steps belong to: a column at the level of steps, for credit to use.

A list with a number a turn lies on the turns' last actions.
A list with a number an action lies on the actions.
A list with a number a line (of a model that spells its actions as text) lies on the lines' last actions.
A reward that knows where its steps end reports it, `detail["ends"]`.
Where the places are not known, and for a plain number, the whole lies on the track's last action.
Every other action of the track has 0, so that the sum along a track is its score.
The rewards of an environment become columns the same way.
Leaves out: rewards that are computed from the model's text (`score_stages.py`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Segment
from guerdon.core.field_columns import FieldColumns
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play, players
from guerdon.rewards.asking.samples import Roles, Samples, paths, turns_of
from guerdon.rewards.formula.scores import LARGEST, held
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
    # a step that several tracks share has the mean of their scores of it
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
    """[S] why a step has no value: the worst of its tracks' reasons; not applicable where they have none."""
    index, track = batch.track_steps
    worst = gather_up(whole.reason[track].double(), index, batch.S, "max")
    return worst.clamp(min=float(Reason.NOT_APPLICABLE))


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

    Args:
        gives_to: column of the sum.
        of: sum along the track, or over the role's whole episode.

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
