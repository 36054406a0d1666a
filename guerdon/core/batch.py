"""The Batch: every episode of a step as flat tensors, packed and never padded.

S steps (decisions with a log-prob), G segments, K tracks, P pairs.
A *track* is one role's own path from its first segment to a last one;
a step shared by several tracks (a tree's trunk) stands once and carries their number as its `weight`,
so that a tree and its chains give the same sums.
Packing is in `core/pack.py`, how rows are taken and shared out in `core/rows.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from guerdon.core import rows
from guerdon.core.column import Column, Level, Per, Reason, missing_rows, same_numbers, unexplained
from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError, caller
from guerdon.core.lazy import in_notebook
from guerdon.core.levels import By, expand, gather_up, starts
from guerdon.core.one_turn import texts_in
from guerdon.core.task import Ask, Sampling

ORDER: tuple[Level, ...] = ("step", "segment", "track", "episode", "ask", "task")
COARSE: tuple[Level, ...] = ("episode", "ask", "task")
ENDS = tuple(End)  # what the numbers in `Batch.end` mean
Group = Literal["episode", "ask", "task"]


@dataclass(frozen=True)
class Count:
    """Denominators: how much the *whole* update holds. A micro-batch keeps them, so its size never changes a result."""

    steps: float
    tracks: int
    pairs: int = 0


@dataclass(frozen=True)
class Pairs:
    """Preferences between tracks. `label` is the probability that `better` really is the better one.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> pairs = gd.select.paired("reward")(example_tries([[1.0, 0.0]]), ExamplePlay()).pairs
    >>> pairs.better.tolist(), pairs.worse.tolist()
    ([0], [1])
    """

    better: Tensor  # [P] track
    worse: Tensor  # [P] track
    margin: Tensor  # [P]
    label: Tensor  # [P]

    @classmethod
    def of(cls, better: Tensor, worse: Tensor, margin: Tensor | None = None, label: Tensor | None = None) -> Pairs:
        size = len(better)
        margin = torch.zeros(size) if margin is None else margin
        return cls(better, worse, margin, torch.ones(size) if label is None else label)

    def __len__(self) -> int:
        return len(self.better)


@dataclass(frozen=True)
class Batch:
    """What a step learned from, packed: S steps, G segments and K tracks side by side, nothing padded.

    `cols` holds every further number, per step or per track, by name; `batch["reward"]` is such a column's values. `up` sums or
    averages from steps to segments, tracks, asks and tasks, `down` spreads back. Stages give a new batch and change none.

    Args:
        episodes: the episodes that were packed, or what builds them on access.
        count: denominators of means, shared by all micro-batches of an update.
        cols: columns by name.
        pairs: preference pairs of tracks, if there are any.

    >>> import torch
    >>> import guerdon as gd
    >>> turn = gd.Segment("policy", "2 + 2 =", context=[5, 6], actions=[4, 1], logp=[-0.1, -0.2], text="4")
    >>> batch = gd.pack([gd.Episode(gd.Ask(gd.Task("7", "2 + 2 =", "4"), n=2), (turn,), attempt=i) for i in range(2)])
    >>> batch.S, batch.G, batch.K  # steps, segments, tracks
    (4, 2, 2)
    >>> batch.down(torch.tensor([1.0, 0.0]), "track").tolist()  # each step its track's number
    [1.0, 1.0, 0.0, 0.0]
    """

    episodes: Sequence[Episode]
    roles: tuple[str, ...]  # the names that `role` indexes
    count: Count
    # steps
    action: Tensor  # [S] or [S, A]
    seg: Tensor  # [S] which segment; sorted
    logp: Tensor  # [S] log-prob when sampled; NaN where recited
    weight: Tensor  # [S] 0 = do not learn here, k = shared by k tracks
    muted: Tensor  # [S] a stage's word that nothing is learned here, though the track is learned from
    # segments
    parent: Tensor  # [G] in this batch, -1 for none
    role: Tensor  # [G]
    episode: Tensor  # [G]
    place: Tensor  # [G] number of the segment in its episode
    version: Tensor  # [G]
    temperature: Tensor  # [G]
    end: Tensor  # [G] DONE, CUT, FAILED or STOPPED, as a place in `ENDS`
    context: Tensor  # [C] what the segments were shown, one after the other: tokens, or floats
    context_seg: Tensor  # [C] which segment; sorted
    # tracks
    leaf: Tensor  # [K] the last segment
    path_track: Tensor  # [M] membership, track by track, root to leaf: this track ...
    path_seg: Tensor  # [M] ... goes through this segment
    # episodes
    ask_E: Tensor  # [E]
    task_E: Tensor  # [E]
    cols: dict[str, Column] = field(default_factory=dict)
    pairs: Pairs | None = None

    def __repr__(self) -> str:
        width = max(map(len, self.cols), default=0)
        lines = [f"  {name:<{width}}  {column.in_words}" for name, column in self.cols.items()]
        return "\n".join([f"Batch({self.sizes})", *lines])

    _repr_html_ = in_notebook

    # --- sizes ------------------------------------------------------------------------------------------------

    @property
    def sizes(self) -> str:
        """How much it holds, in words."""
        pairs = f", {len(self.pairs)} pairs" if self.pairs is not None else ""
        return f"{len(self.episodes)} episodes, {self.G} segments, {self.K} tracks, {self.S} steps{pairs}"

    @property
    def S(self) -> int:
        return len(self.seg)

    @property
    def G(self) -> int:
        return len(self.role)

    @property
    def K(self) -> int:
        return len(self.leaf)

    @cached_property
    def length(self) -> Tensor:
        """[G] steps in each segment."""
        return torch.bincount(self.seg, minlength=self.G)

    @cached_property
    def context_length(self) -> Tensor:
        """[G]"""
        return torch.bincount(self.context_seg, minlength=self.G)

    @cached_property
    def shared(self) -> Tensor:
        """[G] how many tracks go through each segment."""
        return torch.bincount(self.path_seg, minlength=self.G)

    @property
    def sampling(self) -> list[Sampling]:
        """[G] how each segment was sampled."""
        places = zip(self.episode.tolist(), self.place.tolist(), strict=True)
        return [self.episodes[e].segments[i].sampling for e, i in places]

    @property
    def asks(self) -> list[Ask]:
        """[K] the ask that each track answers."""
        return [self.episodes[e].ask for e in self.episode[self.leaf].tolist()]

    @property
    def texts(self) -> list[str]:
        """[K] the text of each track's last segment."""
        return texts_in(self.episodes, self.episode[self.leaf].tolist(), self.place[self.leaf].tolist())

    @property
    def role_K(self) -> Tensor:
        return self.role[self.leaf]

    @property
    def failed_K(self) -> Tensor:
        """[K] tracks with a failed segment, or of an episode that broke: nothing may be learned from them."""
        return self.up((self.end == ENDS.index(End.FAILED)).float(), "track", of="segment") > 0

    @property
    def paired_K(self) -> Tensor:
        """[K] tracks that stand in a pair."""
        paired = torch.zeros(self.K, dtype=torch.bool, device=self.seg.device)
        if self.pairs is not None:
            paired[self.pairs.better] = True
            paired[self.pairs.worse] = True
        return paired

    def tracks_of(self, roles: Sequence[str]) -> Tensor:
        """[K] whether the track belongs to one of these roles."""
        wanted = torch.tensor([r in roles for r in self.roles], dtype=torch.bool, device=self.seg.device)
        return wanted[self.role_K] if self.K else torch.zeros(0, dtype=torch.bool, device=self.seg.device)

    def size(self, level: Level) -> int:
        if level in ("ask", "task"):
            group = self.ask_E if level == "ask" else self.task_E
            return int(group.max()) + 1 if len(group) else 0
        return {"step": self.S, "segment": self.G, "track": self.K, "episode": len(self.episodes)}[level]

    # --- levels -----------------------------------------------------------------------------------------------

    def up(self, x: Tensor, to: Level, of: Level = "step", by: By = "sum") -> Tensor:
        """Reduce a number per `of` to a number per `to`. Always by way of the levels between: a step of a shared trunk
        counts once for every track through it, as in the tree's chains."""
        if ORDER.index(of) > ORDER.index(to):
            raise ValueError(f"up goes from fine to coarse, not from {of} to {to}")
        if of == to:
            return x
        if by != "sum" and of == "step" and to not in ("segment", "track"):
            raise ValueError(f"{by} from steps to {to}: say first what a track's {by} is, then go up from tracks")
        index, group = self._membership(of, to)
        return gather_up(x[index], group, self.size(to), by)

    def down(self, x: Tensor, of: Level, to: Level = "step") -> Tensor:
        """Give every finer row its coarser row's number; a row shared by several tracks gets their mean."""
        if ORDER.index(to) > ORDER.index(of):
            raise ValueError(f"down goes from coarse to fine, not from {of} to {to}")
        if of == to:
            return x
        if of in COARSE and to in COARSE:
            return x[self._between(of, to)]
        if of in COARSE:
            x, of = x[self.group_of_track(of)], "track"
        if of == to:
            return x
        index, group = self._membership(to, of)
        return gather_up(x[group], index, self.size(to), "mean")

    @property
    def ask(self) -> Tensor:
        """[G]"""
        return self.ask_E[self.episode]

    @property
    def task(self) -> Tensor:
        """[G]"""
        return self.task_E[self.episode]

    def group_of_track(self, level: Level) -> Tensor:
        """[K] the episode, ask or task of each track."""
        return {"episode": self.episode, "ask": self.ask, "task": self.task}[level][self.leaf]

    def _between(self, of: Level, to: Level) -> Tensor:
        """The coarse row of each fine row, both among episode, ask and task."""
        coarse = self.ask_E if of == "ask" else self.task_E
        if to == "episode":
            return coarse
        return torch.zeros(self.size(to), dtype=torch.long, device=self.seg.device).scatter(0, self.ask_E, coarse)

    def _membership(self, fine: Level, coarse: Level) -> tuple[Tensor, Tensor]:
        """All (fine row, coarse row) pairs, a row of a trunk once for each track through it."""
        device = self.seg.device
        if fine == "step" and coarse == "segment":
            return torch.arange(self.S, device=device), self.seg
        if fine in ("step", "segment"):
            index, group = (self.path_seg, self.path_track) if fine == "segment" else self._steps_of_tracks
            return index, group if coarse == "track" else self.group_of_track(coarse)[group]
        if fine == "track":
            return torch.arange(self.K, device=device), self.group_of_track(coarse)
        return torch.arange(self.size(fine), device=device), self._between(coarse, fine)

    @cached_property
    def _steps_of_tracks(self) -> tuple[Tensor, Tensor]:
        """All (step, track) pairs. Where no track shares a segment with another, each step simply has its one track."""
        if len(self.path_seg) == self.G:
            track = torch.zeros(self.G, dtype=torch.long, device=self.seg.device).scatter(
                0, self.path_seg, self.path_track
            )
            return torch.arange(self.S, device=self.seg.device), track[self.seg]
        return self.track_steps

    @cached_property
    def track_steps(self) -> tuple[Tensor, Tensor]:
        """[M] every step of every track, track by track and root to leaf, and [M] the track: a trunk's step stands there once
        for each track through it."""
        step = expand(self.path_seg, starts(self.length), self.length)
        return step, torch.repeat_interleave(self.path_track, self.length[self.path_seg])

    def steps_by_track(self) -> tuple[Tensor, ...]:
        """Of each track its steps, root to leaf."""
        step, track = self.track_steps
        return torch.split(step, torch.bincount(track, minlength=self.K).tolist())

    def track_column(self, name: str, who: str) -> Column:
        """The column of this name, which `who` takes only with a number per track."""
        column = self.cols[name]
        if column.level != "track":
            raise UserError(f"{who} takes a number per track, and {name!r} is a column per {column.level}")
        return column

    def group(self, by: Group) -> tuple[Tensor, int]:
        """[K] the group each track is compared in and how many groups there are: its ask, task or episode, and role.

        Roles never share a group: a judge's reward says nothing about a solver's.
        """
        if self.K == 0:
            return torch.zeros(0, dtype=torch.long, device=self.seg.device), 0
        key = self.group_of_track(by) * len(self.roles) + self.role_K
        unique, index = torch.unique(key, return_inverse=True)
        return index, len(unique)

    def per_group(self, x: Tensor | str, how: By = "mean", by: Group = "task") -> Tensor:
        """[groups] a statistic of a number per track, or of the track column of that name, in each group of `group(by)`;
        NaN where no track of a group has a value."""
        group, size = self.group(by)
        x_K = self.track_column(x, "per_group").value if isinstance(x, str) else x
        return gather_up(x_K, group, size, how)

    def mean_by(self, x: Tensor | str, by: Group = "task", role: str = "") -> Tensor:
        """[K] the mean of a number per track, or of a track column, over each track's group; with `role` over the tracks of
        that role in the same episode, ask or task, so that one role can be paid by what another achieved."""
        if not role:
            return self.per_group(x, "mean", by)[self.group(by)[0]]
        x_K = self.track_column(x, "mean_by").value if isinstance(x, str) else x
        of_role, place = self.tracks_of([role]), self.group_of_track(by)
        return gather_up(x_K[of_role], place[of_role], self.size(by), "mean")[place]

    def turns(self) -> Iterator[tuple[Tensor, Tensor]]:
        """For turn 0, 1, ... of the tracks: the segments [n] and the tracks [n] that have such a turn. `reversed(list(...))`
        walks from the last turn to the first."""
        depth = torch.bincount(self.path_track, minlength=self.K)
        place = torch.arange(len(self.path_seg), device=self.seg.device) - starts(depth)[self.path_track]
        for turn in range(int(depth.max()) if self.K else 0):
            yield self.path_seg[place == turn], self.path_track[place == turn]

    # --- columns ----------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Tensor:
        return self.cols[name].value

    def per_step(self, name: str) -> Tensor:
        """[S] a column's number at each step: its own, its segment's, or the mean over the tracks that share it."""
        column = self.cols[name]
        if column.level == "segment":
            return column.value.index_select(0, self.seg)
        return self.down(column.value, column.level)

    def with_cols(self, cols: Mapping[str, Column]) -> Batch:
        for name, col in cols.items():
            if len(col.value) != self.size(col.level):
                size = self.size(col.level)
                raise UserError(f"{caller()}: column {name!r} has {len(col.value)} values for {size} {col.level}s")
        return dataclasses.replace(self, cols={**self.cols, **cols})

    def put(self, name: str, level: Per, value: Tensor, because: Column | Sequence[Column] | None = None) -> Batch:
        """Add a column computed from others. NaN entries take the worst reason of `because`, at whichever level it is."""
        reason = torch.zeros(len(value), dtype=torch.int8, device=value.device)
        missing = missing_rows(value)
        if bool(missing.any()):
            for column in [because] if isinstance(because, Column) else because or ():
                reason = torch.maximum(reason, self._reason_at(level, column).masked_fill(~missing, 0))
        if bool((missing & (reason == Reason.VALUE)).any()):
            raise unexplained(f"column {name!r}", missing, reason)
        return self.with_cols({name: Column(level, value, reason)})

    def _reason_at(self, level: Per, column: Column) -> Tensor:
        """Why a column's numbers are missing, for each row of another level: the worst reason among those it belongs to."""
        worst = column.reason.double()
        if ORDER.index(column.level) > ORDER.index(level):
            index, group = self._membership(level, column.level)
            worst = gather_up(worst[group], index, self.size(level), "max")
        elif column.level != level:
            worst = self.up(worst, level, column.level, "max").nan_to_num(float(Reason.NOT_APPLICABLE))
        return worst.to(torch.int8)

    def without(self, *names: str) -> Batch:
        return dataclasses.replace(self, cols={k: v for k, v in self.cols.items() if k not in names})

    # --- rows -------------------------------------------------------------------------------------------------

    def recount(self) -> Batch:
        """Count the denominators from the rows as they are."""
        count = Count(float(self.weight.double().sum()), self.K, len(self.pairs) if self.pairs is not None else 0)
        return dataclasses.replace(self, count=count)

    def take(self, tracks: Tensor) -> Batch:
        """The rows of some tracks ([K] mask), with new denominators. Trunk weights shrink with the tracks left."""
        return rows.take(self, tracks)

    def split(self, most: int, together: Group = "episode") -> list[Batch]:
        """Micro-batches of at most so many steps and what was shown before them (a row larger than that goes alone), all
        with this batch's count. What is `together` in an episode, ask or task, or joined by a pair, is not split."""
        return rows.split(self, most, together)

    def shares(self, n: int, generator: torch.Generator, together: Group = "episode") -> list[Batch]:
        """`n` random shares of the rows (fewer, if there are fewer rows), each with its own count."""
        return rows.shares(self, n, generator, together)

    def share_steps(self, n: int, generator: torch.Generator, apart: bool, row: int = 0) -> list[Batch]:
        """`n` random shares of the steps that are learned from, over all tracks, each with its own count. A share keeps
        the other steps of its tracks with weight 0; with `apart`, where each step is processed alone, it drops them. Where
        the steps have rows of context, of `row` numbers, each keeps its own."""
        return rows.share_steps(self, n, generator, apart, row)

    def row_of_step(self, row: int) -> Tensor:
        """[S] which row of context, of `row` numbers each, a step was shown. A segment has a row for each of its steps, and
        may have one more: the view after the last."""
        held = self.context_length.div(row, rounding_mode="floor")
        spare = held - self.length
        if int(held.sum()) * row != len(self.context) or bool(((spare < 0) | (spare > 1)).any()):
            raise UserError(f"a segment has not one row of {row} numbers for each action, and one more at most")
        return torch.arange(self.S, device=self.seg.device) + starts(spare)[self.seg]

    def to(self, device: str | torch.device) -> Batch:
        """What follows from the rows is worked out here: there, it would be waited for."""
        if self.seg.device == torch.device(device):
            return self
        moved = {f.name: getattr(self, f.name).to(device) for f in dataclasses.fields(self) if f.type == "Tensor"}
        pairs = self.pairs
        if pairs is not None:
            pairs = Pairs(*(getattr(pairs, f.name).to(device) for f in dataclasses.fields(Pairs)))
        there = dataclasses.replace(self, **moved, pairs=pairs, cols={n: c.to(device) for n, c in self.cols.items()})
        step, track = self.track_steps
        known = {"length": self.length.to(device), "shared": self.shared.to(device)}
        vars(there).update(known, track_steps=(step.to(device), track.to(device)))
        return there

    def same(self, other: Batch) -> bool:
        """Equal to the last bit, columns, reasons, details, episodes and all."""
        for f in dataclasses.fields(self):
            if f.type == "Tensor" and not same_numbers(getattr(self, f.name), getattr(other, f.name)):
                return False
        if (self.roles, self.count, list(self.cols)) != (other.roles, other.count, list(other.cols)):
            return False
        if (self.pairs is None) != (other.pairs is None) or len(self.episodes) != len(other.episodes):
            return False
        if self.pairs is not None and other.pairs is not None:
            for f in dataclasses.fields(Pairs):
                if not same_numbers(getattr(self.pairs, f.name), getattr(other.pairs, f.name)):
                    return False
        return all(c.same(other.cols[n]) for n, c in self.cols.items()) and all(
            a.same(b) for a, b in zip(self.episodes, other.episodes, strict=True)
        )
