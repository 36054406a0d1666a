"""What is written down of a step, worked out by a thread while the learner works: its numbers, and its rollout file.

What the learner is given is nearly always what is recorded once it is done.
So both are made of that, and the file is laid on the disk under another name; the end of the step gives it its own, before the
step's event is written.
Where the batch turns out to be another one, they are played again for it.
A kill in between leaves a file that is removed when the run resumes.
Leaves out: what the numbers are and when a file is due (`training/record.py`), what it holds (`runs/rollout_files.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Generic, TypeVar

from guerdon.core.batch import Batch
from guerdon.runs.rollout_files import batch_bytes, write_batch
from guerdon.runs.whole_files import put_aside, put_in_place, remove

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=False)
class Expected(Generic[T]):
    """The batch expected for a step, and the rollouts under way for it."""

    batch: Batch
    numbers: Future[T]
    file: tuple[Path, int] | None = None  # which, of which step
    aside: Future[Path] | None = None  # the name that it has so far

    def is_of(self, batch: Batch) -> bool:
        """Whether a batch is made of the very same things: nothing is compared number by number."""
        mine = self.batch
        if [*mine.cols] != [*batch.cols] or (mine.roles, mine.count) != (batch.roles, batch.count):
            return False
        names = [f.name for f in dataclasses.fields(mine) if f.name not in ("cols", "roles", "count")]
        return all(getattr(mine, name) is getattr(batch, name) for name in names) and all(
            column is batch.cols[name] for name, column in mine.cols.items()
        )


class EarlyRollouts(Generic[T]):
    """At most one step under way. What breaks in the thread is done again by the caller, and breaks there."""

    def __init__(self, number: Callable[[Batch], T], run: str = "") -> None:
        """`run` is the id that the files say."""
        self.number, self.run = number, run
        self.worker: ThreadPoolExecutor | None = None
        self.expected: Expected[T] | None = None

    def begin(self, batch: Batch, file: tuple[Path, int] | None) -> None:
        """Have all made that is expected of a step: of a `file`, the one of a path and a step, if one is due."""
        self.drop()
        if self.worker is None:
            self.worker = ThreadPoolExecutor(1, "rollouts")
        numbers = self.worker.submit(self.number, batch)
        aside = None if file is None else self.worker.submit(_aside, batch, *file, self.run)
        self.expected = Expected(batch, numbers, file, aside)

    def numbers(self, batch: Batch) -> T:
        expected = self.expected
        if expected is not None and expected.is_of(batch) and expected.numbers.exception() is None:
            return expected.numbers.result()
        return self.number(batch)

    def finish(self, path: Path, batch: Batch, step: int) -> None:
        """The file of a step is there, and on the disk, when this returns."""
        expected = self.expected
        aside = expected.aside if expected is not None and expected.file == (path, step) else None
        if expected is None or aside is None or not expected.is_of(batch) or aside.exception() is not None:
            self.drop()
            write_batch(path, batch, step, self.run)
        else:
            put_in_place(aside.result(), path)
            self.expected = None

    def drop(self) -> None:
        """Remove an unfinished file that is not needed."""
        expected, self.expected = self.expected, None
        if expected is not None and expected.aside is not None and expected.aside.exception() is None:
            remove(expected.aside.result())

    def close(self) -> None:
        """The same, and end the thread: a process may make many runs."""
        self.drop()
        if self.worker is not None:
            self.worker.shutdown(wait=True)
            self.worker = None


def _aside(batch: Batch, path: Path, step: int, run: str) -> Path:
    return put_aside(path, batch_bytes(batch, step, run))
