"""A role as a task: `verify/chain:3` asks a model to verify attempts at chains of level 3, `critique/chain:3` for their first
wrong line, and can be trained or evaluated like any other family.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from guerdon.core.knob_values import check_value
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.family import Family
from guerdon.tasks.judging.judge_roles import JUDGE_ROLES, criteria_in, given_reason, named_line, rubric_answers
from guerdon.tasks.judging.problem_rewrites import is_rewrite
from guerdon.tasks.roles import ROLES, proposal, said, tool_call

EVERY_ROLE = {**ROLES, **JUDGE_ROLES}
WORDS = {"verify": ("yes", "no"), "score": ("1", "2", "3", "4", "5"), "prefer": ("a", "b")}
SAYS: dict[str, Callable[[Task, str], Any]] = {  # of a reply that is more than a word, what is to be as in the true one
    "critique": lambda task, reply: named_line(reply),
    "reasons": lambda task, reply: given_reason(reply),
    "rubric": lambda task, reply: rubric_answers(reply, criteria_in(task.prompt)),
}


@part(aliases=("in_closer_role",))
class in_role:
    """`role` with the problems of `family`. Judges face right and wrong attempts alike; a reply is right when it says
    the true verdict, a revision when it solves the problem, a proposal when it is a problem of the asked level, a tool
    user's first turn when it is a well-formed call. A critique is right when it names the first wrong line, or that there is
    none; a reason when its verdict is true and the line it is about is the first wrong one; a rubric when every criterion is
    answered rightly and the count is theirs; a rewrite when it is a problem of the asked level and, at the level of the
    problem, the same in other words or with one or two numbers, letters or signs changed.

    Args:
        role: the role.
        family: where problems come from.

    >>> import guerdon as gd
    >>> verify = gd.tasks.load("verify/chain:1")
    >>> problem = verify.get("train", 0)
    >>> problem.prompt.splitlines()
    ['verify', 'chain 4 *4 *5', '4*4=16', '= 16']
    >>> verify.check(problem, "= no")
    1.0
    >>> critique = gd.tasks.load("critique/chain:1")
    >>> problem = critique.get("train", 0)
    >>> problem.answer.splitlines()[-1], critique.check(problem, "= 2"), critique.check(problem, "= none")
    ('= 2', 1.0, 0.0)
    """

    role: str = knob(choices=tuple(EVERY_ROLE))
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
        view, reply = EVERY_ROLE[self.role](self.family, base, draw)[0]
        return Task(
            base.id, view, reply, self.name, base.level, {**base.meta, "problem": base.prompt, "truth": base.answer}
        )

    def check(self, task: Task, completion: str) -> float | None:
        base = Task(task.id, task.meta["problem"], task.meta["truth"], self.family.name, task.level, task.meta)
        if self.role in WORDS:
            allowed = WORDS[self.role]
            return float(said(completion, allowed) == said(task.answer, allowed))
        if self.role in SAYS:
            says = SAYS[self.role]
            return float(says(task, completion) == says(task, task.answer))
        if self.role == "propose":
            problem = proposal(completion)
            return float(problem is not None and self.family.read_problem(problem) is not None)
        if self.role == "rewrite":
            level, problem = int(task.prompt.partition("\n")[0].removeprefix("rewrite ")), proposal(completion)
            return float(problem is not None and is_rewrite(self.family, base, level, problem))
        if self.role == "tool":
            return float(tool_call(completion) is not None)
        verdict: float | None = self.family.check(base, completion)
        return verdict
