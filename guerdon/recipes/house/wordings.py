"""Problems in two opposite wordings, each with what is to be said there: what `controlled` teaches. No recipe."""

from __future__ import annotations

import dataclasses
from typing import Any

from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Split, Task
from guerdon.curricula.demonstrations import contrasts
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
