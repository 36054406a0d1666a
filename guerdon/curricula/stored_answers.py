"""Rows that bring their answers, to recite: files of preferences and of labelled steps as a curriculum.

Leaves out: what rows say (`tasks/preference_files.py`, `tasks/step_files.py`), and the reciting (`envs/contrasting.py`).
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import live, part, state
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Task


@part(was="recitals")
class dataset_rows:
    """The tasks of a source that brings what is said to them (`meta["say"]`), lap after lap, each lap in an order of its own.

    Tasks of one prompt come one after the other, so that they meet in an update: a reward model that sees the pairs of a
    prompt apart from each other learns its answers by heart (Ouyang et al. 2022, arXiv:2203.02155).

    >>> import guerdon as gd
    >>> rows = [{"prompt": f"{n}+1=", "chosen": str(n + 1), "rejected": str(n)} for n in range(4)]
    >>> asks = gd.curricula.dataset_rows(gd.tasks.preferences(rows, held_out=0.25))
    >>> [ask.note["say"] for ask in asks.exam_asks(8, 1, None)]
    [['4', '3']]
    """

    task: Any

    drawn: int = state(default=0)
    order: tuple[tuple[int, int], list[int]] | None = live()  # of which seed and lap, and the numbers of its tasks

    def __post_init__(self) -> None:
        if not hasattr(self.task, "together"):
            raise UserError(f"{self.task!r} has no stored answers: give preferences(FILE) or contrasts(task)")

    def draw(self, n: int, play: Play) -> list[Ask]:
        size = self.task.size("train")
        places = [divmod(self.drawn + i, size) for i in range(n)]
        self.drawn += n
        return [_asked(self.task.get("train", self._lap(play.seed, lap)[at])) for lap, at in places]

    def exam_asks(self, tasks: int, tries: int, play: Play | None) -> list[Ask]:
        """As an exam asks: the first held-out tasks, once each."""
        return [_asked(self.task.get("test", i)) for i in range(min(tasks, self.task.size("test")))]

    def _lap(self, seed: int, lap: int) -> list[int]:
        if self.order is None or self.order[0] != (seed, lap):
            prompts = self.task.together()
            random.Random(derive(seed, "recitals", lap)).shuffle(prompts)
            self.order = (seed, lap), [number for each in prompts for number in each]
        return self.order[1]


def _asked(task: Task) -> Ask:
    return Ask(task, note={"say": task.meta["say"]})
