"""SPO: a policy against itself, by preferences that no single score can express.

Paper: Swamy et al. 2024, A Minimaximalist Approach to Reinforcement Learning from Human Feedback (arXiv:2401.04056): the
reward of an answer is the share of the other answers to its prompt that it is preferred to, and any RL maximises it.
The minimax winner is the average of the policies of all steps, not the last of them, which may cycle.
Left out: the queue of earlier trajectories that the paper compares with in control tasks.
"""

from collections.abc import Callable

import torch

import guerdon as gd
from guerdon.recipes.house.grpo import grpo

BEATS = {"0": "1", "1": "00", "00": "0"}  # rock, paper, scissors


def by_rules(one: str, other: str) -> float:
    """The probability that `one` is preferred: an answer beats the one that follows it in a circle."""
    return 1.0 if BEATS.get(one) == other else 0.0 if BEATS.get(other) == one else 0.5


@gd.part
class preferred(gd.rewards.Leaf):
    """How often a sample is preferred to another of its group: mean over j != i of P(y_i > y_j)."""

    prefers: Callable[[str, str], float]

    alone = False  # it compares samples, so it cannot be asked about one

    async def score(self, samples: gd.rewards.Samples) -> list[gd.rewards.Outcome]:
        texts, group = [fields["completion"] for fields in samples.fields], samples.group
        found = []
        for i, text in enumerate(texts):
            others = [j for j in torch.nonzero(group == group[i]).flatten().tolist() if j != i]
            rates = [self.prefers(text, texts[j]) for j in others]
            found.append(
                gd.rewards.Outcome(gd.Reason.VALUE, sum(rates) / len(rates))
                if rates
                else gd.rewards.Outcome(gd.Reason.NOT_APPLICABLE)
            )
        return found


@gd.recipe("spo-example", family="preference", paper="arXiv:2401.04056", on=grpo)
def spo(base: gd.Recipe, *, prefers: Callable[[str, str], float] = by_rules) -> gd.Recipe:
    """GRPO on the rate at which an answer is preferred to the others at its prompt."""
    (credit,) = base.stages.credit
    credit.reward = "reward"
    return base.but(after={"verified": gd.rewards.score(preferred(prefers))})
