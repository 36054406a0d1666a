"""HBPO (arXiv:2507.15844): the tries at a prompt are split into budget groups, compared inside and across them."""

from __future__ import annotations

import math

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.credit.centre import centre
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.tabular import tabular
from guerdon.rewards.score import score, verified

LONGEST = 8


@gd.part
class ponder:
    """Call out, but only after enough thought: easy tasks need none, hard ones at least three dots of it."""

    name = "ponder"

    def size(self, split):
        return 4

    def get(self, split, index):
        need = 0 if index < 2 else 3
        return gd.Task(str(index), f"ponder {index}", "!", "ponder", level=1 + need, meta={"need": need})

    def check(self, task, completion):
        return float(completion.lstrip(".") == "!" and len(completion) > task.meta["need"])


@gd.part
class budgets:
    """Every task at every budget: one ask each, the budget announced in the prompt."""

    task: ponder
    sizes: tuple[int, ...] = (2, 4, 8)
    tries: int = 12

    def draw(self, n, play):
        tasks = [self.task.get("train", i) for i in range(n)]
        return [
            gd.Ask(t, self.tries, prompt=f"{t.prompt} in {b}", note={"budget": b}) for t in tasks for b in self.sizes
        ]


def within_budget(task, completion, budget):
    """A right answer is worth less the longer it is, and loses more for every step beyond its budget."""
    n = len(completion)
    right = ponder().check(task, completion)
    return right * (math.cos(math.pi * n / (2 * LONGEST + 2)) - 0.1 * max(0, n - budget))


@gd.part
class both:
    """Advantage against the same budget plus advantage against all budgets of the prompt."""

    needs, gives = ("inside", "across"), ("advantage",)

    def __call__(self, batch, play):
        return batch.put("advantage", "step", batch["inside"] + batch["across"], because=batch.cols["inside"])


@gd.recipe("hbpo", family="curriculum", paper="arXiv:2507.15844")
def hbpo(lr: float = 0.1, steps: int = 100):
    """Budgets are asks of one task; centre by ask is the subgroup's baseline, centre by task the group's."""
    learn = gd.Learn("policy", clipped(), opt=adam(lr=lr))
    inside, across = (centre(by=by, std=False, gives_to=to) for by, to in (("ask", "inside"), ("task", "across")))
    stages = [verified(ponder()), score(within_budget), inside, across, both(), learn]
    sampling = gd.Sampling(max_tokens=LONGEST)
    return gd.Recipe(
        {"policy": tabular(".!")}, budgets(ponder()), single_turn(), stages, sampling=sampling, prompts=4, steps=steps
    )
