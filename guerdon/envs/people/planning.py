"""A planner and who carries the plan out: two roles, two seats, one goal."""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask, Task
from guerdon.envs.people.retries import OverSource, filled
from guerdon.envs.people.subgoals import subgoals
from guerdon.tasks.stepwise import by_steps, has_steps


@part
class planned(OverSource):
    """A planner and who carries it out: the planner is shown the problem and writes a plan; the executor is shown the plan,
    with the problem or alone, and answers. The goal, that the answer is right, is both roles'.

    `shows="plan"` hides the problem from the executor: a plan must then say all that matters. `ask` is what the planner is
    shown, with `{prompt}` in it, and `carry` what the executor is, with `{plan}` in it. The executor's seat is `policy`
    unless it has another name, so that recipes' rewards and exams look at it. One model may play both (as in `guerdon
    train`) or each have its own; a reward of both roles, `verified(task, role=("planner", "policy"))`, trains both. `info`
    has the number of lines of the `plan`. `source` is a task source, or the name of one.

    Args:
        source: where problems come from.
        shows: what the executor is shown: "both" or the "plan".
        ask: template for the planner, with `{prompt}`.
        carry: template for the executor, with `{plan}`.
        planner: the planner's role.
        executor: the executor's role.

    >>> import guerdon as gd
    >>> gd.envs.planned("chain:2").roles
    ('planner', 'policy')
    """

    source: Any
    shows: Literal["both", "plan"] = "both"
    ask: str = "plan\n{prompt}"
    carry: str = "{plan}"
    planner: str = "planner"
    executor: str = "policy"

    def __post_init__(self) -> None:
        for name, field in (("ask", "{prompt}"), ("carry", "{plan}")):
            if field not in getattr(self, name):
                raise UserError(f"planned.{name} shows no {field}: write it where that stands")
        if self.planner == self.executor:
            raise UserError(
                "planner and executor need two names: seat one model in both, seats={'planner': 'policy', ...}"
            )

    @property
    def name(self) -> str:
        return f"planned/{self.inner.name}"

    @property
    def home(self) -> planned:
        return self

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.planner, self.executor)

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        """What is to be done as the plan (`subgoals.py`), and with its results as what is done."""
        prompt, gold = self._prompt(ask), self.gold(ask.task)
        plan = self._plan(ask.task, prompt)
        seats[self.planner].teacher_force(filled(self.ask, prompt=prompt), plan)
        seats[self.executor].teacher_force(self._carried(prompt, plan), gold)
        return seats.episode(goal=float(self.is_right(ask.task, gold)), plan=_lines(plan))

    def _plan(self, task: Task, prompt: str) -> str:
        """The steps without their results, below the problem where the executor is not shown it. A source without steps
        has no plan but the answer."""
        if not has_steps(self.inner):
            return task.answer
        goals = subgoals(task, by_steps(self.inner).steps(task))
        return "\n".join([prompt, *goals] if self.shows == "plan" else goals)

    def _prompt(self, ask: Ask) -> str:
        return str(ask.task.prompt if ask.prompt is None else ask.prompt)

    def _carried(self, prompt: str, plan: str) -> str:
        shown = filled(self.carry, plan=plan, prompt=prompt)
        return f"{prompt}\n{shown}" if self.shows == "both" else shown

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        prompt = self._prompt(ask)
        plan = await seats[self.planner].act(filled(self.ask, prompt=prompt))
        view = self._carried(prompt, plan.text)
        room = seats[self.executor].room(None, view)
        if room is not None and room < 1:
            return seats.episode(goal=0.0, plan=_lines(plan.text), cut="context")
        done = await seats[self.executor].act(view)
        goal = float(self.is_right(ask.task, done.text))
        cut = {"cut": "tokens"} if End.CUT in (plan.end, done.end) else {}
        return seats.episode(goal=goal, plan=_lines(plan.text), **cut)


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())
