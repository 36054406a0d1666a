"""Stages that put rewards into columns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode
from guerdon.core.pack import pack
from guerdon.core.part import live, part
from guerdon.core.play import Play
from guerdon.rewards.function import Outcome, as_reward, fields_of, paths, reward


@part
class score:
    """Score every track of `role` with a reward; tracks of other roles are *not applicable*, failed tracks *failed*.

    An `async` reward is asked about an episode as soon as it ends, while others are still being played.
    """

    reward: Any
    gives_to: str = "reward"
    role: str = "policy"

    needs = ()
    early: dict[tuple[int, str, int], Outcome] = live()  # (step, episode, last segment): what a reward said already

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)
        self.early = {}

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to,)

    async def prefetch(self, episode: Episode) -> None:
        """Called when an episode has ended."""
        if not self.reward.is_async or episode.failed:
            return
        batch = pack([episode])
        mine = batch.tracks_of([self.role]).tolist()
        leaf = batch.place[batch.leaf].tolist()
        found = [(place, path) for place, (_, path), own in zip(leaf, paths(batch), mine, strict=True) if own]
        outcomes = await asyncio.gather(*(self.reward.judge(fields_of(episode, path)) for _, path in found))
        for (place, _), outcome in zip(found, outcomes, strict=True):
            self.early[episode.step, episode.key, place] = outcome

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = judged(batch, self.role, self.reward.of, self.early)
        self.early = {key: outcome for key, outcome in self.early.items() if key[0] > play.step}
        return batch.with_cols({self.gives_to: column})


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
        return batch.with_cols({self.gives_to: judged(batch, self.role, check.of)})


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


def judged(
    batch: Batch,
    role: str,
    judge: Callable[[dict[str, Any]], Outcome],
    early: Mapping[tuple[int, str, int], Outcome] = MappingProxyType({}),
) -> Column:
    """A track column from a verdict per track, unless one is there already. A track that failed is not judged: its column
    says *failed*."""
    value, reason, detail = [], [], {}
    leaf = batch.place[batch.leaf].tolist()
    mine = batch.tracks_of([role]).tolist()
    failed = batch.failed_K.tolist()
    for k, (episode, path) in enumerate(paths(batch)):
        if not mine[k]:
            found = Outcome(Reason.NOT_APPLICABLE)
        elif failed[k]:
            found = Outcome(Reason.FAILED, detail={"error": episode.info.get("error", "the track failed")})
        else:
            known = early.get((episode.step, episode.key, leaf[k]))
            found = judge(fields_of(episode, path)) if known is None else known
        value.append(found.value)
        reason.append(int(found.reason))
        if found.detail is not None:
            detail[k] = found.detail
    return Column("track", torch.tensor(value, dtype=torch.float32), torch.tensor(reason, dtype=torch.int8), detail)
