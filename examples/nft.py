"""NFT, negative-aware fine-tuning: supervised learning that learns from wrong answers too.

Paper: Chen et al. 2025, Bridging Supervised Learning and Reinforcement Learning in Math Reasoning (arXiv:2505.18116).
With r_q the share of right answers to a problem and R the ratio of the new probability of a token to the old one, a right
answer is imitated, -log R, and a wrong one teaches the implicit negative policy, -log((1 - r_q R) / (1 - r_q)).
Follows the released code (github.com/NVlabs/NFT, dp_actor.py:321-356 and train_7B.sh): r_q within 0.02 and 0.98, problems
weighed by 1 - r_q (the paper's sqrt((1 - r_q) / r_q) is `weight="odds"`), sums over tokens divided by 1,000.
Left out: the ratio of whole sequences, which the code has as an option, and its bound of log-ratios at 10.
"""

from typing import Literal

import torch

import guerdon as gd
from guerdon.recipes.house.grpo import grpo


@gd.stage(gives="rate", shelf="select")
def group_rate(correct, batch, *, margin: float = 0.02):
    """[K] the share of right answers to a track's problem, kept off 0 and 1 by `margin`."""
    return batch.mean_by(correct).clamp(margin, 1 - margin)


@gd.losses.loss(mean="constant")
def negative_aware(
    logp, old, correct, rate, *, weight: Literal["one_minus_rate", "odds"] = "one_minus_rate", least: float = 1.0
):
    """[S] NFT's loss. `least` is the smallest likelihood ratio of the negative policy that is learned from as it is."""
    ratio = torch.exp(logp - old)
    negative = (1 - rate * ratio) / (1 - rate)
    bounded = negative + (negative.clamp(min=least) - negative).detach()  # keeps the gradient below the bound
    pull = 1 - rate if weight == "one_minus_rate" else ((1 - rate) / rate).sqrt()
    return -pull * torch.where(correct > 0.5, torch.log(ratio), torch.log(bounded))


@gd.recipe("nft-example", family="policy", paper="arXiv:2505.18116", on=grpo)
def nft(
    base: gd.Recipe, *, weight: Literal["one_minus_rate", "odds"] = "one_minus_rate", length: float = 1000.0
) -> gd.Recipe:
    """GRPO's answers, NFT's loss."""
    (learner,) = base.stages.learners
    learner.loss, learner.on = negative_aware(weight=weight, constant=length), gd.select.with_spread("correct")
    return base.but(replace={"centre": group_rate()})
