"""Every task alike: the plain curriculum, and the baseline of all others."""

from __future__ import annotations

from typing import Any

from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask
from guerdon.curricula.laps import Laps


@part
class uniform:
    """The tasks of `task` in turn, `tries` tries each. A finite set is shuffled anew each time it has been gone through."""

    task: Any
    tries: int = knob(default=8, ge=1)

    drawn: int = state(default=0)
    laps: Laps | None = live()

    def draw(self, n: int, play: Play) -> list[Ask]:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = Laps(self.task)
        asks = [Ask(self.laps.task(self.drawn + i, play.seed), self.tries) for i in range(n)]
        self.drawn += n
        return asks
