"""Answer reader: SFT on worked solutions to problems that show their answer, so that a policy can be asked with it.

Not a method to get better by but a start for those that ask a policy what it would say if it knew the answer (`intro`): sprig
never saw an answer in a prompt, and what it says after one is worth nothing. `guerdon train answer_reader --task equation:6-7
--model sprig --set show=line --out runs/reader`, then `guerdon train intro --task equation:6-7 --model runs/reader --set
show=line`. One exam asks without the answer, `shown` with it. Leaves out: models that follow instructions, which need no such
start.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.recipe import Recipe, recipe
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.recipes.house.sft import sft
from guerdon.tasks.shown_answers import Show, answer_shown


@recipe("answer_reader", family="house", on=sft)
def answer_reader(
    base: Recipe,
    task: Any,
    *,
    show: Show = "sentence",  # as intro
    prompts: int = 64,
    lr: float = 2e-4,  # tried on sprig; larger models want less
    max_tokens: int = 80,  # of the exams
    steps: int = 100,
) -> Recipe:
    """Imitate solutions of problems whose answer is shown."""
    base.curriculum.task = answer_shown(task, show)
    base.exams.append(Exam(answer_shown(task, show), env=single_turn(), name="shown"))
    return base
