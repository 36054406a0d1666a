"""Problems with the answers to choose from: the closed form of a generated family, in a role that every family has; and of
other problems, with answers of theirs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task, kinds_of
from guerdon.tasks.answer_checks import LABELS, same_choice
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.family import Family
from guerdon.tasks.judging.candidates import other_problems
from guerdon.tasks.mixtures import mixture
from guerdon.tasks.role_tasks import in_role
from guerdon.tasks.row_prompts import lettered_lines
from guerdon.tasks.row_tasks import LABELLED

Closed = Literal["prefer", "verify"]


def closed_form(task: Any, role: Closed = "prefer") -> mixture:
    """The problems of a task as choices. Of generated families: two solutions of which one is right ("prefer": a or b), or one
    that is right or not ("verify": yes or no). Of others their answer among those of other problems. Every kind of problem
    becomes a kind.

    Args:
        task: where problems come from.
        role: "prefer" or "verify".

    >>> import guerdon as gd
    >>> closed = gd.tasks.closed_form(gd.tasks.load("chain:1-2"))
    >>> closed.get("train", 1).kind, closed.get("train", 0).prompt.splitlines()[0]
    ('prefer/chain:2', 'prefer')
    """
    sources = list(kinds_of(task).values())
    closed = [in_role(role, source) if isinstance(source, Family) else offered(source) for source in sources]
    return mixture(f"{role}/{task.name}", closed)


@part
class offered(ChangedSource):
    """The problems of `source` with up to `options` answers to choose from, as lettered lines: the right one, and those of
    other problems of the same split and kind. The letter or the text of an answer chooses it.

    Args:
        source: where problems come from.
        options: the most answers a problem has.

    >>> import guerdon as gd
    >>> source = gd.tasks.rows([{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(10)], held_out=0.5)
    >>> problem = offered(source, options=3).get("train", 2)
    >>> problem.prompt.splitlines(), problem.answer, problem.kind
    (['2 + 1?', 'A. 5', 'B. 3', 'C. 2'], 'B', 'offered/data:1')
    """

    source: Any
    options: int = knob(default=4, ge=2, le=26)

    def get(self, split: Split, index: int) -> Task:
        base: Task = self.source.get(split, index)
        draw = random.Random(derive("offered", split, index, base.key))
        texts = [
            base.answer,
            *(each.answer for each in other_problems(self.source, split, base, self.options - 1, draw)),
        ]
        draw.shuffle(texts)
        labelled = dict(zip(LABELS, texts, strict=False))
        right = next(label for label, text in labelled.items() if text == base.answer)
        prompt = f"{base.prompt}\n{lettered_lines(labelled)}"
        view = None if base.view is None else base.view.saying(prompt)
        meta = {**base.meta, LABELLED: labelled}
        return Task(base.id, prompt, right, f"offered/{base.family}", base.level, meta, view)

    def check(self, task: Task, completion: str) -> float | None:
        return same_choice(completion, task.answer, task.meta[LABELLED])

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return self.check(task, track["completion"])
