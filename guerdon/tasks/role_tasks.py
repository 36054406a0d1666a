"""All roles in one table, and a role as a task: `verify/chain:3` asks a model to verify attempts at chains of level 3,
`critique/chain:3` for their first wrong line, and can be trained or evaluated like any other family.

Leaves out: what each role says (`roles.py`, `judging/judge_roles.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.core.wordings import ByModel, by_own_role
from guerdon.tasks import roles
from guerdon.tasks.family import ANSWER, Family, read_solution
from guerdon.tasks.judging import judge_roles
from guerdon.tasks.judging.judge_roles import criteria_in, given_reason, named_line, rubric_answers
from guerdon.tasks.judging.problem_rewrites import is_rewrite
from guerdon.tasks.role_wordings import ROLE_WORDINGS, numbered
from guerdon.tasks.roles import Turns, proposal, said, tool_call

Talk = Callable[[Family, Task, random.Random], Turns]


def _solves(family: Family, base: Task, task: Task, reply: str) -> float | None:
    verdict: float | None = family.check(base, reply)
    return verdict


@dataclass(frozen=True)
class Role:
    """A part that a model can play.

    Args:
        talk: a conversation to learn it from, about a problem.
        says: what of a reply must be as in the true one, given the question; `right` decides where there is none.
        words: the verdicts it may end on; another is none.
        about: the conversation about a given attempt, of judges of single ones.
        right: whether a reply to a question solves what it asks, given the family and the problem it is about.
    """

    talk: Talk
    says: Callable[[Task, str], Any] | None = None
    words: tuple[str, ...] = ()
    about: Callable[[Family, Task, str, random.Random], Turns] | None = None
    right: Callable[[Family, Task, Task, str], float | bool | None] = _solves


def judge(talk: Talk, words: str, about: Callable[[Family, Task, str, random.Random], Turns] | None = None) -> Role:
    """Of a role that ends on one of some words."""
    allowed = tuple(words.split())
    return Role(talk, lambda task, reply: said(reply, allowed), allowed, about)


def _proposes(family: Family, base: Task, task: Task, reply: str) -> bool:
    problem = proposal(reply)
    return problem is not None and family.read_problem(problem) is not None


def _rewrites(family: Family, base: Task, task: Task, reply: str) -> bool:
    level, problem = int(task.prompt.partition("\n")[0].removeprefix("rewrite ")), proposal(reply)
    return problem is not None and is_rewrite(family, base, level, problem)


def _rubric_says(task: Task, reply: str) -> list[bool] | None:
    return rubric_answers(reply, criteria_in(task.prompt))


ROLES = {
    "solve": Role(roles.solve),
    "verify": judge(roles.verify, "yes no", roles.verify_of),
    "score": judge(roles.score, "1 2 3 4 5", roles.score_of),
    "prefer": judge(roles.prefer, "a b"),
    "revise": Role(roles.revise),
    "propose": Role(roles.propose, right=_proposes),
    "tool": Role(roles.tool, right=lambda family, base, task, reply: tool_call(reply) is not None),
    "critique": Role(judge_roles.critique, lambda task, reply: named_line(reply), about=judge_roles.critique_of),
    "reasons": Role(judge_roles.reasons, lambda task, reply: given_reason(reply), about=judge_roles.reasons_of),
    "rubric": Role(judge_roles.rubric, _rubric_says, about=judge_roles.rubric_of),
    "rewrite": Role(judge_roles.rewrite, right=_rewrites),
}


def _wordings(part: Any) -> ByModel | None:
    return ROLE_WORDINGS[part.role].values if part.role in ROLE_WORDINGS else None


@part(aliases=("in_closer_role",))
class in_role:
    """`role` with the problems of `family`. Judges face right and wrong attempts alike; a reply is right when it says
    the true verdict, a revision when it solves the problem, a proposal when it is a problem of the asked level, a tool
    user's first turn when it is a well-formed call. A critique is right when it names the first wrong line, or that there is
    none; a reason when its verdict is true and the line it is about is the first wrong one; a rubric when every criterion is
    answered rightly and the count is theirs; a rewrite when it is a problem of the asked level and, at the level of the
    problem, the same in other words or with one or two numbers, letters or signs changed.

    A model that does not know sprig's roles is asked in plain language where there is a wording for the role
    (`tasks/role_wordings.py`): `roles/ROLE/unreadable` counts its replies without a verdict, which are wrong.

    Args:
        role: the role.
        family: where problems come from.
        wording: how a problem is shown, with the fields of the role; empty for sprig's.

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

    role: str = knob(choices=tuple(ROLES))
    family: Any
    wording: str = by_own_role(_wordings)

    @property
    def name(self) -> str:
        return f"{self.role}/{self.family.name}"

    @property
    def level(self) -> int:
        return int(self.family.level)

    def __post_init__(self) -> None:
        if not isinstance(self.family, Family):
            name = getattr(self.family, "name", repr(self.family))
            raise UserError(
                f"{self.role}/{name}: roles are about generated families of one level, such as {self.role}/chain:3"
            )

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        base = self.family.get(split, index)
        draw = random.Random(derive(self.role, base.prompt))
        view, reply = ROLES[self.role].talk(self.family, base, draw)[0]
        if self.wording:
            view, reply = self._in_words(base, view, reply, self.family.get(split, index + 1).prompt)
        return Task(
            base.id, view, reply, self.name, base.level, {**base.meta, "problem": base.prompt, "truth": base.answer}
        )

    def check(self, task: Task, completion: str) -> float | None:
        base = Task(task.id, task.meta["problem"], task.meta["truth"], self.family.name, task.level, task.meta)
        role, reply = ROLES[self.role], self._as_sprig(completion)
        if self.wording and self.role == "propose" and (proposal(reply) or "") in task.prompt:
            return 0.0  # what was shown is not new
        if role.says is not None:
            return float(role.says(task, reply) == role.says(task, self._as_sprig(task.answer)))
        right = role.right(self.family, base, task, reply)
        return None if right is None else float(right)

    def _in_words(self, base: Task, view: str, reply: str, example: str) -> tuple[str, str]:
        """A question of sprig's and its reply, in plain language."""
        about = view.removeprefix(f"{self.role}\n{base.prompt}\n")
        first, _, second = about.removeprefix("a\n").partition("\nb\n")
        texts = {"question": base.prompt, "answer": about, "first": first, "second": second}
        if self.role == "critique":
            texts["answer"] = numbered(about)
        texts |= {"kind": self.family.name, "level": str(base.level), "example": example}
        work, said = read_solution(reply)
        wording = ROLE_WORDINGS[self.role]
        last = [wording.reply(said)] if wording.form and said is not None else []
        return self.wording.format(**texts), "\n".join([*work, *last]) if last else reply

    def _as_sprig(self, reply: str) -> str:
        """A reply as sprig would end it: the verdict alone where it was asked in plain language."""
        wording = ROLE_WORDINGS.get(self.role)
        if not self.wording or wording is None or not wording.form:
            return reply
        said = wording.read(reply)
        return "" if said is None else f"{ANSWER}{said}"

    def observe(self, batch: Batch, play: Play) -> None:
        wording = ROLE_WORDINGS.get(self.role)
        if self.wording and wording is not None and wording.form:
            replies = zip(batch.texts, batch.asks, strict=True)
            asked = [text for text, ask in replies if ask.task.family.startswith(f"{self.role}/")]
            wording.log_read(self.wording, (wording.read(text) is not None for text in asked), play)
