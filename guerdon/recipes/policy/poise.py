"""POISE: what the policy's own states say of a try's reward is the baseline of another try at the same problem.

Paper: Choi et al. 2026, Your language model is its own critic (arXiv:2605.07579), read in its abstract and a summary. A probe
predicts the reward of a try from the policy's hidden states and the entropy of its tokens, and learns online beside it. It is a
linear regression here, on what is seen so far, older steps counting less; a step's tries are predicted before they are learned.
No gradient of it reaches the policy. The baseline of a try is the prediction from other tries at the problem
(`credit.cross_baseline`), so that the gradient stays unbiased though the probe sees whole tries, and two tries are enough: take
`--set prompts=64 --set tries=2`. The loss is Dr. GRPO's, the unbiased one. Leaves out: states of the prompt alone, of which
those of a try know; states of other layers than the last.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives
from guerdon.core.field_columns import Needs as Column
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.baselines import cross_baseline
from guerdon.recipes.house.dr_grpo import dr_grpo


@recipe("poise", family="policy", paper="arXiv:2605.07579", on=dr_grpo, needs=Needs(answers="reward", text=True))
def poise(
    base: Recipe,
    *,
    ridge: float = 0.01,  # of the regression, as a share of what features vary by; ours
    keep: float = 0.9,  # what earlier tries count, a step later; ours
    own: bool = False,  # the ablation: a try's own prediction is its baseline, which is biased
) -> Recipe:
    """Dr. GRPO's tries, against what the policy's states say of the others' rewards."""
    (credit,) = base.stages.credit
    probe = predicted_reward(ridge=ridge, keep=keep, reward=credit.reward)
    return base.but(replace={"centre": [probe, cross_baseline(credit.reward, own=own)]})


@part
class predicted_reward(FieldColumns):
    r"""Column `gives_to`: the reward of each try, by ridge regression on the model's states and entropies in tries of earlier
    steps; 0 before there are any.

    Features of a try are the mean and the last of its hidden states, each over its own length, the mean and the deviation of
    the entropy of its tokens, and 1. Logs `predicted_error`, the mean squared error in this step, and `predicted_gain`, what
    that is below the error of the mean of this step's rewards, as a share of it: 1 where all are predicted, 0 where it is no
    better than that mean.
    """

    model: Annotated[str, ColumnField("needs", ("hidden", "entropy"))] = "policy"
    ridge: float = knob(default=0.01, gt=0.0)
    keep: float = knob(default=0.9, ge=0.0, le=1.0)
    reward: Column = "reward"
    gives_to: Gives = "predicted"

    seen: Tensor | None = state()  # [F, F + 1] sums of the products of features, and of those with the reward

    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        features, column = self._features(batch), batch.track_column(self.reward, "poise")
        if self.seen is None:
            self.seen = features.new_zeros(features.shape[1], features.shape[1] + 1)
        seen, told = self.seen[:, :-1], self.seen[:, -1]
        scale = self.ridge * float(seen.diagonal().mean()) or 1.0  # nothing is known yet
        predicted = features @ torch.linalg.solve(seen + scale * torch.eye(len(seen)).to(seen), told)
        known = ~column.missing
        x, y = features[known], column.value[known].double()
        self.seen = self.keep * self.seen + x.T @ torch.cat([x, y[:, None]], 1)
        if len(y):
            error, spread = (y - predicted[known]).square().mean(), y.var(correction=0)
            play.log(predicted_error=float(error), predicted_gain=float(1 - error / spread) if spread > 0 else 0.0)
        return batch.put(self.gives_to, "track", predicted.to(column.value.dtype))

    def _features(self, batch: Batch) -> Tensor:
        """[K, F] in float64; a try that acted nothing has 0."""
        hidden, entropy = (batch[name].double() for name in self.needs[:2])
        step, track = batch.track_steps
        acted = (batch.weight > 0)[step]
        step, track = step[acted], track[acted]
        count = torch.bincount(track, minlength=batch.K)

        def mean(x_M: Tensor) -> Tensor:
            return x_M.new_zeros(batch.K, x_M.shape[1]).index_add_(0, track, x_M) / count.clamp(min=1)[:, None]

        last = hidden.new_zeros(batch.K, hidden.shape[1])
        last[count > 0] = hidden[step[(count.cumsum(0) - 1)[count > 0]]]
        states = [x / x.norm(dim=1, keepdim=True).clamp(min=1e-9) for x in (mean(hidden[step]), last)]
        bits = entropy[step][:, None]
        middle = mean(bits)
        spread = mean((bits - middle[track]).square()).sqrt()
        return torch.cat([*states, middle, spread, torch.ones_like(middle)], 1)
