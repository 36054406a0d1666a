"""OREAL: right tries are imitated and wrong ones pushed down, each at the tokens that a head on a second model finds decisive.

Paper: Lyu et al. 2025, Exploring the Limit of Outcome Reward for Learning Mathematical Reasoning (arXiv:2502.06781), with the
released code (github.com/InternLM/OREAL, train_oreal.py and the configurations with a token reward model). Of each problem
with both, one right and one wrong try are kept. Rewards are 1 and -1, less the mean of the other tries' (RLOO, the code's
shaping). The model `token_rm`, a copy of the start with a head, is taught that the mean of what it says over the tokens is the
outcome; p_t is the sigmoid of its mean up to token t, and tokens weigh max(2p - 1, 0) in right tries, max(1 - 2p, 0) in wrong
ones. Right tries weigh 1, wrong ones 1/2, each over their own tokens, with a KL to the start of 0.01. In the first steps the
head alone learns. Imitation of tries just sampled, times an advantage, has the policy gradient's pull: one loss does both.
Followed where they differ: the code, whose imitation is times the advantage too (`pos_mult_adv`) and whose weights go by the
mean up to a token. Leaves out: hard problems drawn more often, top-p 0.9, decay of learning rates.
Three models are held, policy, `token_rm` and `reference`; with an adapter (`--set lm.lora=16`) they share what is below it.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed, only
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.oreal.parts import after_share, mean_outcome, one_of_each, weigh_tokens
from guerdon.recipes.process.process_claims import STEPS
from guerdon.recipes.process.second_models import begun, scorer_beside
from guerdon.rewards.model.reward_models import process_model


@recipe(
    "oreal",
    family="process",
    paper="arXiv:2502.06781",
    claim=Claim(
        says="Imitating right tries and pushing wrong ones down at decisive tokens solves more than GRPO of as many tries.",
        ablation="oreal weighed=false",
        **STEPS,
    ),
    on=grpo,
    needs=Needs(text=True),
    helps=("sparse",),
)
def oreal(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    weighed: bool = True,  # False: every token weighs the same, and nothing is waited for
    negative: float = 0.5,  # the released configuration
    kl: float = 0.01,  # the released configuration
    rm_lr: float = 3e-4,  # as the reward models here; the released configuration has four times the policy's
    warm: float = 0.11,  # the released configuration: in 10 of 90 steps the head alone learns
    lr: float = 2e-5,  # as grpo
) -> Recipe:
    """One right and one wrong try of each problem, imitated and pushed down at the tokens that decide."""
    (learner,), scores, keep = base.stages.learners, base.stages.scores, one_of_each("correct")
    for term in getattr(learner.loss, "terms", [learner.loss]):
        term.mean = "step"
    learner.opt.lr = after_share(lr, warm if weighed else 0.0)
    base.models = {**base.models, "token_rm": scorer_beside(model), "reference": begun("policy", model)}
    over_others = centre(paid(scores), std=False, others=True, gives_to="over_others")
    shaped = mixed(("over_others",), (2.0,), gives_to="shaped")  # of 1 and -1, where `correct` is 1 and 0
    credit = [over_others, shaped, only(keep, "shaped", "shaped"), weigh_tokens(negative=negative, weighed=weighed)]
    teach = Learn("token_rm", mean_outcome(), on=keep, opt=adam(lr=rm_lr))
    base.stages = [*scores, *credit, learner, teach]
    base.exams += step_exams(task, process_model("token_rm", aggregate="steps"))
    return base
