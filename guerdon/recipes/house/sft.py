"""SFT: imitate worked solutions.

Shown a problem, the policy is told the task's worked solution (its answer, where the task has none), and learns it as text:
cross-entropy, every token the same. Nothing is sampled but for the held-out problems, which the policy answers itself.
Leaves out: packing of several examples in one context, and learning the prompt.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.part import part
from guerdon.core.play import Play, Seats, seats_alone
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask, Sampling
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.losses.imitation import sft as imitation

SOLUTION = "solution"  # the note of an ask that brings one


@part
class worked(uniform):
    """The tasks in turn, each with its solution: `source.solution(task)`, or the task's answer."""

    def draw(self, n: int, play: Play) -> list[Ask]:
        solve = getattr(self.task, "solution", lambda task: task.answer)
        return [ask.but(n=1, note={SOLUTION: solve(ask.task)}) for ask in super().draw(n, play)]


@part
class told(single_turn):
    """The role recites the solution that an ask brings."""

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        seats[self.role].teacher_force(ask.shown, ask.note[SOLUTION])
        return seats.episode()


@recipe("sft", family="house", needs=Needs(answers=True, learns_from="worked answers"), helps=("sparse",))
def sft(
    task: Any, model: Model, *, prompts: int = 128, lr: float = 2e-5, max_tokens: int = 256, steps: int = 100
) -> Recipe:
    """Supervised fine-tuning on the task's worked solutions. `max_tokens` is for the exam alone."""
    return Recipe(
        models={"policy": model},
        curriculum=worked(task, tries=1),
        env=told(),
        stages=[Learn("policy", imitation(), opt=adam(lr=lr))],
        sampling=Sampling(max_tokens=max_tokens),
        exams=[Exam(task, env=single_turn())],
        prompts=prompts,
        steps=steps,
    )
