"""Co-Reward: every problem in two wordings, and each wording's tries are held to what the other's agree on.

Paper: Zhang et al. 2025 (arXiv:2508.00410); code: tmlr-group/Co-Reward, coreward/verl/workers/reward_manager/co_reward.py,
lines 60-93. A try is paid 1 if its answer is the most frequent one among the tries at the other wording, and advantages are
those of GRPO within a wording. One wording's mistake is then not its own label, so it is harder to agree on a trivial answer.
The paper has problems reworded by a language model beforehand; here the other wording is a column of your rows, a template, or
for a generated family the same problem in another order, which the family must read as the same. Rows that have none are asked
with a sentence added (`AGAIN`), the weakest of these. Half as many problems a step as GRPO has keep the number of tries. Of
answers with equally many votes the code takes the first; here they share.
Leaves out: making a wording by a language model, and checking one that your rows bring.
"""

from __future__ import annotations

import random
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Task
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.text.agreement import majority
from guerdon.tasks.family import Family
from guerdon.tasks.judging.problem_rewrites import paraphrase

AGAIN = "{prompt}\n\nRead the problem again from the start, then answer it."
COLUMN = "reworded"  # of the other wording, where nothing else is named
PASSED = 64  # problems without another wording at which a step gives up, if it has found none with one


@recipe(
    "co-reward",
    family="self_reward",
    paper="arXiv:2508.00410",
    on=grpo,
    needs=Needs(answers=False, one_turn=True, learns_from="the votes of its own tries"),
    helps=("few-labels",),
)
def co_reward(
    base: Recipe,
    task: Any,
    *,
    wording: str = COLUMN,  # where the other wording stands: a column, or a template with {prompt}
    votes: Literal["number", "text"] = "number",  # what tries are compared by: their last number, or their whole answer
) -> Recipe:
    """GRPO on the answer that most tries at the same problem in other words give."""
    if base.curriculum.tries < 2:
        raise UserError("co-reward holds a try to what those at another wording agree on: set tries=2 or more")
    base = paid_by(base, majority(answer=votes, by="wording", voters="others"))
    (credit,) = base.stages.credit
    credit.by = "ask"
    return base.but(curriculum=in_two_wordings(base.curriculum, task, wording))


@part
class in_two_wordings:
    """Half as many problems of a curriculum, each asked as it is and in another wording; the asks note which, `wording` 0 or 1.

    The other wording is `wording` with the problem in place of {prompt}; or what the problem's meta has under this name; or,
    where it has nothing, the problem in another order, if its family reads that as the same, and with a sentence added where it
    is of no family. A problem without any is passed over. Logs `no_wording`, the share of problems that were.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> family = gd.tasks.load("equation:4")
    >>> both = in_two_wordings(gd.curricula.uniform(family, tries=2), family)
    >>> [(ask.shown, ask.n, ask.note["wording"]) for ask in both.draw(2, ExamplePlay())]
    [('equation 8x+12=6x+16', 2, 0), ('equation 6x+16=8x+12', 2, 1)]
    """

    curriculum: Any
    task: Any
    wording: str = COLUMN

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks: list[Ask] = []
        wanted, passed = max(n // 2, 1), 0
        while len(asks) < 2 * wanted:
            for ask in self.curriculum.draw(wanted - len(asks) // 2, play):
                other, why = self._other(ask.task, play)
                passed += not other
                if passed == PASSED and not asks:
                    raise UserError(
                        f"no problem has another wording ({why}): name a column with one, --set wording=COLUMN, or a template,"
                        " --set 'wording=In other words: {prompt}'"
                    )
                if other:
                    asks += [_noted(ask, 0), _noted(ask.but(prompt=other), 1)]
        play.log(no_wording=passed / (passed + wanted))
        return asks

    def _other(self, task: Task, play: Play) -> tuple[str, str]:
        """The other wording, empty where there is none, and why there is none."""
        if "{prompt}" in self.wording:
            return self.wording.replace("{prompt}", task.prompt), ""
        if self.wording in task.meta:
            return str(task.meta[self.wording] or "").strip(), f"the column {self.wording!r} is empty"
        source = self.task.of(task) if hasattr(self.task, "of") else self.task
        if self.wording == COLUMN and not isinstance(source, Family):
            return AGAIN.replace("{prompt}", task.prompt), ""
        dice = random.Random(derive(play.seed, "wording", task.key))
        other = paraphrase(self.task, task, dice)
        return (other.task.prompt, "") if other.task else ("", other.reason)


def _noted(ask: Ask, wording: int) -> Ask:
    return ask.but(note={**ask.note, "wording": wording})
