"""Problems with answers to teacher-force: files of preferences and labelled steps, and generated solutions, right and wrong.

Leaves out: the content of rows (`tasks/preference_files.py`, `tasks/step_files.py`), and the environment
(`envs/contrasting.py`).
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task


@part(was="recitals")
class dataset_rows:
    """The tasks of a source with given answers (`meta["say"]`), epoch after epoch, each in an order of its own.

    Tasks of one prompt come one after the other, so that they meet in an update: a reward model that sees the pairs of
    a prompt in different updates overfits to its answers (Ouyang et al. 2022, arXiv:2203.02155).

    Args:
        task: a source with given answers.

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


@part
class contrasts:
    """The tasks of a family in turn, each asked with its gold solution and `wrong` of its near-misses as given
    answers (`note["say"]`, the right one first; all there are, where there are fewer).

    Which near-misses follows from the run's seed and the problem. They are a family's typical errors, one to a solution,
    and not those that a policy makes: what is learned from them alone is biased towards what they look like.

    Args:
        task: the family.
        wrong: near-misses for each gold solution.

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
