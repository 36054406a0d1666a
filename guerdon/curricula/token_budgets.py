"""Token budgets for what a curriculum draws: the tries at a problem in subgroups, each with its own announced and enforced
budget.

Leaves out: what keeping to a budget is worth (`rewards/text/length_budgets.py`).
"""

from __future__ import annotations

import math
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling

NOTE = "budget"  # of an ask: the tokens that it is to take
NUMBER = "{budget}\n{prompt}"  # for models that know no instructions, and can learn what a number means


@part
class budgeted:
    """What `curriculum` draws, each ask as one ask for each of `budgets` (numbers of tokens, or schedules): the tries are
    shared out evenly, the first budgets having one more where they do not divide. Every ask has its budget in its note, where
    rewards read it, and in its prompt if there is a `template` with {prompt} and {budget}.

    HBPO (Lyu et al. 2025, arXiv:2507.15844) has four budgets side by side, curriculum GRPO (Hammoud et al. 2025,
    arXiv:2508.08940) one that shrinks. Tries of one budget are those of one ask, tries of one problem those of one task:
    `centre(by="ask")` and `centre(by="task")` keep them separate. Without a template a budget is not announced: for models that
    follow no instructions, which then cannot distinguish the subgroups either.

    With `room`, a try is cut short at `room` times its budget (never later than `sampling`, the recipe's, has it). Logs
    `budget/mean`, over the tries.

    Args:
        curriculum: what draws the asks.
        budgets: numbers of tokens, or schedules.
        template: prompt with `{prompt}` and `{budget}`; "" does not announce the budget.
        room: a try is cut at this many times its budget; 0 cuts none.
        sampling: how models sample; the run's where it is None.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> class one:
    ...     def draw(self, n, play):
    ...         return [gd.Ask(gd.Task(str(i), f"{i}+{i}"), 5) for i in range(n)]
    >>> [(a.n, a.shown) for a in gd.curricula.budgeted(one(), (8, 16), "{prompt} in {budget}").draw(1, ExamplePlay())]
    [(3, '0+0 in 8'), (2, '0+0 in 16')]
    """

    curriculum: Any
    budgets: tuple[float, ...]
    template: str = ""
    room: float = knob(default=0.0, ge=0.0)
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        if not self.budgets:
            raise UserError("budgeted needs at least one budget: budgeted(uniform(task), (16, 32))")
        if self.template:
            check_template("budgeted.template", self.template, "prompt", "budget")
        if self.room and self.sampling is None:
            raise UserError("budgeted.room cuts tries short: give it the recipe's sampling too")

    def draw(self, n: int, play: Play) -> list[Ask]:
        sizes = [max(1, round(play.at(b))) for b in self.budgets]
        asks = [self.within(ask, sizes) for ask in self.curriculum.draw(n, play)]
        tries = [(part.n, part.note[NOTE]) for parts in asks for part in parts]
        if tries:
            play.log(**{"budget/mean": sum(k * b for k, b in tries) / sum(k for k, _ in tries)})
        return [part for parts in asks for part in parts]

    def within(self, ask: Ask, sizes: list[int]) -> list[Ask]:
        """An ask as one for each budget."""
        if ask.n < len(sizes):
            raise UserError(f"{len(sizes)} budgets need as many tries at a problem, and there are {ask.n}: set tries")
        least, more = divmod(ask.n, len(sizes))
        return [
            ask.but(
                n=least + (i < more),
                prompt=self.template.format(prompt=ask.shown, budget=size) if self.template else ask.prompt,
                sampling=self._cut(ask, size),
                note={**ask.note, NOTE: size},
            )
            for i, size in enumerate(sizes)
        ]

    def _cut(self, ask: Ask, size: int) -> Sampling | None:
        how = ask.sampling or self.sampling
        if not self.room or how is None:
            return ask.sampling
        return how.but(max_tokens=min(how.max_tokens, math.ceil(self.room * size)))
