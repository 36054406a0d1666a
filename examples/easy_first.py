"""Easy first: harder kinds of problems join one after the other while training goes on.

An example of a recipe, not a paper's (the idea is that of Bengio et al. 2009). Leaves out: whether the easy ones are solved.
"""

from typing import Any

import guerdon as gd
from guerdon.core.task import kinds_of
from guerdon.curricula.plain import EpochSampler
from guerdon.recipes.house.grpo import grpo


@gd.part
class ladder:
    """Of the kinds of problems, in order, the first only, then the first two, and so on until at share `done` of the run all
    take turns."""

    task: Any
    tries: int = gd.knob(default=8, ge=1)
    done: float = gd.knob(default=0.5, gt=0.0, le=1.0)
    drawn: int = gd.state(default=0)

    def draw(self, n: int, play: Any) -> list[gd.Ask]:
        kinds = list(kinds_of(self.task).values())
        share = min(1.0, (play.step + 1) / (self.done * play.steps))
        there = kinds[: max(1, round(share * len(kinds)))]
        places = range(self.drawn, self.drawn + n)
        self.drawn += n
        play.log(**{"ladder/kinds": len(there)})
        return [gd.Ask(EpochSampler(there[i % len(there)]).task(i, play.seed), self.tries) for i in places]


@gd.recipe(
    "easy-first",
    family="mine",
    claim=gd.Claim(
        says="problems that become harder teach more than all kinds from the start",
        baseline="grpo",
        ablation="easy-first done=0.1",
        task="countdown:1-4",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
        budget=200_000,
    ),
    on=grpo,
)
def easy_first(base: gd.Recipe, task: Any, *, done: float = 0.5, tries: int = 8) -> gd.Recipe:
    """GRPO on problems that become harder."""
    base.curriculum = ladder(task, tries, done)
    return base
