"""Every task alike: the plain curriculum, and the baseline of all others."""

from __future__ import annotations

from typing import Any

import torch

from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.seeds import generator
from guerdon.core.task import Ask, Task


@part
class uniform:
    """The tasks of `task` in turn, `tries` tries each. A finite set is shuffled anew each time it has been gone through."""

    task: Any
    tries: int = knob(default=8, ge=1)

    drawn: int = state(default=0)
    order: Any = live()

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks = [Ask(self._get(self.drawn + i, play.seed), self.tries) for i in range(n)]
        self.drawn += n
        return asks

    def _get(self, index: int, seed: int) -> Task:
        size = self.task.size("train")
        if size is None:
            return self.task.get("train", index)  # type: ignore[no-any-return]
        lap, place = divmod(index, size)
        if self.order is None or self.order[0] != lap:
            self.order = (lap, torch.randperm(size, generator=generator(seed, "order", lap)).tolist())
        return self.task.get("train", self.order[1][place])  # type: ignore[no-any-return]
