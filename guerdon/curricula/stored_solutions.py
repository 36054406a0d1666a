"""Problems with solutions to recite, right and wrong: the data of preference learning and of reward models.

Leaves out: preferences in files, and the reciting (`envs/contrasting.py`).
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split


@part
class contrasts:
    """The tasks of a family in turn, each asked with its gold solution and `wrong` of its near-misses to say
    (`note["say"]`, the right one first; all there are, where there are fewer).

    Which near-misses follows from the run's seed and the problem. They are a family's typical errors, one to a solution,
    and not those that a policy makes: what is learned from them alone is biased towards what they look like.

    >>> import guerdon as gd
    >>> gd.curricula.contrasts(gd.tasks.chain(level=1)).ask("test", 0, seed=0).note["say"]
    ['3*4=12\\n12-5=7\\n= 7', '3*4=12\\n12-5=6\\n= 6']
    """

    task: Any
    wrong: int = knob(default=1, ge=0)

    drawn: int = state(default=0)

    def __post_init__(self) -> None:
        if not (hasattr(self.task, "near_misses") and hasattr(self.task, "solution")):
            name = getattr(self.task, "name", repr(self.task))
            raise UserError(
                f"{name} knows neither gold solutions nor near-misses of its problems: choose a generated family (guerdon"
                " list tasks), or give yours solution(task) and near_misses(task, draw)"
            )

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks = [self.ask("train", self.drawn + i, play.seed) for i in range(n)]
        self.drawn += n
        return asks

    def exam_asks(self, tasks: int, tries: int, play: Play) -> list[Ask]:
        """As an exam asks: the first held-out problems, once each, for tries of its own are the environment's to make."""
        size = self.task.size("test")
        return [self.ask("test", i, play.seed) for i in range(tasks if size is None else min(tasks, size))]

    def ask(self, split: Split, index: int, seed: int) -> Ask:
        """Problem number `index` of a split (of a finite one, over and over)."""
        size = self.task.size(split)
        task = self.task.get(split, index if size is None else index % size)
        draw = random.Random(derive(seed, "contrasts", task.key))
        misses = list(dict.fromkeys(miss.text for miss in self.task.near_misses(task, draw)))
        wrong = draw.sample(misses, min(self.wrong, len(misses)))
        return Ask(task, note={"say": [self.task.solution(task), *wrong]})
