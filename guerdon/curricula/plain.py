"""Curricula that draw every problem alike, over training or other problems, and one curriculum after another.

Every curriculum reads the training problems of a source through its epochs, one after the other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import torch

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.seeds import generator
from guerdon.core.task import Ask, Split, Task


@part
class uniform:
    """The tasks of `task` in turn, `tries` tries each. A finite set is reshuffled each epoch.

    Args:
        task: where problems come from.
        tries: tries at each problem.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> [(ask.task.prompt, ask.n) for ask in gd.curricula.uniform(gd.tasks.load("countdown:2"), tries=4).draw(2, ExamplePlay())]
    [('countdown 9 1 5 make 15', 4), ('countdown 2 9 6 make 5', 4)]
    """

    task: Any
    tries: int = knob(default=8, ge=1)

    drawn: int = state(default=0)
    laps: EpochSampler | None = live()

    def draw(self, n: int, play: Play) -> list[Ask]:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = EpochSampler(self.task)
        asks = [Ask(self.laps.task(self.drawn + i, play.seed), self.tries) for i in range(n)]
        self.drawn += n
        return asks


@part(was="apart")
class validation_problems(uniform):
    """Problems of `task` to try a policy on while it trains on others: of an endless source those half way to where the next
    seed begins, which no run reaches. A finite set has no such place: there they are its training problems, in an order of
    their own. The held-out problems of the source, which exams are made of, are never drawn.

    Args:
        task: where problems come from.
        tries: tries at each problem.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> source = gd.tasks.load("chain")
    >>> gd.curricula.validation_problems(source).draw(1, ExamplePlay())[0].task == source.get("train", 2**19)
    True
    """

    def draw(self, n: int, play: Play) -> list[Ask]:
        here, self.drawn = self.drawn, self.drawn + APART // 2
        asks = super().draw(n, play)
        self.drawn = here + n
        return asks


@part
class in_stages:
    """What the first of `curricula` draws until a share `at[0]` of the run is done, then what the second draws until `at[1]`,
    and so on. In a run with a budget it is the estimated share of the budget; a stage that has begun does not go back, though
    the estimate may. A stage that would end where it begins is passed over.

    MedCCO (Rui et al. 2025, arXiv:2505.19213) learns to choose answers first and to give them after. Notes `stage`, from 0.

    Args:
        curricula: the stages.
        at: shares of the run at which the next stage begins.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> easy, hard = (gd.curricula.uniform(gd.tasks.load(name)) for name in ("chain:1", "chain:3"))
    >>> stages, play = gd.curricula.in_stages([easy, hard], (0.5,)), ExamplePlay()
    >>> play.steps = 4
    >>> for play.step in range(4):
    ...     print(stages.draw(1, play)[0].task.kind)
    chain:1
    chain:1
    chain:3
    chain:3
    """

    curricula: list[Any]
    at: tuple[float, ...] = (0.5,)

    stage: int = state(default=0)

    def __post_init__(self) -> None:
        if len(self.curricula) != len(self.at) + 1:
            raise UserError(f"in_stages: {len(self.curricula)} curricula need {len(self.curricula) - 1} shares in `at`")
        if any(not 0 <= share <= 1 for share in self.at) or any(a > b for a, b in pairwise(self.at)):
            raise UserError(f"in_stages.at must be shares of the run that do not fall, not {list(self.at)}")

    def draw(self, n: int, play: Play) -> list[Ask]:
        done = play.step / max(play.steps, 1)
        self.stage = max(self.stage, sum(share <= done for share in self.at))
        play.log(stage=self.stage)
        asks: list[Ask] = self.curricula[self.stage].draw(n, play)
        return asks


APART = 2**20  # problems between where two runs of neighbouring seeds begin to read


class Problems(Protocol):
    """As much of a task source as is read here."""

    def size(self, split: Split) -> int | None: ...

    def get(self, split: Split, index: int) -> Task: ...


class EpochSampler:
    """Number `index` of a run's problems. An endless source is read from a place that the seed chooses (seed 0: the first);
    a finite one over and over, reshuffled each epoch. Nothing here is state: the same numbers give the same problem."""

    def __init__(self, source: Problems) -> None:
        self.source = source
        self._order: tuple[int, int, list[int]] = (-1, -1, [])

    def task(self, index: int, seed: int) -> Task:
        size = self.source.size("train")
        if size is None:
            return self.source.get("train", index + seed * APART)
        lap, place = divmod(index, size)
        if self._order[:2] != (lap, seed):
            self._order = (lap, seed, torch.randperm(size, generator=generator(seed, "order", lap)).tolist())
        return self.source.get("train", self._order[2][place])
