"""Some of a source's problems: the first few, or those picked by number.

The held-out problems stay all there.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.task import Split, Task, checks_later, text_truth_later


@part
class chosen:
    """A finite training set: problems number `train` of `source`, in that order; `test` likewise (None: all held-out ones).

    What methods need that go through the same problems over and over: budgets by success rate, learning from one example.

    Args:
        source: where problems come from.
        train: numbers of the training problems.
        test: numbers of the held-out problems; all when None.

    >>> import guerdon as gd
    >>> few = gd.tasks.load("countdown:1-6@256")
    >>> few.size("train"), few.size("test"), few.get("train", 1).kind
    (256, None, 'countdown:2')
    """

    source: Any
    train: tuple[int, ...]
    test: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.source.name}@{len(self.train)}"

    def __repr__(self) -> str:
        return f"chosen({self.name!r})"

    def size(self, split: Split) -> int | None:
        if split == "train":
            return len(self.train)
        return self.source.size(split) if self.test is None else len(self.test)

    def get(self, split: Split, index: int) -> Task:
        picked = self.train if split == "train" else self.test
        return self.source.get(split, index if picked is None else picked[index])  # type: ignore[no-any-return]

    def check(self, task: Task, completion: str) -> float | None:
        return self.source.check(task, completion)  # type: ignore[no-any-return]

    @property
    def checks_later(self) -> bool:
        return checks_later(self.source)

    async def check_later(self, task: Task, completion: str) -> float | None:
        return await text_truth_later(self.source, task, completion)

    def kinds(self) -> dict[str, chosen]:
        """The kinds of the problems that were chosen, each a source of its own."""
        return by_kind(self.source, self.train, self.test)

    def __getattr__(self, name: str) -> Any:
        """`solution`, `near_misses` and whatever else its source can do."""
        if name.startswith("__") or "source" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.source, name)


def first(source: Any, count: int) -> chosen:
    """The first `count` training problems of a source.

    Args:
        source: where problems come from.
        count: how many.

    >>> import guerdon as gd
    >>> gd.tasks.first(gd.tasks.chain(level=2), 256).size("train")
    256
    """
    size = source.size("train")
    if count < 1 or (size is not None and size < count):
        there = "never end" if size is None else f"are {size}"
        raise UserError(
            f"{source.name}@{count}: the training problems of {source.name} {there}; take 1 or more of them"
        )
    return chosen(source, tuple(range(count)))


def by_kind(source: Any, train: tuple[int, ...], test: tuple[int, ...] | None) -> dict[str, chosen]:
    """Problems picked by number, sorted into kinds in the order in which kinds appear."""
    numbers_of: dict[str, list[int]] = {}
    for i in train:
        numbers_of.setdefault(source.get("train", i).kind, []).append(i)
    held: dict[str, list[int]] = {kind: [] for kind in numbers_of}
    for i in test or ():
        held.setdefault(source.get("test", i).kind, []).append(i)
    return {
        kind: chosen(source, tuple(numbers), None if test is None else tuple(held[kind]))
        for kind, numbers in numbers_of.items()
    }
