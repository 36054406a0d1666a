"""The exact process reward of a generated family: a number for every line, by the task's own step checker.

Leaves out: labels to learn from (`stage/step_truth.py`), which no line after an error has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.episode import End, Segment
from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.roles import marks
from guerdon.tasks.stepwise import by_steps


@part
class true_lines(Leaf):
    r"""$r_j = 1$ for every line $j$ before the first wrong one, and `wrong` from that one on: what a perfect process reward
    model would say (labels up to the first error as in Lightman et al. 2023, arXiv:2305.20050). In steps, a number a line.

    The answer is a line like any other. A solution that ends without one errs in its last line; of one that was cut short
    the lines that are there are judged. `task` is a generated family or a mixture of families, whose step checker is exact.
    It says whether lines are true and not whether they lead anywhere: a true line said twice is paid twice (`exams.farmed`
    measures that, `delta` and `shortfall` fix it). One without text does not apply.

    >>> import guerdon as gd
    >>> family = gd.tasks.load("equation:2")
    >>> sample = {"task": family.get("train", 0), "completion": "9x=36\nx=5\n= 5"}  # 9x+12=48
    >>> gd.score_samples(gd.rewards.true_lines(family), [sample]).whole, gd.rewards.true_lines(family)(**sample)
    ([1.0], [1.0, 0.0, 0.0])
    """

    task: Any = knob(as_hash=True)
    wrong: float = 0.0

    def __post_init__(self) -> None:
        by_steps(self.task)  # refuses what has no step checker

    def __call__(
        self, task: Task, completion: str, turns: Sequence[str] = (), path: Sequence[Segment] = ()
    ) -> list[float] | None:
        text = "\n".join(turns) if turns else completion
        size = sum(bool(line.strip()) for line in text.split("\n"))
        if not size:
            return None
        seen = marks(by_steps(self.task), task, text)
        right = seen.count("+")
        if len(seen) > size and not (path and path[-1].end is End.CUT):
            right = min(right, size - 1)  # no answer came: the last line is where it should have been
        return [1.0] * min(right, size) + [self.wrong] * (size - right)
