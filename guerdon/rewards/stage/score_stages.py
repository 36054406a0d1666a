"""Stages that put rewards into columns: `score`, any reward; `verified`, the task's own checker.

Leaves out: how a formula is worked out (`scorer.py`), where numbers in steps lie (`placing.py`), what an environment pays
(`environment_pay.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.pack import pack
from guerdon.core.part import live, part, state
from guerdon.core.play import Play
from guerdon.core.task import truth_of
from guerdon.rewards.asking.function import Leaf, ask_all_later, reward, run
from guerdon.rewards.asking.samples import Roles, Samples, check_roles, each_role
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Outcome, Scores
from guerdon.rewards.formula.where import Where
from guerdon.rewards.stage.placing import step_column
from guerdon.rewards.stage.scorer import FormulaScores, score_later

Key = tuple[int, str, int, int]  # (step, episode, last segment, leaf): what was asked
Ended = dict[asyncio.AbstractEventLoop, tuple[list[Episode], asyncio.Task[None]]]  # episodes that are to be asked about


@part
class score(FieldColumns):
    """Score every track of `role`, or of several, with a reward; others' are *not applicable*, failed tracks *failed*.

    The reward may be a formula: each of its named parts gets a column of its own, `reward.NAME`, beside the whole. What
    comes in steps also gets one at the level of steps, `reward_steps` or `reward.NAME_steps` (`placing.py`). What waits is
    asked about an episode as soon as it ends, while others are still being played. Groups, for what is normalised within
    them, are the tries at one task by one role.

    >>> import guerdon as gd
    >>> gd.rewards.score(gd.exact() - gd.length(64).weight(0.1)).gives
    ('reward', 'reward_steps')
    """

    reward: Any
    gives_to: str = "reward"
    role: Roles = "policy"

    before: dict[str, float] = state(factory=dict)  # the means of the step before, for schedules that follow one
    early: dict[Key, Outcome] = live()
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
    def is_early(self) -> bool:
        """Whether it has anything to ask about an episode as soon as that has ended."""
        return any(leaf.waits and leaf.apart for leaf in self.reward.leaves)

    async def prefetch(self, episode: Episode, seed: int) -> None:
        """Called when an episode has ended; `seed` is the run's. About those that end together it is asked together."""
        leaves = [(n, leaf) for n, leaf in enumerate(self.reward.leaves) if leaf.waits and leaf.apart]
        if not leaves or episode.failed:
            return
        loop = asyncio.get_running_loop()
        if loop not in self.ended:
            episodes: list[Episode] = []
            self.ended[loop] = episodes, loop.create_task(self._ask_early(leaves, episodes, seed))
        episodes, asking = self.ended[loop]
        episodes.append(episode)
        await asking

    async def _ask_early(self, leaves: Sequence[tuple[int, Leaf]], episodes: list[Episode], seed: int) -> None:
        await asyncio.sleep(0)  # those that end in the same turn of the event loop join
        del self.ended[asyncio.get_running_loop()]
        samples = Samples.of_batch(pack(episodes), None, self.role, seed)
        by_leaf = await ask_all_later([(leaf, samples) for _, leaf in leaves])
        for (n, _), outcomes in zip(leaves, by_leaf, strict=True):
            for key, outcome in zip(_keys(samples), outcomes, strict=True):
                self.early[(*key, n)] = outcome

    def __call__(self, batch: Batch, play: Play) -> Batch:
        samples = Samples.of_batch(batch, play, self.role)
        keys = _keys(samples)
        known = [[self.early.get((*key, n)) for key in keys] for n in range(len(self.reward.leaves))]
        scored = _scored(self.reward, samples, play, self.before, known)
        self.early = {key: outcome for key, outcome in self.early.items() if key[0] > play.step}
        columns = {}
        parts = {f"{self.gives_to}.{name}": scores for name, scores in scored.parts.items()}
        for name, scores in {self.gives_to: scored.whole, **parts}.items():
            columns[name] = _column(batch, self.role, samples, scores)
            if scores.steps:
                columns[f"{name}_steps"] = step_column(batch, columns[name], play, self.role)
        return batch.with_cols(columns)

    def observe(self, batch: Batch, play: Play) -> None:
        valued = {n: c.value[~c.missing] for n, c in batch.cols.items() if c.level == "track" and c.value.dim() == 1}
        self.before = {n: float(v.double().mean()) for n, v in valued.items() if len(v)}


def _keys(samples: Samples) -> list[tuple[int, str, int]]:
    """What tells the samples of a run apart: the step, the episode and its last segment."""
    assert samples.batch is not None and samples.track is not None
    place = samples.batch.place[samples.batch.leaf[samples.track]].tolist()
    episodes = [fields["episode"] for fields in samples.fields]
    return [(episode.step, episode.key, last) for episode, last in zip(episodes, place, strict=True)]


def _scored(
    formula: Reward,
    samples: Samples,
    play: Play,
    metrics: Mapping[str, float],
    known: Sequence[Sequence[Outcome | None]] | None = None,
) -> FormulaScores:
    """The scorer, where the run stands."""
    where = Where(samples.group, play.step, play.steps, metrics, play.seed)
    return run(score_later(formula, samples, where, known))


def _column(batch: Batch, role: Roles, samples: Samples, scores: Scores) -> Column:
    """A track column from the scores of some tracks; the others failed, or are of another role."""
    assert samples.track is not None
    index, mine, failed = samples.track, batch.tracks_of(each_role(role)), batch.failed_K
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
class verified(FieldColumns):
    """The truth: the task's own checker, 1.0 right and 0.0 wrong. What `accuracy` is made of, whatever the reward is. `role` is
    whose tracks it looks at, one role's or several's.

    >>> import guerdon as gd
    >>> gd.rewards.verified(gd.tasks.load("chain:2")).gives
    ('correct',)
    """

    task: Any
    gives_to: Gives = "correct"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        samples = Samples.of_batch(batch, play, self.role)
        scored = _scored(checker(self.task), samples, play, {})
        return batch.with_cols({self.gives_to: _column(batch, self.role, samples, scored.whole)})


def checker(source: Any) -> Leaf:
    """A task's own verdict as a reward.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("chain:1").get("train", 0)
    >>> gd.score_samples(gd.rewards.checker(gd.tasks.load("chain:1")), [{"task": task, "completion": f"= {task.answer}"}]).whole
    [1.0]
    """

    def correct(task: Any, **track: Any) -> float | None:
        return truth_of(source, task, track)

    return reward(correct, isolate=False)
