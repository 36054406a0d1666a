"""Controlled: SFT on right solutions under one wording of a problem and on wrong ones under another.

Not a method to get better by but a start for those that prompt a model in two opposite ways and compare what it says
(`t-reg`): sprig follows no instructions, and learns here what two of them mean. `guerdon train controlled --task equation:6-7
--model sprig --out runs/told`, then `guerdon train t-reg --task equation:6-7 --model runs/told`. The plain wording is taught
right solutions as well, or it would unlearn them beside the wrong ones.
Leaves out: models that follow instructions, which need none of this, and tasks without near-misses.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.placeholders import check_template
from guerdon.core.recipe import Recipe, recipe
from guerdon.envs.contrasting import side_by_side
from guerdon.exams.exam import Exam
from guerdon.recipes.house.sft import sft
from guerdon.recipes.house.wordings import RIGHT, WRONG, controls, worded


@recipe("controlled", family="house", on=sft, needs=Needs(errors=True, text=True))
def controlled(
    base: Recipe,
    task: Any,
    *,
    better: str = RIGHT,  # how a right solution is asked for
    worse: str = WRONG,  # how a wrong one is
    lr: float = 1e-4,
    steps: int = 200,
) -> Recipe:
    """Imitate right solutions where they are asked for, and wrong ones where those are."""
    for name, template in (("better", better), ("worse", worse)):
        check_template(f"controlled.{name}", template, "prompt")
    base.curriculum, base.env = controls(task, 1, better, worse), side_by_side()
    kinds = {"right": better, "wrong": worse}
    base.exams += [Exam(worded(task, said), env=base.exams[0].env, name=name) for name, said in kinds.items()]
    return base
