"""Where a step's episodes come from: played when they are asked for, or ahead of time,
while the step before is learned from.

Ahead, the sampler holds a copy of the weights as they were before the step that is being learned:
the episodes are one update old, and the log-probs they carry are those of the copy, which is what a ratio corrects by.
A checkpoint waits for the episodes under way and keeps them, so that a run resumed from it is the same run.
Leaves out: what is drawn (the curriculum), who plays (`engine/player.py`).
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch

from guerdon.core.episode import Episode
from guerdon.core.model import shared
from guerdon.core.recipe import Recipe
from guerdon.core.task import Ask
from guerdon.engine.player import Player
from guerdon.runs.folder import RunFolder


@dataclass(frozen=True)
class Played:
    """The episodes of a step, and what the player counted while they were played."""

    step: int
    episodes: Sequence[Episode]
    counts: dict[str, int]
    metrics: dict[str, float]


class Rollouts:
    """The episodes of every step, in order. Closing it waits for what is under way."""

    def __init__(
        self,
        recipe: Recipe,
        play: Player,
        last: int,
        waiting: Played | None = None,
        workers: int | str | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        self.recipe, self.play, self.last = recipe, play, last
        self.workers, self.folder = workers, folder
        self.hired = ExitStack()
        self.next: Future[Played] | None = None
        if waiting is not None:
            self.next = Future()
            self.next.set_result(waiting)
        self.worker = ThreadPoolExecutor(1, "ahead") if recipe.ahead else None
        self.shadow = self._shadow() if recipe.ahead else play

    def __enter__(self) -> Rollouts:
        if self.workers is not None:  # the room of workers is above this one, and a plain run imports nothing of it
            crew = importlib.import_module("guerdon.scale.hiring").hired(self.workers, self.folder, self.play)
            self.play.elsewhere = self.shadow.elsewhere = self.hired.enter_context(crew)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if error is not None:
            self.hired.close()  # what workers play is not waited for
        if self.worker is not None:
            self.worker.shutdown(wait=True, cancel_futures=True)
        self.hired.close()

    def take(self, step: int) -> Sequence[Episode]:
        """The episodes of this step. Ahead, those of the next begin to be played."""
        if self.next is None:
            episodes = self.play.played(self.recipe.curriculum.draw(self.recipe.prompts, self.play))
        else:
            played, self.next = self.next.result(), None
            assert played.step == step, f"step {played.step} was played ahead, not {step}"
            self.play.count(played.counts)
            self.play.log(**played.metrics)
            episodes = played.episodes
        if not episodes:
            self.play.warn(
                "nothing was drawn for a step, so nothing is played or learned in it: see the curriculum's draw"
            )
        if self.worker is not None and step + 1 < self.last:
            self._begin(step + 1)
        return episodes

    def under_way(self) -> Played | None:
        """What is being played ahead, once it is there."""
        return self.next.result() if self.next is not None and self.worker is not None else None

    def _begin(self, step: int) -> None:
        """Draw the next step's asks and have them played by models as these are now."""
        assert self.worker is not None
        for name, model in self.play.models.items():
            own = self.shadow.models[name]
            new = model.weights.state_dict()
            for at, tensor in own.weights.state_dict().items():
                if tensor.data_ptr() != new[at].data_ptr():  # or the two share it
                    tensor.copy_(new[at])
            own.version = model.version
        self.shadow.steps = self.play.steps
        self.shadow.begin(step)
        asks = self.recipe.curriculum.draw(self.recipe.prompts, self.shadow)
        self.next = self.worker.submit(self._play, step, asks)

    def _play(self, step: int, asks: list[Ask]) -> Played:
        with _own_stream():
            episodes = self.shadow.played(asks)
        return Played(step, episodes, self.shadow.counts(), dict(self.shadow.metrics))

    def _shadow(self) -> Player:
        """A player with models of its own; the copies of copies follow the copies."""
        models: Any = copy.deepcopy(dict(self.play.models), shared(self.play.models.values()))
        for model in models.values():
            model.weights.requires_grad_(False)
        play = self.play
        return Player(models, play.seats, play.env, play.sampling, play.seed, play.steps, play.ended, play.noise)


def _own_stream() -> Any:
    """On a GPU, work that does not wait for the learner's, once the weights have been copied."""
    if not torch.cuda.is_available():
        return nullcontext()
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.default_stream())
    return torch.cuda.stream(stream)
