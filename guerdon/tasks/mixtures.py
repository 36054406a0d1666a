"""Several kinds of problems as one source: what curricula choose among, and what a held-out accuracy is broken down by.

Leaves out: how often which kind is drawn for training (`curricula/`); read in order, all come equally often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.part import live, part
from guerdon.core.task import Split, Task, TaskSource, checks_later, kinds_of, text_truth_later, truth_later, truth_of


@part(name="mixed", aliases=("mixture",))
class mixture:
    """The problems of several sources in turn: one of each kind, then the next of each. A kind that has run out is passed over.

    Every source is one *kind*, named as its tasks are (`countdown:3`), or several (`cloze:chain:1-2`), and no two may share a
    name. `solution`, `near_misses` and `first_wrong` are asked of the source a task came from.

    Args:
        name: name of the mixture.
        sources: the sources.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("countdown:1-3")
    >>> source.name, [source.get("train", i).kind for i in range(4)]
    ('countdown:1-3', ['countdown:1', 'countdown:2', 'countdown:3', 'countdown:1'])
    """

    name: str
    sources: list[Any]

    by_kind: dict[str, TaskSource] = live()

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError(f"{self.name} mixes nothing: name at least one task")
        self.by_kind = {}
        for source in self.sources:
            kinds = kinds_of(source)
            if (
                len(kinds) == 1
            ):  # named as its tasks are: what changes a source may leave the source's kinds their names
                kinds = {source.get("train", 0).kind: source}
            for kind, each in kinds.items():
                if kind in self.by_kind:
                    raise UserError(f"{self.name} names {kind} twice: once is enough")
                self.by_kind[kind] = each

    def __repr__(self) -> str:
        return f"mixed({self.name!r})"

    def kinds(self) -> dict[str, TaskSource]:
        return self.by_kind

    def of(self, task: Task) -> Any:
        """The source a task came from."""
        if task.kind not in self.by_kind:
            raise unknown(f"kind of problem in {self.name}", task.kind, self.by_kind)
        return self.by_kind[task.kind]

    def size(self, split: Split) -> int | None:
        sizes = [source.size(split) for source in self.by_kind.values()]
        return None if None in sizes else sum(s for s in sizes if s is not None)

    def get(self, split: Split, index: int) -> Task:
        sources = list(self.by_kind.values())
        sizes = [source.size(split) for source in sources]
        if all(size is None for size in sizes):
            lap, place = divmod(index, len(sources))
        else:
            lap, place = _place([float("inf") if s is None else float(s) for s in sizes], index)
        return sources[place].get(split, lap)

    def check(self, task: Task, completion: str) -> float | None:
        verdict: float | None = self.of(task).check(task, completion)
        return verdict

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return truth_of(self.of(task), task, track)

    @property
    def checks_later(self) -> bool:
        return any(checks_later(source) for source in self.by_kind.values())

    async def check_later(self, task: Task, completion: str) -> float | None:
        return await text_truth_later(self.of(task), task, completion)

    async def check_track_later(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return await truth_later(self.of(task), task, track)

    def solution(self, task: Task) -> str:
        return str(self.of(task).solution(task))

    def near_misses(self, task: Task, draw: Any) -> list[Any]:
        return list(self.of(task).near_misses(task, draw))

    def first_wrong(self, task: Task, steps: Any) -> int | None:
        step: int | None = self.of(task).first_wrong(task, steps)
        return step


def _place(sizes: list[float], index: int) -> tuple[int, int]:
    """Which lap, and which source in it, number `index` is when sources end after `sizes` laps."""
    lap = 0
    while True:
        there = [i for i, size in enumerate(sizes) if size > lap]
        if not there:
            raise IndexError("past the last problem")
        laps = min(sizes[i] for i in there) - lap  # so many laps with the same sources
        if index < laps * len(there):
            more, place = divmod(index, len(there))
            return lap + more, there[place]
        index -= int(laps) * len(there)
        lap += int(laps)
