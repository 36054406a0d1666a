"""PRIME: a reward for every token that a second model implies, which learns on the step's outcomes while the policy does.

Paper: Cui et al. 2025, Process Reinforcement through Implicit Rewards (arXiv:2502.01456), with the released code (verl,
recipe/prime: prime_core_algos.py, prime_dp_rm.py, prime_trainer.yaml). Of each step: tries are checked; problems solved at a
rate within `least_solved` and `most_solved` are kept; the model `prm`, a copy of the start, is taught their outcomes y by
cross-entropy under sigma(sum of r_t), r_t = beta log(prm / reference); then, with `prm` as it is by now, the advantage of a
token is the return of r_t less the other tries' mean token, plus the outcome less the other tries' mean, whitened over the
tokens that are kept; and the policy follows the clipped gradient, every token weighing the same.
Followed where they differ: the paper's leave-one-out mean (the released code leaves the own tokens in it and compensates by
n / (n - 1) in the reward alone), the code's bound of process returns by the largest of the batch and its whitening.
Leaves out: four times as many problems asked as are learned from (all that are asked count here, and those within the band are
learned from), the entropy bonus of 0.001, and that the released code gives an answer's last token no reward of its own.
Three models are held: policy, `prm` and `reference`. With an adapter (`--set lm.lora=16`) they share the weights below it.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.baselines import whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed, only
from guerdon.losses.reward_modelling import implicit_outcome
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.prime.parts import return_over_others
from guerdon.recipes.process.process_claims import STEPS
from guerdon.recipes.process.second_models import begun, beside
from guerdon.rewards.model.reward_models import implicit
from guerdon.rewards.stage.score_stages import score
from guerdon.select.filters import with_rate


@recipe(
    "prime",
    family="process",
    paper="arXiv:2502.01456",
    claim=Claim(
        says="Token rewards implied by a model that learns online from outcomes solve more than the outcomes alone.",
        baseline="rloo",
        ablation="prime process=0",
        **STEPS,
    ),
    on=grpo,
)
def prime(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    process: float = 1.0,  # what token rewards weigh against the outcome; the released code has 5 to 5. 0: outcomes alone
    beta: float = 0.05,  # the paper's
    prm_lr: float = 3e-4,  # as implicit-prm, found on sprig; the paper has 1e-6, twice the policy's
    least_solved: float = 0.2,  # the paper: problems solved less often teach nothing in this step
    most_solved: float = 0.8,  # the paper: nor those solved more often
) -> Recipe:
    """RLOO on outcomes and on token rewards that a second model, taught the same outcomes, implies."""
    (learner,), scores = base.stages.learners, base.stages.scores
    band = with_rate("correct", least_solved, most_solved)
    base.models = {**base.models, "prm": beside(model), "reference": begun("prm", model)}
    for term in getattr(learner.loss, "terms", [learner.loss]):
        term.mean = "step"
    teach = Learn("prm", implicit_outcome(beta=beta), on=band, opt=adam(lr=prm_lr))
    token_rewards = [teach, score(implicit("prm", beta=beta, per="token"), "process"), return_over_others()]
    outcome = centre(paid(scores), std=False, others=True, gives_to="outcome")
    advantage = [mixed(("outcome", "process_return"), (1.0, process)), only(band), whiten()]
    base.stages = [*scores, *token_rewards, outcome, *advantage, learner]
    judge, pay = (implicit("prm", beta=beta, per="line", so_far=so_far) for so_far in (True, False))
    base.exams += step_exams(task, judge, pay)
    return base
