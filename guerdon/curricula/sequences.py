"""One curriculum after another: how much of the run is done decides which one is drawn from."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask


@part
class in_stages:
    """What the first of `curricula` draws until a share `at[0]` of the run is done, then what the second draws until `at[1]`,
    and so on. Of a run with a budget it is the share of the budget, as far as can be told; what has begun does not go back,
    though that estimate may. A stage that would end where it begins is passed over.

    MedCCO (Rui et al. 2025, arXiv:2505.19213) learns to choose answers first and to give them after. Notes `stage`, from 0.

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
