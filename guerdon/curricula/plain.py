"""The plain curriculum, which draws every problem alike; and the same over problems that no run trains on."""

from __future__ import annotations

from typing import Any

from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask
from guerdon.curricula.epochs import APART, EpochSampler


@part
class uniform:
    """The tasks of `task` in turn, `tries` tries each. A finite set is shuffled anew each time it has been gone through.

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
    seed begins, which no run comes to. A finite set has no such place: there they are its training problems, in an order of
    their own. The held-out problems of the source, which exams are made of, are never drawn.

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
