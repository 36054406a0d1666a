"""Rewards along the steps of a sample: bounded steps, what a step takes off what may still come, the weakest step's share,
shaping by a potential, and one number from many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.levels import moments
from guerdon.core.part import knob, part
from guerdon.core.step_reductions import REDUCTIONS as REDUCTIONS
from guerdon.rewards.formula.reward import Around
from guerdon.rewards.formula.scores import Scores, Where, numbers


class _PerStep(Around):
    """A reward whose inner one comes in steps. A sample without steps is taken as one step."""

    @property
    def name(self) -> str:
        return str(self.reward.name)

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        valued = torch.nonzero(inner.valued).flatten().tolist()
        steps = self.every_step({i: inner.steps.get(i, inner.value[i : i + 1]) for i in valued}, where)
        value = inner.value.clone()
        for i, values in steps.items():
            value[i] = values.sum()
        ends = {i: {"ends": d["ends"]} for i, d in inner.detail.items() if isinstance(d, dict) and "ends" in d}
        return numbers(value, inner.reason, {i: s for i, s in steps.items() if i in inner.steps}, ends)

    def every_step(self, steps: Mapping[int, Tensor], where: Where) -> Mapping[int, Tensor]:
        """The steps of every sample that has a value, by its number: each sample's by themselves, by default."""
        return {i: self.per_step(each) for i, each in steps.items()}

    def per_step(self, steps: Tensor) -> Tensor:
        raise NotImplementedError


@part
class shortfall(_PerStep):
    r"""Clip (Gao et al. 2024, arXiv:2410.15115): $r_t = \min(p_t - \eta, 0)$, what a step falls short of `eta`.

    A process reward that is always positive pays for every further step, so a policy learns to repeat true statements.
    Here a good step is paid nothing and a bad one costs: the sum over a sample is at most 0, however long it is. `eta` is a
    score that most right steps reach. *Biased* towards few steps where right ones stay below `eta`. Both of the paper's
    mechanisms together are `delta(shortfall(reward, eta))`.

    Args:
        reward: a reward of steps.
        eta: score that costs nothing.

    >>> import guerdon as gd
    >>> print(gd.shortfall(gd.process_model("prm", aggregate="steps"), 0.5))
    min(process_model - 0.5, 0)
    """

    reward: Any
    eta: float = 0.5

    def per_step(self, steps: Tensor) -> Tensor:
        return (steps - self.eta).clamp(max=0.0)

    def __str__(self) -> str:
        return f"min({self.reward} - {self.eta:g}, 0)"


@part
class delta(_PerStep):
    r"""Delta (Gao et al. 2024, arXiv:2410.15115): $r_t = p_t - p_{t+1}$ for $t < T - 1$, $r_{T-1} = p_{T-1}$ and $r_T = 0$.

    From any step on the rest of a sample adds up to that step's own score, $\sum_{u \ge t} r_u = p_t$: no step is paid for
    those that follow it, and a sample as a whole for its first step alone, whatever its length. The last step is the
    answer, which a reward of answers scores, so a sample of one step is paid nothing. *Assumes* returns
    without a discount, and that the score of a step judges that step.

    Args:
        reward: a reward of steps.

    >>> import guerdon as gd
    >>> steps = gd.reward(lambda completion: [0.5, 0.25, 1.0, 1.0], isolate=False)
    >>> gd.score_samples(gd.delta(steps), [{"completion": ""}]).whole
    [0.5]
    """

    reward: Any

    def per_step(self, steps: Tensor) -> Tensor:
        none = steps.new_zeros(1)
        judged = torch.cat([steps[:-1], none])  # the last step's own score is left out
        return judged - torch.cat([judged[1:], none])

    def __str__(self) -> str:
        return f"delta({self.reward})"


@part
class min_form(_PerStep):
    r"""Min-form credit (PURE, Cheng et al. 2025, arXiv:2504.15275): $r_t = \frac{e^{-p_t/T}}{\sum_u e^{-p_u/T}}\,p_t$.

    The weights sit on the weakest steps, so the sum over a sample is about its least score, whatever its length, and the
    return up to that step as well, while steps after it are paid about nothing. As $T \to 0$ it is the minimum itself.
    `temperature` is that of the released code (`turn_process_reward_logits_to_reward` in openrlhf/utils/utils.py), which
    puts scores between -1 and 1. *Biased* upwards from the minimum where $T$ is not small against the differences of
    scores.

    Args:
        reward: a reward of steps.
        temperature: of the softmax over steps.

    >>> import guerdon as gd
    >>> steps = gd.reward(lambda completion: [0.9, -0.8, 0.9], isolate=False)
    >>> [round(x, 4) for x in gd.score_samples(gd.min_form(steps), [{"completion": ""}]).whole]
    [-0.8]
    """

    reward: Any
    temperature: float = knob(default=0.1, gt=0.0)

    def per_step(self, steps: Tensor) -> Tensor:
        return torch.softmax(-steps / self.temperature, 0) * steps

    def __str__(self) -> str:
        return f"min_form({self.reward})"


@part
class potential(_PerStep):
    r"""Potential-based shaping (Ng, Harada & Russell 1999): $F_t = \gamma\Phi(s_t) - \Phi(s_{t-1})$, with $\Phi(s_t)$ the
    inner reward after step $t$, and 0 before the first step and where a sample ends. It changes no optimal policy:
    the sum discounted by $\gamma$ is 0 for every sample.

    Args:
        reward: the potential, a reward of steps.
        gamma: discount.

    >>> import guerdon as gd
    >>> print(gd.potential(gd.process_model("rm")))
    potential(process_model)
    """

    reward: Any
    gamma: float = knob(default=1.0, ge=0.0, le=1.0)

    def per_step(self, steps: Tensor) -> Tensor:
        after = torch.cat([steps[:-1], steps.new_zeros(1)])
        before = torch.cat([steps.new_zeros(1), steps[:-1]])
        return self.gamma * after - before

    def __str__(self) -> str:
        return f"potential({self.reward})"


@part(was="step_standing")
class step_zscores(_PerStep):
    r"""$(r_{ij} - \mu)/(\sigma + \epsilon)$ for step $j$ of sample $i$, with $\mu$ and $\sigma$ over all steps of all samples
    of the group: process supervision as DeepSeekMath has it (Shao et al. 2024, arXiv:2402.03300, section 4.1.3), whose
    advantage is then the sum of what stands from a step on (`credit.reward_to_go`).

    A sample without steps is taken as one step. A group without spread is 0 everywhere; samples without a value are in no mean.
    *Biased*: samples of many steps weigh more in the mean than those of few, and what is above it is paid once for every step,
    so a policy gains by repeating its good steps (`exams.farmed`); with `delta` and `shortfall` it does not.

    Args:
        reward: a reward of steps.

    >>> import guerdon as gd
    >>> lines = gd.reward(lambda completion: [float(x) for x in completion.split()], isolate=False)
    >>> standing = gd.step_zscores(lines, eps=0.0)
    >>> gd.score_samples(standing, [{"completion": "1 1"}, {"completion": "1 0"}]).whole  # 1/2 + 1/2, 1/2 - 3/2
    [1.0, -1.0]
    """

    reward: Any
    eps: float = knob(default=1e-4, ge=0.0)  # TRL's

    def every_step(self, steps: Mapping[int, Tensor], where: Where) -> Mapping[int, Tensor]:
        if not steps:
            return steps
        lengths = [len(each) for each in steps.values()]
        group = torch.repeat_interleave(where.group[list(steps)], torch.tensor(lengths))
        every = torch.cat(list(steps.values()))
        _, mean, spread = (x[group] for x in moments(every, group, int(where.group.max()) + 1))
        standing = torch.where(spread > 0, (every - mean) / (spread + self.eps), 0.0)
        return dict(zip(steps, torch.split(standing, lengths), strict=True))

    def __str__(self) -> str:
        return f"standing of {self.reward}"


@part
class overall(_PerStep):
    """One number from steps: the `min` (Let's Verify, arXiv:2305.20050, used the product; Math-Shepherd, arXiv:2312.08935,
    the min), `last`, `mean`, `sum` or `product`.

    Args:
        reward: a reward of steps.
        how: the reduction.

    >>> import guerdon as gd
    >>> steps = gd.reward(lambda completion: [0.5, 0.25, 1.0], isolate=False)
    >>> gd.score_samples(gd.overall(steps, "min"), [{"completion": ""}]).whole
    [0.25]
    """

    reward: Any
    how: Literal["min", "last", "mean", "sum", "product"] = "min"

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        value = inner.value.clone()
        for i, steps in inner.steps.items():
            value[i] = REDUCTIONS[self.how](steps) if bool(inner.valued[i]) else math.nan
        return numbers(value, inner.reason)

    def __str__(self) -> str:
        return f"{self.how} of {self.reward}"
