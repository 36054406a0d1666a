"""Stages that put rewards into columns: `score`, any reward; `verified`, the task's own checker.

Leaves out: how a formula is worked out (`scorer.py`), where numbers in steps lie (`placing.py`), what an environment pays
(`placing.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import live, part, state
from guerdon.core.play import Play
from guerdon.core.task import checks_later, truth_later, truth_of
from guerdon.rewards.asking.calls import broken, outside_loop
from guerdon.rewards.asking.function import Leaf, reward, run
from guerdon.rewards.asking.samples import Roles, Samples, check_roles, each_role, fields_of, paths
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Outcome, Scores, outcome_from, outcome_of
from guerdon.rewards.stage.early_asking import AsksEarly, Early, Ended
from guerdon.rewards.stage.placing import step_column


@part
class score(AsksEarly, FieldColumns):
    """Score every track of `role`, or of several, with a reward; others' are *not applicable*, failed tracks *failed*.

    The reward may be a formula: each of its named parts gets a column of its own, `reward.NAME`, beside the whole. What
    comes in steps also gets one at the level of steps, `reward_steps` or `reward.NAME_steps` (`placing.py`). What waits is
    asked about an episode as soon as it ends, while others are still being played. Groups, for what is normalised within
    them, are the tries at one task by one role.

    Args:
        reward: a reward, or a formula of rewards.
        gives_to: column of the reward.
        role: whose tracks are scored, one role or several.

    >>> import guerdon as gd
    >>> gd.rewards.score(gd.exact() - gd.length(64).weight(0.1)).gives
    ('reward', 'reward_steps')
    """

    reward: Any
    gives_to: str = "reward"
    role: Roles = "policy"

    before: dict[str, float] = state(factory=dict)  # the means of the step before, for schedules that follow one
    early: Early = live()
    ended: Ended = live()

    def __post_init__(self) -> None:
        check_roles(self)
        self.reward = as_reward(self.reward)
        self.early = {}
        self.ended = {}

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to, f"{self.gives_to}_steps")

    @property
    def formula(self) -> Reward:
        formula: Reward = self.reward
        return formula

    def __call__(self, batch: Batch, play: Play) -> Batch:
        samples = Samples.of_batch(batch, play, self.role)
        scored = self.scored(samples, play, self.before)
        columns = {}
        parts = {f"{self.gives_to}.{name}": scores for name, scores in scored.parts.items()}
        for name, scores in {self.gives_to: scored.whole, **parts}.items():
            assert samples.track is not None
            columns[name] = _column(batch, self.role, samples.track, scores)
            if scores.steps:
                columns[f"{name}_steps"] = step_column(batch, columns[name], play, self.role)
        return batch.with_cols(columns)

    def observe(self, batch: Batch, play: Play) -> None:
        valued = {n: c.value[~c.missing] for n, c in batch.cols.items() if c.level == "track" and c.value.dim() == 1}
        self.before = {n: float(v.double().mean()) for n, v in valued.items() if len(v)}


def _column(batch: Batch, role: Roles, index: Tensor, scores: Scores) -> Column:
    """A track column from the scores of some tracks, `index`; the others failed, or are of another role."""
    mine, failed = batch.tracks_of(each_role(role)), batch.failed_K
    reason = torch.where(mine, torch.where(failed, int(Reason.FAILED), 0), int(Reason.NOT_APPLICABLE)).to(torch.int8)
    value = torch.full((batch.K,), float("nan"), dtype=torch.float32)
    reason[index], value[index] = scores.reason, scores.value.float()
    detail: dict[int, Any] = {}
    for k in torch.nonzero(mine & failed).flatten().tolist():
        episode = batch.episodes[int(batch.episode[batch.leaf[k]])]
        detail[k] = {"error": episode.info.get("error", "the track failed")}
    for at in sorted({*scores.detail, *scores.steps}):
        noted = dict(scores.detail.get(at) or {})
        if at in scores.steps:
            noted["steps"] = scores.steps[at].tolist()
        if noted:
            detail[int(index[at])] = noted
    return Column("track", value, reason, detail)


@part
class verified(AsksEarly, FieldColumns):
    """The truth: the task's own checker, 1.0 right and 0.0 wrong. What `accuracy` is made of, whatever the reward is. `role` is
    whose tracks it looks at, one role's or several's. A source that checks later is asked as episodes end, any other is called
    here, a track at a time.

    Args:
        task: the source with the checker.
        gives_to: column of the result.
        role: whose tracks are checked, one role or several.

    >>> import guerdon as gd
    >>> gd.rewards.verified(gd.tasks.load("chain:2")).gives
    ('correct',)
    """

    task: Any
    gives_to: Gives = "correct"
    role: Roles = "policy"

    early: Early = live()
    ended: Ended = live()
    asked: tuple[Any, Leaf] | None = live()  # of which task, and its check as a reward

    def __post_init__(self) -> None:
        check_roles(self)
        self.early = {}
        self.ended = {}

    @property
    def asks_early(self) -> bool:
        return checks_later(self.task)

    @property
    def formula(self) -> Reward:
        if self.asked is None or self.asked[0] is not self.task:
            self.asked = self.task, checker(self.task)
        return self.asked[1]

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if self.asks_early:
            samples = Samples.of_batch(batch, play, self.role)
            assert samples.track is not None
            index, scores = samples.track, self.scored(samples, play, {}).whole
        else:
            index = torch.nonzero(batch.tracks_of(each_role(self.role)) & ~batch.failed_K).flatten()
            tracks = paths(batch)
            with outside_loop():
                scores = Scores.of([self._checked(*tracks[k]) for k in index.tolist()])
        return batch.with_cols({self.gives_to: _column(batch, self.role, index, scores)})

    def _checked(self, episode: Episode, path: list[Segment]) -> Outcome:
        """What the checker returns for a track, or how it breaks."""
        fields = fields_of(episode, path)
        track = {**fields["meta"], **fields}
        try:
            verdict = truth_of(self.task, track.pop("task"), track)
            return outcome_of(run(_awaited(verdict)) if inspect.isawaitable(verdict) else verdict)
        except BaseException as error:  # noqa: BLE001  a user's checker may break in any way, and it is recorded
            return outcome_from(broken(error))


async def _awaited(verdict: Awaitable[Any]) -> Any:
    return await verdict


def checker(source: Any) -> Leaf:
    """A task's own verdict as a reward.

    Args:
        source: the source with the checker.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("chain:1").get("train", 0)
    >>> gd.score_samples(gd.rewards.checker(gd.tasks.load("chain:1")), [{"task": task, "completion": f"= {task.answer}"}]).whole
    [1.0]
    """

    def correct(task: Any, **track: Any) -> float | None:
        return truth_of(source, task, track)

    async def correct_later(task: Any, **track: Any) -> float | None:
        return await truth_later(source, task, track)

    made = verdict(correct, isolate=False)
    made.later = correct_later if checks_later(source) else None
    return made


@part(name="reward")  # which it is to the reader of a recipe: how it is called changes no score
class verdict(reward):
    """A check as a reward, asked by its async twin where it has one. It has no time limit: what it asks has its own, and how
    long a box is waited for depends on the others."""

    later: Callable[..., Any] | None = live()

    @property
    def called(self) -> Callable[..., Any]:
        return super().called if self.later is None else self.later

    @property
    def limit(self) -> float:
        return 0.0
