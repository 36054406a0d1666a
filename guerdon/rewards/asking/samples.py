"""Samples: what rewards are asked about. The same in a run, a bridge, a server and `explain`.

A sample is its fields, by the names that a reward's arguments have.

Leaves out: how rewards are asked (`function.py`), and what their results become (`formula/scores.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.part import label
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task

T = TypeVar("T")
FIELDS = (
    *("prompt", "completion", "answer", "task", "meta", "level", "role", "turns", "episode"),
    *("path", "made", "actions", "view"),
)
USUAL, NO_VIEW = Sampling(), np.zeros(0, np.int64)  # of a text that was not sampled
Roles = str | tuple[str, ...]  # one, or several of which each is scored by itself
Against = int | Literal["all", "one"]  # whom a sample is compared with: so many of its group, all, or one that all meet


@dataclass(frozen=True)
class Samples:
    """Samples that are scored together.

    >>> import guerdon as gd
    >>> len(gd.rewards.Samples.of([{"completion": "4", "answer": "4", "meta": {}}]))
    1
    """

    fields: Sequence[Mapping[str, Any]]  # of each what there is of FIELDS; `meta` is always there
    seeds: Sequence[int]  # of each, for what draws random numbers
    group: Tensor  # [N] tries at one task have the same number
    batch: Batch | None = None  # the step's batch, inside a run; None in a bridge, a server or `explain`
    track: Tensor | None = None  # [N] each sample's track there
    play: Play | None = None  # the run
    seed: int = 0  # the run's, for what is random in a reward and no sample's
    made: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)  # by `once`

    @classmethod
    def of(
        cls,
        fields: Sequence[Mapping[str, Any]],
        seeds: Sequence[int] | None = None,
        group: Sequence[int] | Tensor | None = None,
        seed: int = 0,
    ) -> Samples:
        """Samples from anywhere, by their fields. Without `group` they are tries at one task."""
        filled = [each if "meta" in each else {"meta": {}, **each} for each in fields]
        group = torch.as_tensor([0] * len(filled) if group is None else group, dtype=torch.long)
        return cls(filled, [0] * len(filled) if seeds is None else seeds, group, seed=seed)

    @classmethod
    def of_batch(cls, batch: Batch, play: Play | None, role: Roles, seed: int = 0) -> Samples:
        """The tracks of a role, or of several, that did not fail: those a reward is asked about. `seed` is the run's, where
        there is no `play` to give it. Tries at one task are a group for each role."""
        seed = play.seed if play is not None else seed
        track = torch.nonzero(batch.tracks_of(each_role(role)) & ~batch.failed_K).flatten()
        every, place = paths(batch), batch.place[batch.leaf].tolist()
        chosen = [(*every[k], place[k]) for k in track.tolist()]
        return cls(
            [fields_of(episode, path) for episode, path, _ in chosen],
            TrackSeeds(seed, [(episode, last) for episode, _, last in chosen]),
            batch.group("task")[0][track],
            batch,
            track,
            play,
            seed,
        )

    def __len__(self) -> int:
        return len(self.fields)

    def pick(self, index: Sequence[int]) -> Samples:
        """Some of them, in the order given."""
        if list(index) == list(range(len(self))):
            return self
        at = torch.as_tensor(index, dtype=torch.long)
        return Samples(
            [self.fields[i] for i in index],
            [self.seeds[i] for i in index],
            self.group[at],
            self.batch,
            None if self.track is None else self.track[at],
            self.play,
            self.seed,
        )

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What several rewards need of the same samples, made by the first of them."""
        if what not in self.made:
            self.made[what] = make()
        value: T = self.made[what]
        return value


class TrackSeeds(Sequence[int]):
    """The seeds of tracks, by their episode and last segment. Computed on access, for few rewards draw anything."""

    def __init__(self, seed: int, tracks: Sequence[tuple[Episode, int]]) -> None:
        self.seed, self.tracks = seed, tracks

    def __len__(self) -> int:
        return len(self.tracks)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> TrackSeeds: ...

    def __getitem__(self, at: int | slice) -> int | TrackSeeds:
        if isinstance(at, slice):
            return TrackSeeds(self.seed, self.tracks[at])
        episode, last = self.tracks[at]
        return derive(self.seed, episode.step, episode.key, last)


def opponents(samples: Samples, against: Against) -> list[list[int]]:
    """Whom each sample meets: all others of its group, some that it draws by its seed, or the one that the group draws, which
    itself meets no other."""
    group, drawn = samples.group.tolist(), []
    if against == "one":
        members: dict[int, list[int]] = {}
        for i, g in enumerate(group):
            members.setdefault(g, []).append(i)
        met = {g: min(own, key=lambda i: derive(samples.seeds[i], "met by all")) for g, own in members.items()}
        return [[met[g]] if met[g] != i else [] for i, g in enumerate(group)]
    for i, seed in enumerate(samples.seeds):
        others = [j for j, g in enumerate(group) if g == group[i] and j != i]
        if against != "all" and against < len(others):
            others = sorted(random.Random(derive(seed, "opponents", i)).sample(others, against))
        drawn.append(others)
    return drawn


def check_against(name: str, against: Against) -> None:
    """Refuse a number of opponents that is none."""
    if against not in ("all", "one") and (not isinstance(against, int) or against < 1):
        raise UserError(f"{name}.against must be 'all', 'one' or a number of opponents, not {against}")


def each_role(role: Roles | Sequence[str]) -> tuple[str, ...]:
    return (role,) if isinstance(role, str) else tuple(role)


def check_roles(stage: Any) -> None:
    """Refuse a stage whose `role` is none."""
    roles = each_role(stage.role) if isinstance(stage.role, str | list | tuple) else ()
    if not roles or not all(isinstance(role, str) and role for role in roles):
        raise UserError(f"{label(stage)}.role is a role, or several: ('first', 'second'), not {stage.role!r}")


def fields_of(episode: Episode, path: list[Segment]) -> dict[str, Any]:
    """What a reward may ask for about one track."""
    ask, task = episode.ask, episode.ask.task
    turns = turns_of(path) if len(path) > 1 else [path]
    texts = [text_of(turn) if len(turn) > 1 else turn[0].text for turn in turns]
    return {
        "prompt": task.prompt if ask.prompt is None else ask.prompt,
        "completion": texts[-1],
        "answer": task.answer,
        "task": task,
        "meta": {**task.meta, **ask.note},
        "level": task.level,
        "role": path[-1].role,
        "turns": texts,
        "episode": episode,
        "path": path,
        "made": turns[-1][-1].made,
        "actions": actions_of(turns[-1]),
        "view": path[0].view,
    }


def fields_of_text(task: Task, text: str, ids: Callable[[str], np.ndarray]) -> dict[str, Any]:
    """The same for a text that was not sampled, as one try at a task; `ids` tokenizes it."""
    actions = ids(text)
    segment = Segment("policy", task.prompt, NO_VIEW, actions, np.zeros(len(actions), np.float32), text, sampling=USUAL)
    return fields_of(Episode(Ask(task), (segment,)), [segment])


def acted(path: Sequence[Segment]) -> list[Segment]:
    """The segments of a path with actions or text: not the view that ends a track which was cut. Where there is
    none, the last."""
    return [s for s in path if len(s.actions) or s.text] or [*path[-1:]]


def turns_of(path: Sequence[Segment]) -> list[list[Segment]]:
    """The turns of a path with actions or text; a continuation belongs to the turn that it continues."""
    turns: list[list[Segment]] = []
    for s in acted(path):
        if s.goes_on and turns:
            turns[-1].append(s)
        else:
            turns.append([s])
    return turns


def text_of(turn: Sequence[Segment]) -> str:
    """The text of a turn, with what was inserted where it continued."""
    return turn[0].text + "".join(f"{s.view}{s.text}" for s in turn[1:])


def actions_of(turn: Sequence[Segment]) -> np.ndarray:
    """The actions of a turn, from its beginning where it continued."""
    if len(turn) == 1:
        return turn[0].actions
    done = [s.actions for s in turn if len(s.actions)] or [turn[0].actions]
    return done[0] if len(done) == 1 else np.concatenate(done)


def completion_of(path: Sequence[Segment]) -> str:
    """The text of a path's last turn."""
    return text_of(turns_of(path)[-1])


def paths(batch: Batch) -> list[tuple[Episode, list[Segment]]]:
    """Each track's episode and segments, root to leaf."""
    tracks: list[tuple[Episode, list[Segment]]] = [(batch.episodes[e], []) for e in batch.episode[batch.leaf].tolist()]
    place = batch.place.tolist()
    for k, g in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
        tracks[k][1].append(tracks[k][0].segments[place[g]])
    return tracks
