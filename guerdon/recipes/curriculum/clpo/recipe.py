"""CLPO: what the tries just made show to be hard is simplified, what is of middling difficulty told otherwise, and tried too.

Paper: Zhang et al. 2025, Curriculum Learning meets Policy Optimization (arXiv:2509.25004, first version). The rate of success
over a problem's tries is its difficulty: up to `hard` it is simplified, from there up to `medium` varied; what is verified
stays the same, and the rewritten problems are tried in the same step and learned from with the others. A KL to the start model
holds each try in proportion to its problem's rate, less on harder ones. Every try counts in the budget.
Leaves out: the model as its own teacher. Rules rewrite (`rewriting.py`: countdown, trace, chain), for sprig cannot read
an instruction to; `restructured` takes any `rewrite(asks, how, play)`, so also one that asks a model. The second version's
reward for good rewritings goes with that. The released code (github.com/csuking/CLPO) has thresholds of 0.3 and 0.7, halves
the KL on hard problems and what came of them, and drops groups without spread; thresholds and the form of the KL are ours.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.curriculum.clpo.parts import eased_kl, restructured
from guerdon.recipes.curriculum.clpo.rewriting import by_rule
from guerdon.recipes.house.grpo import grpo


@recipe(
    "clpo",
    family="curriculum",
    paper="arXiv:2509.25004",
    claim=Claim(
        says="Simplifying what is too hard and varying what is not yet easy solves more than the problems as they are.",
        ablation="clpo hard=-1 medium=-1",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(families="chain countdown trace"),
    helps=("uneven-difficulty",),
)
def clpo(
    base: Recipe,
    task: Any,
    *,
    hard: float = 0.25,  # ours
    medium: float = 0.75,  # ours
    eased: float = 0.01,  # the KL's weight where everything is solved; ours
) -> Recipe:
    """GRPO on problems and on rewritings of them that fit the policy, held by a KL that gives way on hard ones."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    credit.by = "ask"
    if eased:
        learner.loss += eased_kl(eased)
        base.models["reference"] = snapshot("policy")
    return base.but(before={"centre": restructured(by_rule(task), base.stages.scores, hard, medium)})
