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

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.learn import Learn
from guerdon.core.levels import gather_up
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.baselines import whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed, only
from guerdon.credit.returns import decayed_sum
from guerdon.credit.track_steps import paid as paid_steps
from guerdon.credit.track_steps import track_steps, with_step_column
from guerdon.losses.reward_modelling import implicit_outcome
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid
from guerdon.recipes.house.step_exams import step_exams
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
    helps=("sparse", "few-labels"),
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


@part
class return_over_others(FieldColumns):
    r"""$G_t = \sum_{u \ge t} \gamma^{u-t}\,(r_u - b)$ with $b = \frac{1}{n-1}\sum_{j \ne i} \frac{1}{|y_j|}\sum_s r_{j,s}$:
    what is still to come of a track's step rewards, each less the mean step of the group's other tries.

    The process half of PRIME's advantage (Cui et al. 2025, arXiv:2502.01456, section 3.2). With `bounded` rewards are first
    divided by the largest $|\sum_{u \ge t} r_u|$ of the batch, as in its released code: rewards that a model implies grow while
    it is trained, and their returns then stay within 1.

    *Assumes* a reward at every step, and tries of one policy. *Biased:* the mean of a step times the steps that are left is no
    baseline of the state, so a longer answer is worth less where steps are worth something on average, and more where they
    cost; with `bounded` the batch's largest return is in every number.

    A try without rewards is in no mean and has no return; one that is alone in its group is compared with 0.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 0.0]], steps=2, process=[1.0, 3.0, 0.0, 2.0])
    >>> return_over_others("process", bounded=False)(batch, ExamplePlay())["process_return"].tolist()
    [2.0, 2.0, -2.0, 0.0]
    """

    reward: Needs = "process_steps"
    gamma: float = knob(default=1.0, ge=0.0, le=1.0)
    bounded: bool = True
    gives_to: Gives = "process_return"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, unrolled = batch.cols[self.reward], track_steps(batch)
        reward_M = paid_steps(batch, column, unrolled)
        if self.bounded and len(reward_M):
            largest = decayed_sum(reward_M, 1.0, unrolled.track).abs().nan_to_num(0.0).max()
            reward_M = reward_M / largest.clamp(min=1e-6)  # the released code adds as much
        mean_K = gather_up(reward_M, unrolled.track, batch.K, "mean")
        mean_K = mean_K.masked_fill(gather_up(reward_M.isnan().double(), unrolled.track, batch.K) > 0, float("nan"))
        group_K, size = batch.group("task")
        known_K = (~mean_K.isnan()).double()
        others_K = gather_up(known_K, group_K, size)[group_K] - known_K
        total_K = gather_up(mean_K.nan_to_num(0.0), group_K, size)[group_K] - mean_K.nan_to_num(0.0)
        gap_M = reward_M - unrolled.of(total_K / others_K.clamp(min=1))
        return_S = unrolled.back(decayed_sum(gap_M, play.at(self.gamma), unrolled.track))
        return with_step_column(batch, self.gives_to, return_S.to(column.value.dtype), column)
