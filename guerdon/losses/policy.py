"""Policy gradients through a ratio of probabilities, with surrogate, reduction and old policy as three choices.

`clipped` stops at a step whose ratio has moved far enough; `reweighted` keeps every step's gradient, with a bounded weight.
Both are the same for tokens, turns, denoising steps and continuous actions: all they see of a policy is a log-prob per step.

A sampler that rounds otherwise than the learner, or holds older weights, is another policy than the one that is trained. By
default the ratio is to the log-probs of sampling and corrects for everything at once. With `truncated` or `masked` it is to
log-probs that the learner read before its update, and the gap to the sampled ones is an importance weight of its own, bounded
in its own way.

Quantiles of an update's ratios come from counts in fixed bins, even in asinh(log ratio / FINE): narrow around a ratio of 1,
where most ratios are. Counts are exact in any order, so the size of a micro-batch changes no quantile; the number of bins is
odd, so a ratio that did not move reads as exactly 1.
Leaves out: advantages (`credit`), and what holds a policy back (`penalties.py`).

Axes: S steps, K tracks, N rows: the steps, or every step of every track where a number belongs to a track.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Needs
from guerdon.core.knob_values import is_schedule
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, Members, average, has_tracks, means, numbers, per_track, reduce, weights
from guerdon.losses.terms import Term, effective_samples, k3

Ratio = Literal["step", "track"]
Bound = Any  # a number, or one for each row


class PolicyLoss(Term):
    """What the policy losses have in common: the ratio, the correction for the sampler, the reduction and what is
    noted.

    They note: `clipped`, the share of steps whose pull is bounded; `entropy`; `kl_old`, the k3 estimate;
    `ratio_mean`; and, at the end of an update, `ratio_p01`, `ratio_p50`, `ratio_p99`, its quantiles over steps
    (`policy.py`), and `effective_samples`, which is $(\\sum w)^2/(n\\sum w^2)$ with $w$ the ratio times the sampler's
    weight: 1 on-policy, near 0 where few steps decide.

    >>> import guerdon as gd
    >>> isinstance(gd.losses.clipped(), gd.losses.PolicyLoss), gd.losses.clipped().needs
    (True, ('advantage',))
    """

    low: float | str
    high: float | str
    ratio: Ratio
    mean: Mean
    constant: float
    advantage: str
    old: Any

    wants = ("logp", "entropy")

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.advantage, *self._named, *(self.old.needs if self.old is not None else ()))

    @property
    def own_logp(self) -> bool:
        """Whether its ratio is to the log-probs of sampling."""
        return self.old is None or not self.old.column

    @property
    def _named(self) -> tuple[str, ...]:
        """The bounds that are columns."""
        return tuple(bound for bound in (self.low, self.high) if isinstance(bound, str))

    def silent(self, batch: Batch) -> Tensor:
        """[K] tracks without any advantage."""
        if has_tracks(batch, self.advantage):
            return (batch.up(batch.weight, "track") == 0) | (torch.nan_to_num(batch[self.advantage]) == 0)
        speaks = numbers(batch, self.advantage) * batch.weight != 0
        return batch.up(speaks.double(), "track") == 0

    def surrogate(
        self, ratio: Tensor, advantage: Tensor, logp: Tensor, low: Bound, high: Bound
    ) -> tuple[Tensor, Tensor]:
        """[N] the loss of each row, and whether its pull is bounded."""
        raise NotImplementedError

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logp, to = live["logp"], self.old if self.old is not None else SAMPLED
        apart = "track" in (self.ratio, to.level) or has_tracks(batch, self.advantage, *self._named)
        members = Members.of(batch) if apart else None
        drawn = torch.where(batch.weight > 0, batch.logp, logp.detach())  # given steps have none and weigh nothing
        old = torch.where(batch.weight > 0, batch[to.column], logp.detach()) if to.column else drawn
        gap = _at_rows(logp - old, self.ratio, batch, members, mean=True)
        gap = gap.clamp(-to.bound, to.bound) if to.bound else gap
        ratio = torch.exp(gap)
        advantage = numbers(batch, self.advantage, members)
        low, high = (numbers(batch, x, members) if isinstance(x, str) else x for x in (self.low, self.high))
        surrogate, bounded = self.surrogate(ratio, advantage, _at_rows(logp, "step", batch, members), low, high)
        weight = ratio.detach()
        metrics = {
            "clipped": average(bounded.float(), batch, members),
            **means({"entropy": live["entropy"].detach(), "kl_old": k3(logp.detach(), old)}, batch),
        }
        if to.column:
            drift, noted = _correction(to, old, drawn, batch, members)
            surrogate, weight, metrics = surrogate * drift, weight * drift, metrics | noted
        metrics |= _of_ratios(ratio.detach(), gap.detach(), weight, batch, members)
        return reduce(surrogate, batch, self.mean, self.constant, members), metrics

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        return quantiles(effective_samples(metrics))


def _at_rows(x: Tensor, level: Ratio, batch: Batch, members: Members | None, mean: bool = False) -> Tensor:
    """[N] a number of each step where it is read: at the step, or, of a whole track's sum or mean, at every step of it."""
    if level == "step":
        return x if members is None else x[members.step]
    assert members is not None
    return per_track(x, batch, mean)[members.track]


def _correction(
    to: Any, old: Tensor, drawn: Tensor, batch: Batch, members: Members | None
) -> tuple[Tensor, dict[str, Tensor]]:
    """[N] the weight of each row for the gap between the sampler and the learner before its update, and what is noted of it."""
    drift, off = to.weigh(_at_rows(old - drawn, to.level, batch, members))
    noted = {"kl_sampler": average(k3(drawn, old), batch), type(to).__name__: average(off.float(), batch, members)}
    return drift, noted


def _of_ratios(ratio: Tensor, gap: Tensor, weight: Tensor, batch: Batch, members: Members | None) -> dict[str, Tensor]:
    """What is noted of the ratios, for `derive`."""
    noted = {"ratio_mean": ratio, "weight_mean": weight, "weight_square": weight.square()}
    return means(noted, batch, members) | counted(gap, weights(batch, members))


@part
class clipped(PolicyLoss):
    r"""$-\min(\rho A,\ \text{clip}(\rho, 1-low, 1+high)\,A)$ with $\rho = \pi/\pi_{old}$ (PPO, Schulman et al. 2017,
    arXiv:1707.06347).

    `low = high = 0.2` is PPO's and GRPO's; a larger `high` is DAPO's clip-higher (Yu et al. 2025, arXiv:2503.14476:
    0.2 and 0.28). Either may be the name of a column that has a bound for each row, per step, segment or track. `dual`
    bounds the loss of a step of negative advantage by $-dual\,A$, however large its ratio (dual clip, Ye et al. 2020,
    arXiv:1912.09729, who use 3; 0: off).

    `ratio="step"` is the ratio of each step. `ratio="track"` gives every step of a track
    $\exp\frac{1}{|y|}\sum_t\log\frac{\pi(y_t)}{\pi_{old}(y_t)}$ and pulls at all of them through it (GSPO, Zheng et
    al. 2025, arXiv:2507.18071, with `low=3e-4, high=4e-4`). There the length is that of the learned steps. Where
    advantages differ within a track each step's multiplies the track's ratio; that is not the paper's GSPO-token,
    which pulls at the step alone.

    Assumes advantages whose baseline does not depend on the action. At the first update of a batch the gradient is
    that of $-A\log\pi$: with `mean="constant"` unbiased wherever the advantage is, with "step" and "track" up to how
    lengths weigh tracks. After it, biased: a step's own ratio does not correct for the steps before it, and the clip
    drops what has moved. (On a tree of nine tracks sampled by a policy whose logits are off by 0.7, the gradient is
    off by 35 % of its length unclipped, 74 % clipped, 59 % without any ratio; `tests/maths/test_losses_unbiased.py`.)
    A trunk's advantage is the mean of its tracks': where the clip does not bite on it, a tree equals its chains
    under `mean="step"` and `"constant"`, and under `"track"` if the tracks through a trunk are equally
    long.

    Args:
        low: lower clip range, or a column with it.
        high: upper clip range, or a column with it.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.
        advantage: column of the advantage.
        ratio: ratio of a step, or of a whole track.
        dual: bound of the loss at negative advantages; 0 turns it off.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], advantage=[1.0, -1.0])  # sampled with log-prob 0
    >>> live = {"logp": torch.tensor([1.5, 0.5]).log(), "entropy": torch.zeros(2)}
    >>> round(float(gd.losses.clipped(high=0.28)(batch, live)[0]), 4)  # (-1.28 + 0.8) / 2
    -0.24
    """

    low: float | str = knob(default=0.2, ge=0.0, le=1.0)
    high: float | str = knob(default=0.2, ge=0.0)
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    advantage: str = "advantage"
    old: Any = None  # `sampled`, `truncated` or `masked`
    ratio: Ratio = "step"
    dual: float = knob(default=0.0, ge=0.0)

    def __post_init__(self) -> None:
        plain = not any(map(is_schedule, (self.dual, self.high)))
        if plain and not isinstance(self.high, str) and 0 < self.dual <= 1 + self.high:
            raise UserError(
                f"clipped.dual must be above 1 + high = {1 + self.high:g}, or 0 for none, not {self.dual:g}"
            )
        _check_old(self.old)

    def surrogate(
        self, ratio: Tensor, advantage: Tensor, logp: Tensor, low: Bound, high: Bound
    ) -> tuple[Tensor, Tensor]:
        bounded = ratio.clamp(min=1 - low).clamp(max=1 + high)
        gain = torch.minimum(ratio * advantage, bounded * advantage)
        stopped = bounded * advantage < ratio * advantage
        if self.dual:
            held = (advantage < 0) & (ratio > self.dual)
            gain, stopped = torch.where(held, self.dual * advantage, gain), stopped | held
        return -gain, stopped


@part
class reweighted(PolicyLoss):
    r"""$-\text{sg}[\text{clip}(\rho, 1-low, 1+high)]\,A\log\pi$ with $\rho=\pi/\pi_{old}$ and sg: no gradient goes
    through it.

    CISPO (MiniMax 2025, arXiv:2506.13585). Where `clipped` drops the pull of a step that has moved too far, here
    every step keeps pulling and only its weight is bounded: rare steps that open a turn of thought are not silenced
    after the first update. The paper bounds from above alone, which is `low=1`. TRL's `epsilon_high=5.0` is the bound
    itself: `high=4` here. Either may be the name of a column, as `clipped` has it.

    Assumes what `clipped` assumes, and is unbiased where it is: at the first update. After it, biased, though less
    than `clipped`: a step's own ratio does not correct for the steps before it, and a bounded weight is not an importance
    weight. The loss's value means nothing, its gradient does. With `low=0, high=0` it is REINFORCE on stale samples,
    uncorrected.

    Args:
        low: lower clip range, or a column with it.
        high: upper clip range, or a column with it.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.
        advantage: column of the advantage.
        ratio: ratio of a step, or of a whole track.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> logp = torch.tensor([6.0, 0.5]).log().requires_grad_()  # ratios, for the steps were sampled with log-prob 0
    >>> batch = example_tries([[1.0, 0.0]], advantage=[1.0, -1.0])
    >>> gd.losses.reweighted()(batch, {"logp": logp, "entropy": torch.zeros(2)})[0].backward()
    >>> logp.grad.tolist()  # 6 is bounded by 5; the mean over two steps
    [-2.5, 0.25]
    """

    low: float | str = knob(default=1.0, ge=0.0, le=1.0)
    high: float | str = knob(default=4.0, ge=0.0)
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)
    advantage: str = "advantage"
    old: Any = None  # `sampled`, `truncated` or `masked`
    ratio: Ratio = "step"

    def __post_init__(self) -> None:
        _check_old(self.old)

    def surrogate(
        self, ratio: Tensor, advantage: Tensor, logp: Tensor, low: Bound, high: Bound
    ) -> tuple[Tensor, Tensor]:
        weight = ratio.detach().clamp(min=1 - low).clamp(max=1 + high)
        return -weight * advantage * logp, weight != ratio.detach()


def _check_old(old: Any) -> None:
    if old is not None and not hasattr(old, "bound"):
        raise UserError(
            f"old is a part (sampled, truncated or masked), not {old!r}: old=truncated(column={str(old)!r})"
        )


Reach = Literal["step", "track"]


@part
class sampled(FieldColumns):
    r"""The ratio is $\pi/\pi_{sampled}$, its logarithm kept within $\pm$`bound` before it is exponentiated (0: it is
    not).

    Assumes that the log-probs kept with the steps are those of the policy they were drawn from. A bound makes a step
    beyond it pull no more, whatever the sign of its advantage: biased, and the way to keep one broken step from an
    infinite ratio (verl keeps the logarithm within 20; no paper).

    Args:
        bound: limit of the log-ratio; 0 for none.

    >>> import guerdon as gd
    >>> gd.losses.clipped(old=gd.losses.sampled(bound=20.0))
    clipped(old=sampled(bound=20.0))
    """

    bound: float = knob(default=0.0, ge=0.0)

    level: ClassVar[Reach] = "step"
    column: ClassVar[str] = ""


SAMPLED = sampled()  # the default


@part
class truncated(FieldColumns):
    r"""The ratio is to `column`; each step is weighed by $\min(\pi_{column}/\pi_{sampled},\ most)$.

    Truncated importance sampling (Ionides 2008; in reinforcement learning V-trace, Espeholt et al. 2018,
    arXiv:1802.01561). With `level="track"` a whole track is weighed by the product over its steps: unbiased for the
    learner's policy where nothing is truncated, and of a variance that grows with length. Assumes that the sampled
    log-probs are those of the policy that drew, and `column` what the learner had before its update. A step's own
    weight, the default, leaves the steps before it uncorrected: less noise, some bias. Truncation biases towards the
    sampler's policy (the cap of 3 is TRL's). `bound` is that of `sampled`.

    Args:
        most: largest weight.
        column: log-probs of the learner before its update.
        level: weigh steps, or whole tracks.
        bound: limit of the log-ratio; 0 for none.

    >>> import guerdon as gd
    >>> gd.losses.clipped(old=gd.losses.truncated(2.0)).needs
    ('advantage', 'policy.logp')
    """

    most: float = knob(default=3.0, gt=0.0)
    column: Needs = "policy.logp"
    level: Reach = "step"
    bound: float = knob(default=0.0, ge=0.0)

    def weigh(self, gap: Tensor) -> tuple[Tensor, Tensor]:
        """The weights, and where they are not the importance weights."""
        drift = torch.exp(gap)
        return drift.clamp(max=self.most), drift > self.most


@part
class masked(FieldColumns):
    r"""The ratio is to `column`; a step whose $\pi_{column}/\pi_{sampled}$ lies outside [`low`, `high`] is not
    learned from.

    Inside the band the weight is the importance weight itself. Masked importance sampling, TRL's `token_mask` and
    `sequence_mask` (its `high` is 3, and it has no `low`; 0.5 here is so that a step the learner finds half as likely
    as the sampler did is left out too; no paper). Assumes what `truncated` does. Biased: what is left out is not replaced,
    and denominators still count it.
    `level="track"` judges, and leaves out, whole tracks by the product over their steps.

    Args:
        low: least ratio that is learned from.
        high: largest ratio that is learned from.
        column: log-probs of the learner before its update.
        level: judge steps, or whole tracks.
        bound: limit of the log-ratio; 0 for none.

    >>> import guerdon as gd
    >>> gd.losses.clipped(old=gd.losses.masked(0.5, 5.0))
    clipped(old=masked(high=5.0))
    """

    low: float = knob(default=0.5, ge=0.0, le=1.0)
    high: float = knob(default=3.0, ge=1.0)
    column: Needs = "policy.logp"
    level: Reach = "step"
    bound: float = knob(default=0.0, ge=0.0)

    def weigh(self, gap: Tensor) -> tuple[Tensor, Tensor]:
        """The weights, and where they are not the importance weights."""
        drift = torch.exp(gap)
        outside = (drift < self.low) | (drift > self.high)
        return drift.masked_fill(outside, 0.0), outside


BINS = 63  # odd: the middle one holds what did not move
FINE = 1e-3  # bins are even in the logarithm of the ratio up to here and grow with it from here on, a third each
MOST = 3.0  # the largest logarithm of a ratio that differs from larger ones
REACH = math.asinh(MOST / FINE)
WIDTH = 2 * REACH / BINS
QUANTILES = {"p01": 0.01, "p50": 0.5, "p99": 0.99}


def counted(log_ratio: Tensor, weight: Tensor, name: str = "ratio") -> dict[str, Tensor]:
    """[N] logarithms made the weight in each bin. Weights are whole numbers, so their sums are exact however they are split,
    and in whatever order a GPU adds them up."""
    place = torch.asinh(log_ratio / FINE).clamp_(-REACH, REACH).add_(REACH).div_(WIDTH).long()
    place.clamp_(0, BINS - 1)  # the upper edge; and NaN, which the learner is to find in the loss
    bins = torch.zeros(BINS, dtype=torch.float64, device=place.device).scatter_add_(0, place, weight.double())
    return {_bin(name, i): count for i, count in enumerate(bins.unbind())}


def quantiles(metrics: Mapping[str, float], name: str = "ratio") -> dict[str, float]:
    """The bins of an update made `NAME_p01`, `NAME_p50` and `NAME_p99`, each off by a third of its logarithm at
    most, by less than a tenth of it where ratios are many.

    >>> noted = counted(torch.tensor([0.0, 0.0, 0.7]), torch.ones(3))
    >>> quantiles({name: float(count) for name, count in noted.items()})["ratio_p50"]
    1.0
    """
    derived = dict(metrics)
    counts = [derived.pop(_bin(name, i), 0.0) for i in range(BINS)]
    whole = sum(counts)
    if whole > 0:
        derived |= {f"{name}_{word}": math.exp(_read(counts, share * whole)) for word, share in QUANTILES.items()}
    return derived


def _bin(name: str, i: int) -> str:
    return f"{name}_bin_{i}"


def _read(counts: list[float], target: float) -> float:
    """The logarithm below which `target` of the counts lie, as if a bin's were spread evenly over it."""
    before = 0.0
    for i, count in enumerate(counts):
        if count and before + count >= target * (
            1 - 1e-9
        ):  # a target on the edge of a bin belongs to it, rounded or not
            inside = min(max((target - before) / count, 0.0), 1.0)
            return 0.0 if i == BINS // 2 else FINE * math.sinh(WIDTH * (i + inside) - REACH)
        before += count
    raise AssertionError("more was asked for than was counted")
