"""Controlled: SFT on right solutions under one wording of a problem and on wrong ones under another.

Not a method to get better by but a start for those that prompt a model in two opposite ways and compare what it says
(`t-reg`): sprig follows no instructions, and learns here what two of them mean. `guerdon train controlled --task equation:6-7
--model sprig --out runs/told`, then `guerdon train t-reg --task equation:6-7 --model runs/told`. The plain wording is taught
right solutions as well, or it would unlearn them beside the wrong ones.
Leaves out: models that follow instructions, which need none of this, and tasks without near-misses.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from guerdon.core.part import part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask, Split, Task
from guerdon.curricula.solutions_to_recite import contrasts
from guerdon.envs.contrasting import side_by_side
from guerdon.exams.exam import Exam
from guerdon.recipes.house.sft import sft
from guerdon.tasks.changed_source import ChangedSource

RIGHT, WRONG = "right\n{prompt}", "wrong\n{prompt}"


@part
class controls(contrasts):
    """Every problem three times: under the wording `better` and as it is with its gold solution to say, under `worse` with a
    near-miss.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> [ask.shown for ask in controls(gd.tasks.load("chain:1")).draw(3, ExamplePlay())]
    ['right\\nchain 4 *4 *5', 'wrong\\nchain 4 *4 *5', 'chain 4 *4 *5']
    """

    better: str = RIGHT
    worse: str = WRONG

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks = []
        for ask in super().draw(-(-n // 3), play):
            gold, *misses = ask.note["say"]
            told = [(self.better, gold), *((self.worse, miss) for miss in misses), ("{prompt}", gold)]
            asks += [ask.but(prompt=said.format(prompt=ask.shown), note={"say": [text]}) for said, text in told]
        return asks[:n]


@part
class worded(ChangedSource):
    """The problems of `source` in another wording, for exams.

    >>> import guerdon as gd
    >>> worded(gd.tasks.load("chain:1"), "wrong\\n{prompt}").get("train", 0).prompt
    'wrong\\nchain 4 *4 *5'
    """

    source: Any
    template: str

    def __repr__(self) -> str:
        return f"worded({self.source!r}, {self.template!r})"

    def get(self, split: Split, index: int) -> Task:
        task = super().get(split, index)
        return dataclasses.replace(task, prompt=self.template.format(prompt=task.prompt))


@recipe("controlled", family="house", on=sft)
def controlled(
    base: Recipe, task: Any, *, better: str = RIGHT, worse: str = WRONG, lr: float = 5e-5, steps: int = 200
) -> Recipe:
    """Imitate right solutions where they are asked for, and wrong ones where those are."""
    for name, template in (("better", better), ("worse", worse)):
        check_template(f"controlled.{name}", template, "prompt")
    base.curriculum, base.env = controls(task, 1, better, worse), side_by_side()
    kinds = {"right": better, "wrong": worse}
    base.exams += [Exam(worded(task, said), env=base.exams[0].env, name=name) for name, said in kinds.items()]
    return base
