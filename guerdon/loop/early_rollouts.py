"""The rollout file of a step, written by a thread while the learner works.

What the learner is given is nearly always what is stored once it is done.
So the file is made of that, and laid on the disk under another name; the end of the step gives it its own, before the step's
event is written.
Where the batch has come to be another one, the file is made anew, of what it is.
A kill in between leaves a file that is swept away when the run goes on.
Leaves out: what a file holds (`store/rollout_files.py`), when one is due (`loop/record.py`).
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from guerdon.core.batch import Batch
from guerdon.store.rollout_files import batch_bytes, write_batch
from guerdon.store.whole_files import put_aside, put_in_place, remove


class Early(NamedTuple):
    """A file that is being written, of which batch, and the name it has so far."""

    path: Path
    batch: Batch
    step: int
    aside: Future[Path]


class EarlyRollouts:
    """At most one file under way."""

    def __init__(self) -> None:
        self.worker: ThreadPoolExecutor | None = None
        self.early: Early | None = None

    def begin(self, path: Path, batch: Batch, step: int) -> None:
        """Have the file of a step written that is expected to come to this batch."""
        self.drop()
        if self.worker is None:
            self.worker = ThreadPoolExecutor(1, "rollouts")
        self.early = Early(path, batch, step, self.worker.submit(_aside, path, batch, step))

    def finish(self, path: Path, batch: Batch, step: int) -> None:
        """The file of a step is there, and on the disk, when this returns."""
        early = self.early
        fits = early is not None and (early.path, early.step) == (path, step) and _is_same(early.batch, batch)
        if (
            early is not None and fits and early.aside.exception() is None
        ):  # else it is met again here, where it is told
            put_in_place(early.aside.result(), path)
            self.early = None
            return
        self.drop()
        write_batch(path, batch, step)

    def drop(self) -> None:
        """Leave nothing of a file that was begun and is not wanted."""
        early, self.early = self.early, None
        if early is not None and early.aside.exception() is None:
            remove(early.aside.result())


def _aside(path: Path, batch: Batch, step: int) -> Path:
    return put_aside(path, batch_bytes(batch, step))


def _is_same(a: Batch, b: Batch) -> bool:
    """Whether two batches are made of the very same things: nothing is compared number by number."""
    if [*a.cols] != [*b.cols] or (a.roles, a.count) != (b.roles, b.count):
        return False
    names = [f.name for f in dataclasses.fields(a) if f.name not in ("cols", "roles", "count")]
    return all(getattr(a, name) is getattr(b, name) for name in names) and all(
        column is b.cols[name] for name, column in a.cols.items()
    )
