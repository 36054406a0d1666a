"""Checkpoints that are written beside training: a copy in host memory, then a thread that hashes, writes and reads it back.

One is under way at a time. Its outcome is reported at the end of a step: its event, or the error that kept it from the disk.
A checkpoint is on disk before older ones are dropped, and its event follows: a kill leaves it whole or absent, as ever.
Leaves out: what is in it (`resume.py`), how it is written (`runs/checkpoint.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple

from torch import Tensor

from guerdon.core.recipe import Recipe
from guerdon.runs.checkpoint import Taken, put, take
from guerdon.runs.event_types import Saved, Warned
from guerdon.training.record import Recorder
from guerdon.training.resume import bases_of, checkpoint_of, weights_in
from guerdon.training.rollouts import Played


class Written(NamedTuple):
    """What came of a checkpoint."""

    done: int  # steps
    path: str
    weights: str
    warnings: list[str]


class Saver:
    """Saves a run's checkpoints. Closing it waits for the one under way."""

    def __init__(self, recipe: Recipe, record: Recorder) -> None:
        self.recipe, self.record = recipe, record
        self.bases = bases_of(recipe)
        self.owner = record.folder.run_id()
        self.room: dict[str, Tensor] = {}
        self.thread = ThreadPoolExecutor(1, "save")
        self.under_way: Future[Written] | None = None
        self.last: Written | None = None

    def __enter__(self) -> Saver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.thread.shutdown(wait=True)

    def save(self, done: int, waiting: Played | None) -> None:
        """Begin to write the run as it is now. Events so far reach the disk first."""
        self.tell(wait=True)
        self.record.log.sync()
        now = bases_of(self.recipe)
        as_begun = {name: hash for name, hash in now.items() if self.bases.get(name) == hash}
        taken = take(checkpoint_of(self.recipe, done, as_begun, waiting), self.room)
        self.under_way = self.thread.submit(self._write, taken, weights_in(self.recipe, now))

    def tell(self, wait: bool = False) -> None:
        """Report the checkpoint that was under way, once it is written; raises the error that kept it from the disk."""
        if self.under_way is None or not (wait or self.under_way.done()):
            return
        future, self.under_way = self.under_way, None
        written = self.last = future.result()
        for message in written.warnings:
            self.record.emit(Warned(written.done - 1, message=message))
        self.record.emit(Saved(written.done - 1, path=written.path, weights=written.weights))

    def _write(self, taken: Taken, weights: Callable[[Mapping[str, Tensor]], str]) -> Written:
        warnings: list[str] = []
        path = put(self.record.folder.checkpoints, taken, self.record.options.keep, warnings.append, self.owner)
        return Written(taken.step, path.name, weights(taken.tensors), warnings)
