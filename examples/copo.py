"""COPO: problems whose answers are all alike still teach, by how they compare with other problems.

Paper: COPO, Consistency-Aware Policy Optimization (arXiv:2508.04138): A = w A_local + (1 - w) A_global. A_local is GRPO's
advantage within a problem; A_global standardises the mean reward of a problem over the problems of the batch and gives it to
all of its tries; w = sigmoid(gamma (H - rho)), H the entropy of the answers to the problem: where they agree, w is small.
Left out: the paper's constants, which its abstract and released code do not have; gamma and rho are ours.
"""

from collections import Counter
from math import log

import torch

import guerdon as gd
from guerdon.recipes.house.grpo import grpo


@gd.stage(gives="answer_entropy", shelf="select")
def answer_entropy(correct, batch):
    """[K] entropy, in nats, of the last lines of the answers to a track's problem."""
    group, problems = batch.group("task")
    answers = [Counter() for _ in range(problems)]
    for problem, text in zip(group.tolist(), batch.texts, strict=True):
        answers[problem][text.strip().rpartition("\n")[2]] += 1
    entropy = [-sum(n / a.total() * log(n / a.total()) for n in a.values()) for a in answers]
    return torch.tensor(entropy)[group].masked_fill(correct.isnan(), float("nan"))


@gd.stage(gives="advantage")
def local_and_global(correct, answer_entropy, batch, *, gamma: float = 10.0, rho: float = 0.5):
    """[K] COPO's advantage."""
    problem = batch.group("task")[0]
    rate, spread = batch.per_group(correct), batch.per_group(correct, "std")
    local = (correct - rate[problem]) / spread[problem].clamp(min=1e-6)
    overall = (rate - rate.nanmean()) / rate[~rate.isnan()].std().nan_to_num().clamp(min=1e-6)
    weight = torch.sigmoid(gamma * (answer_entropy - rho))
    return weight * local + (1 - weight) * overall[problem]


@gd.recipe("copo-example", family="policy", paper="arXiv:2508.04138", on=grpo)
def copo(base: gd.Recipe, *, gamma: float = 10.0, rho: float = 0.5) -> gd.Recipe:
    """GRPO with an advantage across problems where the answers to one problem agree."""
    return base.but(replace={"centre": [answer_entropy(), local_and_global(gamma=gamma, rho=rho)]})
