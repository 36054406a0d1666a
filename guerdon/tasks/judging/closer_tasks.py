"""A closer role as a task: `critique/chain:3` asks a model for the first wrong line of attempts at chains of level 3."""

from __future__ import annotations

import random

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.judging.closer_roles import CLOSER_ROLES, criteria_in, given_reason, named_line, rubric_answers
from guerdon.tasks.judging.problem_rewrites import is_rewrite
from guerdon.tasks.role_tasks import in_role
from guerdon.tasks.roles import proposal


@part
class in_closer_role(in_role):
    """A closer `role` played on the problems of `family`. A critique is right when it names the first wrong line, or that there
    is none; a reason when its verdict is true and the line it is about is the first wrong one; a rubric when every criterion
    is answered rightly and the count is theirs; a rewrite when it is a problem of the asked level and, at the level of the
    problem, the same in other words or with one or two numbers, letters or signs changed.

    >>> import guerdon as gd
    >>> critique = gd.tasks.load("critique/chain:1")
    >>> problem = critique.get("train", 0)
    >>> problem.prompt.splitlines(), problem.answer.splitlines()[-1]
    (['critique', 'chain 4 *4 *5', '4*4=16', '= 16'], '= 2')
    >>> critique.check(problem, "= 2"), critique.check(problem, "= none")
    (1.0, 0.0)
    """

    role: str = knob(choices=tuple(CLOSER_ROLES))

    def get(self, split: Split, index: int) -> Task:
        base = self.family.get(split, index)
        draw = random.Random(derive(self.role, base.prompt))
        view, reply = CLOSER_ROLES[self.role](self.family, base, draw)[0]
        return Task(
            base.id, view, reply, self.name, base.level, {**base.meta, "problem": base.prompt, "truth": base.answer}
        )

    def check(self, task: Task, completion: str) -> float | None:
        if self.role == "critique":
            return float(named_line(completion) == named_line(task.answer))
        if self.role == "reasons":
            return float(given_reason(completion) == given_reason(task.answer))
        if self.role == "rubric":
            criteria = criteria_in(task.prompt)
            return float(rubric_answers(completion, criteria) == rubric_answers(task.answer, criteria))
        base = Task(task.id, task.meta["problem"], task.meta["truth"], self.family.name, task.level, task.meta)
        level, problem = int(task.prompt.partition("\n")[0].removeprefix("rewrite ")), proposal(completion)
        return float(problem is not None and is_rewrite(self.family, base, level, problem))
