"""SAR: the reward, and how much less likely an answer is to a policy that was not shown its question.

Paper: Han et al. 2025, self-aligned reward (arXiv:2509.05489); code: amazon-science/Self-Aligned-Reward, verl/trainer/ppo/
ray_trainer.py, lines 116-167 and 1104, and verl/utils/reward_score/efficiency_reward.py, lines 50-70. Beside the reward a try
earns alpha (ppl(a) - ppl(a|q)) / ppl(a), at least -1: ppl(a|q) is the perplexity of its tokens as they were sampled, ppl(a)
that under the same policy with the question taken out of the prompt; a system message and the chat template stay. What says
nothing about its question is as likely without it and earns nothing, so padding lowers the mean.
Leaves out: the code's perplexities in logarithms and its bound of them, which are off in its scripts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, outcome_of_each, sample_tokens
from guerdon.select.other_views import read_under


@recipe(
    "sar",
    family="self_reward",
    paper="arXiv:2509.05489",
    on=grpo,
    needs=Needs(text=True),
    helps=("long-answers",),
)
def sar(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    alignment: float = 0.2,  # weight of the self-aligned reward (alpha); the released scripts
) -> Recipe:
    """GRPO with a reward for answers that depend on their question."""
    return paid_by(base, blend(right=worth(task, reward), aligned=self_aligned().weight(alignment)))


@part
class self_aligned(ModelLeaf):
    r"""$\max\big(-1,\ 1 - \frac{ppl(a \mid q)}{ppl(a)}\big)$ with $ppl = \exp(-\frac1T\sum_t\log p_t)$: how much of an answer's
    perplexity its question takes away, by the model's own numbers. It says nothing about truth (arXiv:2509.05489).

    >>> print(self_aligned().weight(0.2))
    0.2 * self_aligned
    """

    model: str = "policy"

    async def score(self, samples: Samples) -> list[Outcome]:
        play = self.play_of(samples)
        tokens = sample_tokens(samples, play, self.model)
        asked = tokens.read(self.model, ["logp"])["logp"].double()
        alone = read_under(tokens.batch, "", model_of(play, self.model))

        def gain(_: int, steps: Tensor) -> Outcome:
            saved = torch.expm1(alone[steps].mean() - asked[steps].mean())  # ppl(a|q) / ppl(a) - 1
            return outcome_of(-float(saved.clamp(max=1.0)))

        return outcome_of_each(tokens, self.model, gain)
