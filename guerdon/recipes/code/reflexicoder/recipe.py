"""ReflexiCoder: a policy that writes a program, reflects on it and corrects it, in one reply and without running anything.

Paper: Jiang et al. 2026, Teaching Large Language Models to Self-Reflect on Generated Code and Self-Correct It via Reinforcement
Learning (arXiv:2603.05863), with the released code (github.com/juyongjiang/ReflexiCoder): GRPO whose reward is 1 for a
reply that keeps the form, 0.5 times how good its programs are and how they become better, and 1 times in how few reflections;
tests run for the reward alone. A reply is programs with reflections between them and ends on `ok`
(`tasks/field/reflections.py`). The released parser asks for at least one reflection: in a reply that has none, `ok` is counted
as one that finds nothing and repeats the program; in any other it only ends the reply, so that one correction earns 3.75, as
released. (The released prompt asks for one more look after a correction; its parser pays for replies without that look.)
Tries that the limit cuts are not learned from, as released. `pay="final"` pays for the last
program alone, the paper's baseline. The reward as published pays more for an error that is corrected than for none; the exam
says what first programs are worth.
Leaves out: thinking before the first program, tests in several languages, and a start from nothing: the student knows the form.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy
from guerdon.losses.signs import finished
from guerdon.recipes.code.debugging_claims import REFLECTIONS
from guerdon.recipes.code.reflexicoder.parts import reflection_moves, self_corrected
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.tasks.field.reflection_tasks import reflecting


@recipe(
    "reflexicoder",
    family="code",
    paper="arXiv:2603.05863",
    claim=Claim(
        says="Paid for how programs become better by reflections, a policy's last programs are right more often than paid for"
        " the last program alone.",
        baseline="reflexicoder pay=final",
        ablation="reflexicoder efficiency=0",
        **REFLECTIONS,
    ),
    on=grpo,
)
def reflexicoder(
    base: Recipe,
    task: Any,
    *,
    kl: float = 0.01,  # the released configuration
    pay: Literal["all", "final"] = "all",
    quality: float = 0.5,  # the released weights
    efficiency: float = 1.0,
    partial: bool = False,  # the released code scores a program 0 or 1
) -> Recipe:
    """GRPO on replies of several programs, paid for their form, what they come to and how they become better."""
    asked = reflecting(task)
    base.curriculum.task, (truth, *_) = asked, base.stages.scores
    truth.task = asked
    if pay == "all":
        paid_by(base, self_corrected(asked, (1.0, quality, efficiency), partial=partial))
    (learner,) = base.stages.learners
    learner.on = finished()
    base.exams = [Exam(asked, [accuracy(), reflection_moves(asked)])]
    return base
