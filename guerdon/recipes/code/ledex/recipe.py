"""LeDex: a policy that learns to debug its own programs, to say what is wrong and put it right, by imitation and then by RL.

Paper: Jiang et al. 2024, Training LLMs to Better Self-Debug and Explain Code (arXiv:2405.18649; no code was found). Programs of
the policy that fail are shown to it with a failing call. First it imitates its own replies whose program passes all tests; then
it learns from all of them, right and wrong, by RL with two rewards, each on its own tokens: of the program the share of tests
passed and its CodeBLEU to right ones, 5 (C + U) - 5; of the explanation how much it is like those that led to right programs.
The exam writes a program and debugs it for up to two rounds. `explain=false reinforce=0` is SFT on refinements alone.
Scales are the paper's as we recall them, unchecked. Ours: F1 over words for embeddings of RoBERTa, less the likeness to
explanations that failed; CodeBLEU without data flow, to the nearest right program; a mean over tries where PPO has a critic.
Leaves out: explanations by a larger model, and the data sets of wrong programs that it was asked about.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy
from guerdon.losses.imitation import sft
from guerdon.recipes.code.debugging_claims import DEBUGGING
from guerdon.recipes.code.ledex.parts import (
    by_spans,
    debug_rounds,
    explanation,
    in_phase,
    own_failures,
    refinement,
    right_by_round,
)
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import learn
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.select.filters import at_least, in_turn
from guerdon.tasks.field.reflection_tasks import debugged


@recipe(
    "ledex",
    family="code",
    paper="arXiv:2405.18649",
    claim=Claim(
        says="Taught to explain and to refine, by imitation and RL, a policy debugs more of its programs than one that imitates"
        " refinements alone.",
        baseline="ledex explain=false reinforce=0",
        ablation="ledex split=false",
        **DEBUGGING,
    ),
    on=grpo,
    needs=Needs(solutions=True, tests=True, sandbox=True),
    helps=("sparse",),
)
def ledex(
    base: Recipe,
    task: Any,
    *,
    explain: bool = True,
    reinforce: float = 0.5,  # the share of the steps that is RL, after imitation; ours
    split: bool = True,  # False: RL pays all tokens for the program alone
    rounds: int = 2,  # of debugging in the exam
    lr: float = 2e-5,
    tries: int = 8,
) -> Recipe:
    """Imitate own replies that put a wrong program right, then reinforce explanations and programs apart."""
    source, (learner,), seats = debugged(task), base.stages.learners, {"draft": "policy", "policy": "policy"}
    base.curriculum = own_failures(source, tries, explain)
    rounds_of = debug_rounds(source, rounds, explain)
    base.exams = [Exam(task, [accuracy(), right_by_round(rounds)], env=rounds_of, seats=seats)]
    imitate = learn(sft(), lr, on=in_turn([in_phase(0.0, 1 - reinforce), at_least("correct")]))
    if not reinforce:
        base.stages = [verified(source), imitate]
        return base
    learner.on = in_phase(1 - reinforce, 1.0)
    credit: list[Any] = [score(refinement(source), "refinement"), centre("refinement", "ask")]
    if split:
        credit[-1].gives_to = "refinement_advantage"
        credit += [
            explanation(),
            centre("explanation", "ask", gives_to="explanation_advantage"),
            line_ends(),
            by_spans(),
        ]
    base.stages = [verified(source), *credit, imitate, learner]
    return base
