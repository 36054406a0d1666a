"""What holds a policy back: divergence from another model and an entropy bonus, as terms of a loss or as a cost in the reward.

The stage `kl_cost` puts the divergence into the reward before credit is assigned, as PPO and RLOO do in RLHF.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives, LogpOf, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.losses.reduce import Mean, Members, average, own, per_track, reduce
from guerdon.losses.terms import Estimate, Term, estimate, k3


@part
class kl(Term):
    r"""$w\,\mathrm{KL}(\pi\|\pi_{to})$, estimated from the steps that were sampled
    (http://joschu.net/blog/kl-approx.html).

    With $\delta=\log\pi_{to}-\log\pi$: `k1` is $-\delta$, unbiased and of high variance; `k2` is $\delta^2/2$,
    biased, its gradient that of the reverse KL; `k3` is $e^\delta-1-\delta$, unbiased and never negative (GRPO's,
    Shao et al. 2024, arXiv:2402.03300).

    An unbiased value is not an unbiased gradient. Differentiated on samples of $\pi$ itself, `k1` has a gradient of
    mean zero (it holds nothing back: use it in the reward, `kl_cost`), `k2` has the gradient of
    $\mathrm{KL}(\pi\|\pi_{to})$, and `k3` that of $\mathrm{KL}(\pi_{to}\|\pi)$, the same to first order near
    $\pi_{to}$. `corrected=True` multiplies by the step's ratio $\pi/\pi_{sampled}$, through which the gradient goes
    too: then `k1` and `k3` have the gradient of $\mathrm{KL}(\pi\|\pi_{to})$ at every visited step, also after the
    first update (DeepSeek-V3.2's, TRL's `use_bias_correction_kl`). Without it, as in GRPO's paper, all assume that
    the steps were sampled from $\pi$.

    The reference is a model of the recipe; one that follows the policy is `snapshot("policy", every=100)`.

    Args:
        to: name of the reference model.
        kind: estimator.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.
        corrected: multiply each step by its importance ratio, with its gradient.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch, live = example_tries([[1.0]], reference__logp=[-1.0]), {"logp": torch.tensor([-1.5])}
    >>> [round(float(gd.losses.kl(1.0, kind=k)(batch, live)[0]), 4) for k in ("k1", "k2", "k3")]
    [-0.5, 0.125, 0.1487]
    """

    weight: float = knob(default=0.04, ge=0.0)  # GRPO's beta
    to: LogpOf = "reference"
    kind: Estimate = "k3"
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    corrected: bool = False

    wants = ("logp",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return nobody(batch, self.weight)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        gap, metrics = self.gaps(batch, live["logp"])
        return self.weight * reduce(gap, batch, self.mean, self.constant), metrics

    def gaps(self, batch: Batch, logp: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """[S] the estimate at each step, and what is noted."""
        other = torch.where(batch.weight > 0, batch[f"{self.to}.logp"], logp.detach())  # given steps have none
        gap = estimate(logp, other, self.kind)
        if self.corrected:
            gap = gap * torch.exp(logp - torch.where(batch.weight > 0, batch.logp, logp.detach()))
        return gap, {f"kl_{self.to}": average(k3(logp.detach(), other), batch)}


@part
class entropy(Term):
    r"""$-w\,H(\pi)$: a bonus for keeping several choices open (A3C, Mnih et al. 2016, arXiv:1602.01783).

    The entropy is that of each step's whole distribution, not an estimate from the action that was drawn, so its
    gradient at the visited steps is exact; how the policy changes which steps are visited is left out, which biases
    it for the entropy of whole tracks. Assumes that the steps are the policy's own.

    Args:
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> round(float(gd.losses.entropy(0.01)(example_tries([[1.0, 0.0]]), {"entropy": torch.tensor([2.0, 1.0])})[0]), 4)
    -0.015
    """

    weight: float = knob(default=0.01, ge=0.0)  # A3C's
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)

    wants = ("entropy",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return nobody(batch, self.weight)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return -self.weight * reduce(live["entropy"], batch, self.mean, self.constant), {}


def nobody(batch: Batch, weight: float) -> Tensor:
    """[K] the silent tracks of a term that speaks about every step: none, or all if it weighs nothing."""
    return torch.full((batch.K,), not weight, dtype=torch.bool, device=batch.seg.device)


@part
class kl_cost(FieldColumns):
    r"""A stage: $r_t - w\,k(\log\pi_{sampled}(a_t), \log\pi_{to}(a_t))$, with $k$ an estimate as in `kl` (k1: the
    log-ratio).

    As a reward the log-ratio has the whole gradient of the KL, its effect on later steps included, once credit has
    been assigned: with `k1` unbiased for the KL-regularised objective (Ziegler et al. 2019, arXiv:1909.08593); `k2`
    and `k3` in a reward are biased, for their expectation is differentiated as if it did not depend on the policy. Assumes
    the log-probs that the steps were sampled with.

    `per="track"` gives a track column: the reward less the sum over the track's learned steps (RLOO, TRL's too).
    `per="step"` gives a step column: every step its own cost, the last step of a track its reward as well (PPO for
    language models); a trunk's step has the mean over its tracks. A reward that is already per step keeps its steps,
    and `per` must be "step". What was given costs nothing. A track without a reward has none after; a step that was
    learned but never sampled has no cost to take, and is not applicable.

    Args:
        to: name of the reference model.
        kind: estimator.
        per: one sum for each track, or a number for each step.
        reward: column of the reward.
        gives_to: column of the reduced reward.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0]], steps=2, reference__logp=[-1.0, -3.0])  # sampled with log-prob 0
    >>> [round(x, 3) for x in gd.losses.kl_cost(0.05, per="step")(batch, ExamplePlay())["reward"].tolist()]
    [-0.05, 0.85]
    """

    own_logp: ClassVar[bool] = True
    weight: float = knob(default=0.05, ge=0.0)  # TRL's PPO and RLOO
    to: LogpOf = "reference"
    kind: Estimate = "k1"
    per: Literal["track", "step"] = "track"
    reward: Needs = "reward"
    gives_to: Gives = "reward"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        learned = batch.weight > 0
        gap = torch.where(learned, estimate(batch.logp, batch[f"{self.to}.logp"], self.kind), 0.0)
        paid = batch.cols[self.reward]
        known = ~torch.isnan(gap) & learned
        play.log(**{f"{self.gives_to}/kl_{self.to}": float(gap[known].double().mean()) if bool(known.any()) else 0.0})
        cost = play.at(self.weight) * gap
        if paid.level == "segment":
            raise UserError(f"{self.reward!r} is a reward per segment: name the column of its steps, as 'reward_steps'")
        if self.per == "track":
            if paid.level == "step":
                raise UserError(f"{self.reward!r} is a reward per step: use kl_cost(per='step')")
            value = paid.value - per_track(cost, batch)
        else:
            value = (paid.value if paid.level == "step" else _at_the_end(paid.value, batch)) - cost
        level: Literal["step", "track"] = "track" if self.per == "track" else "step"
        reason = torch.where(torch.isnan(value), _reason(paid, level, batch), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column(level, value, reason)})


def _at_the_end(reward_K: Tensor, batch: Batch) -> Tensor:
    """[S] each track's reward at its last learned step, 0 before it; missing all along a track without one."""
    members = Members.of(batch)
    order = torch.arange(len(members.step), device=batch.seg.device, dtype=torch.float64)
    order = torch.where(own(batch)[members.step] > 0, order, float("nan"))
    last = gather_up(order, members.track, batch.K, "max")[members.track]
    paid = reward_K[members.track]
    placed = torch.where((order == last) | torch.isnan(paid), paid, 0.0)
    return gather_up(placed, members.step, batch.S, "mean")


def _reason(paid: Column, level: Literal["step", "track"], batch: Batch) -> Tensor:
    """Why a value is missing: for the reason its reward is, else because there was no cost to take."""
    if paid.level != level:
        paid = batch.put("", level, batch.down(paid.value, "track"), because=paid).cols[""]
    return torch.where(paid.reason == Reason.VALUE, int(Reason.NOT_APPLICABLE), paid.reason)
