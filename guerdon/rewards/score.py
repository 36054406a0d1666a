"""Stages that put rewards into columns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.pack import pack
from guerdon.core.part import live, part, state
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.rewards.base import Where
from guerdon.rewards.function import as_reward, ask_all, fields_of, paths, reward
from guerdon.rewards.scores import Outcome, Scores

Key = tuple[int, str, int, int]  # (step, episode, last segment, leaf): what was asked


@part
class score:
    """Score every track of `role` with a reward; tracks of other roles are *not applicable*, failed tracks *failed*.

    The reward may be a formula: each of its named parts gets a column of its own, `reward.NAME`, beside the whole. An
    `async` function is asked about an episode as soon as it ends, while others are still being played. Groups, for what
    is normalised within them, are the tries at one task.
    """

    reward: Any
    gives_to: str = "reward"
    role: str = "policy"

    before: dict[str, float] = state(factory=dict)  # the means of the step before, for schedules that follow one
    needs = ()
    early: dict[Key, Outcome] = live()

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)
        self.early = {}

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to,)

    async def prefetch(self, episode: Episode) -> None:
        """Called when an episode has ended."""
        leaves = [(n, leaf) for n, leaf in enumerate(self.reward.leaves) if leaf.waits]
        if not leaves or episode.failed:
            return
        batch = pack([episode])
        mine, leaf_place = batch.tracks_of([self.role]).tolist(), batch.place[batch.leaf].tolist()
        tracks = [(place, path) for place, (_, path), own in zip(leaf_place, paths(batch), mine, strict=True) if own]
        fields, seeds = [fields_of(episode, path) for _, path in tracks], [_seed(episode, place) for place, _ in tracks]
        found = await asyncio.gather(*(leaf.judge_all(fields, seeds) for _, leaf in leaves))
        for (n, _), outcomes in zip(leaves, found, strict=True):
            for (place, _), outcome in zip(tracks, outcomes, strict=True):
                self.early[episode.step, episode.key, place, n] = outcome

    def __call__(self, batch: Batch, play: Play) -> Batch:
        rows = _to_judge(batch, self.role)
        fields = [fields_of(episode, path) for _, episode, path in rows]
        place = batch.place[batch.leaf].tolist()
        asked = {}
        for n, leaf in enumerate(self.reward.leaves):
            known = [self.early.get((episode.step, episode.key, place[k], n)) for k, episode, _ in rows]
            late = [i for i, outcome in enumerate(known) if outcome is None]
            seeds = [_seed(rows[i][1], place[rows[i][0]]) for i in late]
            answers = dict(zip(late, ask_all(leaf, [fields[i] for i in late], seeds), strict=True))
            asked[id(leaf)] = Scores.of([answers[i] if outcome is None else outcome for i, outcome in enumerate(known)])
        self.early = {key: outcome for key, outcome in self.early.items() if key[0] > play.step}
        index = torch.tensor([k for k, _, _ in rows], dtype=torch.long)
        where = Where(batch.group("task")[0][index], play.step, play.steps, self.before)
        parts: dict[str, Scores] = {}
        whole = self.reward.value(asked, where, parts)
        columns = {self.gives_to: _column(batch, self.role, index, whole)}
        if self.reward.of:
            columns |= {f"{self.gives_to}.{n}": _column(batch, self.role, index, s) for n, s in parts.items()}
        return batch.with_cols(columns)

    def observe(self, batch: Batch, play: Play) -> None:
        valued = {n: c.value[~c.missing] for n, c in batch.cols.items() if c.level == "track" and c.value.dim() == 1}
        self.before = {n: float(v.double().mean()) for n, v in valued.items() if len(v)}


def _seed(episode: Episode, place: int) -> int:
    """What a reward that draws random numbers draws by: the sample's place in the run."""
    return derive(episode.step, episode.key, place)


def _to_judge(batch: Batch, role: str) -> list[tuple[int, Episode, list[Segment]]]:
    """The tracks that a reward is asked about: those of the role that did not fail."""
    mine = (batch.tracks_of([role]) & ~batch.failed_K).tolist()
    return [(k, episode, path) for k, (episode, path) in enumerate(paths(batch)) if mine[k]]


def _column(batch: Batch, role: str, index: Tensor, scores: Scores) -> Column:
    """A track column from the scores of some tracks; the others failed, or are of another role."""
    mine, failed = batch.tracks_of([role]), batch.failed_K
    reason = torch.where(mine, torch.where(failed, int(Reason.FAILED), 0), int(Reason.NOT_APPLICABLE)).to(torch.int8)
    value = torch.full((batch.K,), float("nan"), dtype=torch.float32)
    reason[index], value[index] = scores.reason, scores.value.float()
    detail: dict[int, Any] = {}
    for k in torch.nonzero(mine & failed).flatten().tolist():
        episode = batch.episodes[int(batch.episode[batch.leaf[k]])]
        detail[k] = {"error": episode.info.get("error", "the track failed")}
    for at, k in enumerate(index.tolist()):
        noted = dict(scores.detail.get(at) or {})
        if at in scores.steps:
            noted["steps"] = scores.steps[at].tolist()
        if noted:
            detail[k] = noted
    return Column("track", value, reason, detail)


@part
class verified:
    """The truth: the task's own checker, 1.0 right and 0.0 wrong. What `accuracy` is made of, whatever the reward is."""

    task: Any
    gives_to: str = "correct"
    role: str = "policy"

    needs = ()

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to,)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        check = reward(_checker(self.task))
        rows = _to_judge(batch, self.role)
        found = Scores.of([check.ask(fields_of(episode, path)) for _, episode, path in rows])
        index = torch.tensor([k for k, _, _ in rows], dtype=torch.long)
        return batch.with_cols({self.gives_to: _column(batch, self.role, index, found)})


def _checker(source: Any) -> Callable[..., float | None]:
    def check(task: Any, completion: str) -> float | None:
        return source.check(task, completion)  # type: ignore[no-any-return]

    return check


@part
class paid:
    """What the environment paid: the sum of a track's segment rewards."""

    gives_to: str = "reward"

    needs = ()

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to,)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value, reason = [], []
        for (_, path), failed in zip(paths(batch), batch.failed_K.tolist(), strict=True):
            got = [s.reward for s in path if s.reward is not None]
            why = Reason.FAILED if failed else Reason.VALUE if got else Reason.NOT_APPLICABLE
            value.append(sum(got) if why is Reason.VALUE else float("nan"))
            reason.append(int(why))
        column = Column("track", torch.tensor(value, dtype=torch.float32), torch.tensor(reason, dtype=torch.int8))
        return batch.with_cols({self.gives_to: column})
