"""Asking about episodes as they end: what stages that score have in common.

What waits (a worker, a box, a server) is asked about an episode while others are still being played, and its result is there
when the stage is called. The result is the same as it would be then. Boxes are asked equal questions once a step.
Leaves out: which rewards wait (`asking/function.py`), the columns (`score_stages.py`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.pack import pack
from guerdon.core.play import Listener, Play
from guerdon.rewards.asking.function import Leaf, ask_all_later, run
from guerdon.rewards.asking.samples import Roles, Samples
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.scores import Outcome, Where
from guerdon.rewards.stage.scorer import FormulaScores, score_later
from guerdon.sandbox.shared_questions import once_a_step

Key = tuple[int, str, int, int]  # (step, episode, last segment, leaf): what was asked
Early = dict[Key, Outcome]
Ended = dict[asyncio.AbstractEventLoop, tuple[list[Episode], asyncio.Task[None]]]  # episodes that are to be asked about


class AsksEarly:
    """Base of stages that score. They have `role`, and the live fields `early` and `ended`, empty when they are made."""

    role: Roles
    early: Early
    ended: Ended

    @property
    def formula(self) -> Reward:
        """What is asked."""
        raise NotImplementedError

    @property
    def asks_early(self) -> bool:
        """Whether there is anything to ask about an episode as soon as it has ended."""
        return bool(self._waiting())

    def _waiting(self) -> list[tuple[int, Leaf]]:
        return [(n, leaf) for n, leaf in enumerate(self.formula.leaves) if leaf.waits and leaf.apart]

    async def prefetch(self, episodes: Sequence[Episode], seed: int) -> None:
        """Called when episodes have ended; `seed` is the run's. About those that end together it is asked together."""
        leaves, whole = self._waiting(), [episode for episode in episodes if not episode.failed]
        if not leaves or not whole:
            return
        loop = asyncio.get_running_loop()
        if loop not in self.ended:
            together: list[Episode] = []
            self.ended[loop] = together, loop.create_task(self._ask_early(leaves, together, seed))
        together, asking = self.ended[loop]
        together += whole
        await asking

    async def _ask_early(self, leaves: Sequence[tuple[int, Leaf]], episodes: list[Episode], seed: int) -> None:
        await asyncio.sleep(0)  # those that end in the same turn of the event loop join
        del self.ended[asyncio.get_running_loop()]
        samples = Samples.of_batch(pack(episodes), None, self.role, seed)
        with once_a_step(episodes[0].step):
            by_leaf = await ask_all_later([(leaf, samples) for _, leaf in leaves])
        for (n, _), outcomes in zip(leaves, by_leaf, strict=True):
            for key, outcome in zip(_keys(samples), outcomes, strict=True):
                self.early[(*key, n)] = outcome

    def scored(self, samples: Samples, play: Play, metrics: Mapping[str, float]) -> FormulaScores:
        """The formula's scores where the run stands: what was asked early, and the rest now."""
        formula, keys = self.formula, _keys(samples)
        known = [[self.early.get((*key, n)) for key in keys] for n in range(len(formula.leaves))]
        where = Where(samples.group, play.step, play.steps, metrics, play.seed)
        with once_a_step(play.step):
            scores = run(score_later(formula, samples, where, known))
        self.early = {key: outcome for key, outcome in self.early.items() if key[0] > play.step}
        return scores


def listeners(stages: Iterable[Any], seed: int) -> list[Listener]:
    """The listeners for finished episodes: of these stages those that ask early. `seed` is the run's."""
    early = [stage for stage in stages if hasattr(stage, "prefetch") and getattr(stage, "asks_early", True)]
    return [functools.partial(stage.prefetch, seed=seed) for stage in early]


def _keys(samples: Samples) -> list[tuple[int, str, int]]:
    """What identifies the samples of a run: the step, the episode and its last segment."""
    assert samples.batch is not None and samples.track is not None
    place = samples.batch.place[samples.batch.leaf[samples.track]].tolist()
    episodes = [fields["episode"] for fields in samples.fields]
    return [(episode.step, episode.key, last) for episode, last in zip(episodes, place, strict=True)]
