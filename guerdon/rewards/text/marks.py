"""A reward that insists on the mark of an answer: what strict formats pay."""

from __future__ import annotations

from typing import Any

from guerdon.rewards.asking.function import Leaf, reward
from guerdon.tasks.without_marks import is_marked


def insistent(source: Any) -> Leaf:
    """The verdict of a task on an answer that is marked as one (`= ` before it, on the last line), and -1 for any other.

    >>> from guerdon.tasks import load
    >>> from guerdon.tasks.without_marks import unmarked
    >>> source = unmarked(load("chain:1"))
    >>> task = source.get("test", 0)
    >>> [insistent(source).called(task=task, completion=text) for text in ("= 13", "= 12", "13")]
    [1.0, 0.0, -1.0]
    """

    def marked(task: Any, completion: str) -> Any:
        return source.check(task, completion) if is_marked(completion) else -1.0

    return reward(marked, isolate=False)
