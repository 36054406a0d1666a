"""COPO: a problem's rate of success, compared with that of the other problems, is an advantage too, where tries are alike.

Paper: Han et al. 2025, consistency-aware policy optimization (arXiv:2508.04138); code: hijih/copo-code, core_algos.py
(`compute_grpo_outcome_advantage_with_global`, `compute_policy_loss_with_global`) and run_copo.sh. A group whose tries are all
right or all wrong has no advantage of its own. Here each try also has that of its problem: the mean reward, standardised over
the problems of the step. The two losses are mixed by w = sigmoid(gate (H - rho)), with H the entropy in bits of the group's
answers: the more they agree, the more counts the problem. `local` says where w counts at all; a wrong try learns from its
problem alone in the released configuration. Leaves out: the bound of 3 on the loss of a bad step (dual clip), which the code
has, and answers compared as formulas.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Column
from guerdon.core.levels import gather_up, moments
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.imitation import weighed
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import loss_and_penalties
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.agreement import answer_entropy

Local = Literal["right tries", "every try", "groups that differ"]
Answer = Literal["number", "text"]


@recipe(
    "copo",
    family="policy",
    paper="arXiv:2508.04138",
    on=grpo,
    needs=Needs(answers="reward", text=True),
    helps=("sparse",),
)
def copo(
    base: Recipe,
    *,
    gate: float = 5.0,  # how sharply the entropy decides (k); run_copo.sh
    rho: float = 1.0,  # bits of entropy at which both count the same (b); run_copo.sh
    local: Local = "right tries",  # whose own advantage counts; run_copo.sh. The others learn from their problem's alone
    agreeing: bool = False,  # a problem's mean reward is less where its answers differ (reward_coef_flg); run_copo.sh: no
    answer: Answer = "number",  # what of a try is its answer: the last number, or the text; after a mark
) -> Recipe:
    """GRPO, and beside it an advantage of whole problems, the more the tries at one agree."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    first, others = loss_and_penalties(learner)
    of_problems = dataclasses.replace(first, advantage="problem_advantage")
    learner.loss = sum(others, start=weighed(first, by="local_weight") + weighed(of_problems, by="problem_weight"))
    said = score(answer_entropy(answer), "answer_entropy")
    return base.but(before={"centre": said}, after={"centre": by_problem(gate, rho, local, agreeing, credit.reward)})


@part
class by_problem(FieldColumns):
    r"""`problem_advantage`: the mean reward of a try's problem, standardised over the problems of the step; and the weights
    of both advantages.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 1.0], [0.0, 0.0]]).put("answer_entropy", "track", torch.zeros(4))
    >>> [round(a, 3) for a in by_problem()(batch, ExamplePlay())["problem_advantage"].tolist()]
    [0.707, 0.707, -0.707, -0.707]
    """

    gate: float = knob(default=5.0, ge=0.0)
    rho: float = 1.0
    local: Local = "right tries"
    agreeing: bool = False
    reward: Column = "reward"
    entropy: Column = "answer_entropy"

    gives = ("problem_advantage", "local_weight", "problem_weight")
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        columns = [batch.track_column(name, "copo") for name in (self.reward, self.entropy)]
        reward, bits = (column.value.double() for column in columns)
        group, size = batch.group("task")
        tries, rate, spread = moments(reward, group, size)
        if self.agreeing:
            most = tries.clamp(min=2).log2()  # the entropy where all differ
            rate = rate * (1 - (1 - 1 / tries) / most * gather_up(bits, group, size, "mean"))
        _, mean, deviation = moments(rate, torch.zeros_like(group[:1]).expand(size), 1)
        advantage = ((rate - mean) / (deviation.nan_to_num() + 1e-6))[group]
        counts = {"right tries": reward > 0, "every try": reward == reward, "groups that differ": spread[group] > 0}
        weight = torch.sigmoid(self.gate * (bits - self.rho)) * counts[self.local]
        play.log(answer_entropy=float(bits.nanmean()), problem_weight=float(1 - weight.nanmean()))
        play.log(**{f"{self.gives[0]}/flat_groups": float(not bool(deviation > 0))})  # no problem differs
        known = torch.where(reward.isnan(), torch.nan, 1.0)
        for name, value in zip(self.gives, (advantage, weight, 1 - weight), strict=True):
            batch = batch.put(name, "track", (known * value).float(), columns)
        return batch
