"""A role as a task: `verify/chain:3` asks a model to verify attempts at chains of level 3,
and can be trained or evaluated like any other family.
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.knob_values import check_value
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.family import Family
from guerdon.tasks.roles import ROLES, proposal, said, tool_call

WORDS = {"verify": ("yes", "no"), "score": ("1", "2", "3", "4", "5"), "prefer": ("a", "b")}


@part
class in_role:
    """`role` played on the problems of `family`. Judges face right and wrong attempts alike; a reply is right when it says
    the true verdict, a revision when it solves the problem, a proposal when it is a problem of the asked level, a tool
    user's first turn when it is a well-formed call.

    >>> import guerdon as gd
    >>> verify = gd.tasks.load("verify/chain:1")
    >>> problem = verify.get("train", 0)
    >>> problem.prompt.splitlines()
    ['verify', 'chain 4 *4 *5', '4*4=16', '= 16']
    >>> verify.check(problem, "= no")
    1.0
    """

    role: str = knob(choices=tuple(ROLES))
    family: Any

    @property
    def name(self) -> str:
        return f"{self.role}/{self.family.name}"

    @property
    def level(self) -> int:
        return int(self.family.level)

    def __post_init__(self) -> None:
        check_value("in_role.family", isinstance(self.family, Family), None, {"choices": (True,)})

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        base = self.family.get(split, index)
        draw = random.Random(derive(self.role, base.prompt))
        view, reply = ROLES[self.role](self.family, base, draw)[0]
        return Task(
            base.id, view, reply, self.name, base.level, {**base.meta, "problem": base.prompt, "truth": base.answer}
        )

    def check(self, task: Task, completion: str) -> float | None:
        base = Task(task.id, task.meta["problem"], task.meta["truth"], self.family.name, task.level, task.meta)
        if self.role in WORDS:
            allowed = WORDS[self.role]
            return float(said(completion, allowed) == said(task.answer, allowed))
        if self.role == "propose":
            problem = proposal(completion)
            return float(problem is not None and self.family.read_problem(problem) is not None)
        if self.role == "tool":
            return float(tool_call(completion) is not None)
        verdict: float | None = self.family.check(base, completion)
        return verdict
