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

from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.credit.group_relative import centre
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy
from guerdon.losses.imitation import sft
from guerdon.recipes.code.debugging_claims import DEBUGGING
from guerdon.recipes.code.ledex.parts import (
    by_spans,
    debug_rounds,
    explanation,
    own_failures,
    refinement,
    right_by_round,
)
from guerdon.recipes.code.stages_in_turn import two_stages
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import learn
from guerdon.rewards.stage.line_marks import line_ends
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.select.filters import at_least
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
)
def ledex(
    base: Recipe,
    task: Any,
    *,
    explain: bool = True,
    reinforce: float = 0.5,  # the share of the budget, or of the steps, that is RL; ours
    split: bool = True,  # False: RL pays all tokens for the program alone
    rounds: int = 2,  # of debugging in the exam
    lr: float = 2e-5,
    tries: int = 8,
) -> Study:
    """Imitate own replies that put a wrong program right, then reinforce explanations and programs apart."""
    source, (learner,) = debugged(task), base.stages.learners
    base.curriculum = own_failures(source, tries, explain)
    env = debug_rounds(source, rounds, explain)
    seats = {"draft": "policy", "policy": "policy"}
    base.exams = [Exam(task, [accuracy(), right_by_round(rounds)], env=env, seats=seats)]
    imitated = base.but(stages=[verified(source), learn(sft(), lr, on=at_least("correct"))])
    refined = [verified(source), score(refinement(source), "refinement")]
    if split:
        refined += [explanation(), centre("explanation", "ask", gives_to="explanation_advantage")]
        refined += [centre("refinement", "ask", gives_to="refinement_advantage"), line_ends(), by_spans()]
    else:
        refined += [centre("refinement", "ask")]
    reinforced = base.but(stages=[*refined, learner])
    return two_stages(imitated, reinforced, reinforce)
