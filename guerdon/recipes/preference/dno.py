"""DNO: in rounds, the policy regresses how often its answers are preferred to its own others, from where the round began.

Paper: Rosset et al. 2024, direct Nash optimization (arXiv:2404.03715), read in its abstract and a summary of its sections 3 and
4. r_t(y) is the mean of P(y > y') over answers y' of pi_t, the policy at the start of round t, which also makes the tries; of
two tries sigma(r_t(y1) - r_t(y2)) is the label of sigma(eta [h(y1) - h(y2)]), h the log-ratio to pi_t, and eta the recipe's
`beta`. Its minimiser is pi_t exp(r_t / eta) / Z, a step of self-play that needs no reward model. `form="pairs"` is what the
paper runs: the best try against the worst where they differ by `least`, with a label of 1, which is DPO in rounds. P is a
function of two (`--reward my.py:better`, `better = gd.preferred(function)`), a judge (`gd.pairwise`), or the order that any
other reward gives. Leaves out: a teacher's answers among the pairs, data of earlier rounds, and rounds of one fixed batch:
each step draws new tries of pi_t.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.preference.shared import compared, in_rounds
from guerdon.rewards.stage.score_stages import score
from guerdon.select.pairs import paired


@recipe(
    "dno",
    family="preference",
    paper="arXiv:2404.03715",
    on=online_dpo,
    needs=Needs(answers="reward"),
    helps=("noisy-judge",),
)
def dno(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    form: Literal["regression", "pairs"] = "regression",  # the paper's objective, or what it runs
    round_steps: int = 25,  # steps of a round, after which the policy is the next pi_t; ours
) -> Recipe:
    """Online DPO in rounds, on how often a try is preferred to the group's others."""
    truth, *_, pairs, learner = base.stages
    every = form == "regression"
    made_of = paired(which="all" if every else "extremes", least=pairs.least, soft=float(every))
    base.stages = [truth, score(compared(task, reward)), made_of, learner]
    return in_rounds(base, round_steps)
