"""What became of each problem over a run: its rate of success whenever it was tried.

What problems are chosen by afterwards.
Leaves out: what is chosen (`by_variance` ranks; recipes take),
and what a run selects by during training (`weakness` of SwS).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.task import Ask, TaskSource

HISTORY = "history/"


@part
class recorded:
    """What `curriculum` draws, unchanged. After a step `history/KEY` is noted for every problem that was tried: the mean of
    `column` over its tries in this step. A problem none of whose tries has a value is not noted.

    For sets of finite size, whose problems come again: the numbers of a problem, step after step (`history_of`), are its
    history. A number a problem is much for a record: some hundred problems are well, many thousand are not.

    Args:
        curriculum: what draws the asks.
        column: column that is recorded.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> play = ExamplePlay()
    >>> gd.curricula.recorded(None, column="reward").observe(example_tries([[0.0, 1.0], [1.0, None], [None]]), play)
    >>> play.metrics
    {'history/task/0': 0.5, 'history/task/1': 1.0}
    """

    curriculum: Any
    column: str = "correct"

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks: list[Ask] = self.curriculum.draw(n, play)
        return asks

    def observe(self, batch: Batch, play: Play) -> None:
        play.log(**{HISTORY + key: rate for key, rate in rates(batch, self.column).items()})


def rates(batch: Batch, column: str) -> dict[str, float]:
    """By the key of its task, the mean of a track column over the tries at each problem that have a value."""
    success = batch.track_column(column, "a problem's rate")
    tried: dict[str, list[float]] = {}
    for episode, value in zip(batch.episode[batch.leaf].tolist(), success.value.double().tolist(), strict=True):
        if value == value:
            tried.setdefault(batch.episodes[episode].task.key, []).append(value)
    return {key: statistics.fmean(values) for key, values in tried.items()}


def history_of(steps: Iterable[Mapping[str, float | None]]) -> dict[str, list[float]]:
    """By the key of its task, each problem's rates in the order of the steps whose metrics these are (None: it has none).

    Args:
        steps: the metrics of each step.

    >>> import guerdon as gd
    >>> gd.curricula.history_of([{"history/a": 0.5, "loss": 1.0}, {"history/b": 0.0}, {"history/a": 1.0}])
    {'a': [0.5, 1.0], 'b': [0.0]}
    """
    history: dict[str, list[float]] = {}
    for metrics in steps:
        for name, value in metrics.items():
            if name.startswith(HISTORY) and value is not None:
                history.setdefault(name.removeprefix(HISTORY), []).append(value)
    return history


def by_variance(source: TaskSource, history: Mapping[str, list[float]]) -> list[int]:
    """The numbers of the training problems of a finite set, those first whose rates varied most; of equals the first one. One
    without a history has no variance.

    The historical variance score of Wang et al. 2025 (arXiv:2504.20571): what was learned, or forgotten, while others were
    learned too.

    Args:
        source: a finite set of problems.
        history: success rates by problem, as `history_of` returns them.

    >>> import guerdon as gd
    >>> few = gd.tasks.load("chain:1@3")
    >>> key = [few.get("train", i).key for i in range(3)]
    >>> gd.curricula.by_variance(few, {key[0]: [0.5, 1.0], key[2]: [0.0, 1.0]})
    [2, 0, 1]
    """
    spread = {key: statistics.pvariance(rates) for key, rates in history.items()}
    numbers = range(source.size("train") or 0)
    return sorted(numbers, key=lambda i: -spread.get(source.get("train", i).key, 0.0))
