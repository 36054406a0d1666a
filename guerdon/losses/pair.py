r"""Learning a policy from preferences between tracks, in pairs and in lists.

A pair has a `label`, the probability that its better one is better;
where it is below 1 every loss here is the mixture $\ell f(z) + (1-\ell) f(-z)$.
Leaves out: where pairs and lists come from (`select`), and preferences without a partner (`unpaired.py`).
Means are over the pairs of the whole update.
Axes: S steps, G segments, K tracks, P pairs, L segments along a track.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, logsigmoid

from guerdon.core.batch import Batch, Pairs
from guerdon.core.errors import UserError
from guerdon.core.field_columns import LogpOf, Needs
from guerdon.core.levels import gather_up, starts
from guerdon.core.part import knob, part
from guerdon.losses.reduce import per_track
from guerdon.losses.terms import Term

Link = Literal["logistic", "square", "hinge", "reverse", "discopop"]
DISCOPOP = 0.05  # temperature of its mixture, the paper's
WITHOUT_REFERENCE = ""


@part
class dpo(Term):
    r"""$f(z)$ with $z = \beta[h(y^+) - h(y^-)] - \gamma - \alpha m$ and $h(y) =
    \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$.

    `link="logistic"`: $f(z) = -\log\sigma(z)$, DPO (Rafailov et al. 2023, arXiv:2305.18290; `beta=0.1` is the
    paper's). `link="square"`: $f(z) = ((z - 1/2)/\beta)^2$, which is IPO's $(h^+ - h^- - 1/2\beta)^2$ (Azar et al.
    2023, arXiv:2310.12036). `link="hinge"`: $\max(0, 1-z)$, SLiC's (Zhao et al. 2023, arXiv:2305.10425).
    `link="discopop"`: $(1-w)(-\log\sigma(z)) + w e^{-z}$ with $w=\sigma(z/0.05)$ (DiscoPOP, Lu et al. 2024, arXiv:2406.08414).
    `link="reverse"`: the KL from $\sigma(z)$ to the label, EXO's for two answers (Ji et al. 2024, arXiv:2402.00856); it needs
    labels between 0 and 1, as `smoothing` makes them.

    `per="step"` takes the mean over a track's learned steps in place of their sum. TRL's IPO does so, and says that
    the paper's results are of that form though its formula is not. `to=""` leaves the reference out. With both,
    `margin` $=\gamma$ and `beta=2` it is SimPO (Meng et al. 2024, arXiv:2405.14734). `offset` $=\alpha$ asks for more
    where the pair's own margin $m$ is larger (ODPO, Amini et al. 2024, arXiv:2402.10571). `smoothing` $=\epsilon$
    takes every label $\ell$ for $\ell(1-\epsilon) + (1-\ell)\epsilon$: conservative DPO. `flips` $=\epsilon$ takes it for
    $(\ell-\epsilon)/(1-2\epsilon)$, which is unbiased where that share of labels is flipped: robust DPO (Chowdhury et al. 2024,
    arXiv:2403.00409). `curve` $=a$ takes $(1-e^{-ah})/a$ for $h$, whose gradient fades as an answer gets likelier: with SimPO's
    other settings it is AlphaPO (Gupta et al. 2025, arXiv:2501.03884).

    Assumes Bradley-Terry preferences (logistic) and pairs that cover what the policy may generate; off-policy pairs are
    learned from as they are, which biases it towards what they cover. Given steps are not the actor's and do not
    count.

    Notes `margin`, the mean of $\beta(h^+-h^-)$; `accuracy`, how often it has the pair's sign; `better_gain` and
    `worse_gain`, the means of $\beta h$: both sinking is the usual way it goes wrong.

    Args:
        beta: strength of the KL constraint to the reference.
        to: name of the reference model; "" for none.
        link: loss of the difference: "logistic" (DPO), "square" (IPO), "hinge" (SLiC), "discopop" or "reverse" (EXO).
        per: sum over a track's steps, or their mean.
        margin: constant margin (SimPO).
        offset: factor of the pairs' margins (ODPO).
        smoothing: label smoothing.
        flips: share of labels that are flipped.
        curve: how far the gain of an answer is bent (AlphaPO); 0 leaves it as it is.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0]), ExamplePlay())
    >>> round(float(gd.losses.dpo()(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)  # -log sigma(0.1 * 1)
    0.6444
    """

    beta: float = knob(default=0.1, gt=0.0)
    to: str = "reference"
    link: Link = "logistic"
    per: Literal["track", "step"] = "track"
    margin: float = 0.0
    offset: float = knob(default=0.0, ge=0.0)
    smoothing: float = knob(default=0.0, ge=0.0, le=0.5)
    flips: float = knob(default=0.0, ge=0.0, le=0.49, absent=0.0)
    curve: float = knob(default=0.0, absent=0.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs",) if self.to == WITHOUT_REFERENCE else ("pairs", f"{self.to}.logp")

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs, logp = pairs_of(batch), live["logp"]
        gain = gains(batch, logp, self.to, mean=self.per == "step")
        gain = self.beta * (-torch.expm1(-self.curve * gain) / self.curve if self.curve else gain)
        margin = gain[pairs.better] - gain[pairs.worse]
        z = margin - self.margin - self.offset * pairs.margin
        label = (pairs.label - self.flips) / (1 - 2 * self.flips)
        label = label * (1 - self.smoothing) + (1 - label) * self.smoothing
        losses = label * self._link(z) + (1 - label) * self._link(-z)
        if self.link == "reverse":
            losses = _to_label(z, label)
        noted = {
            "margin": margin,
            "accuracy": agreement(margin, pairs.label),
            "better_gain": gain[pairs.better],
            "worse_gain": gain[pairs.worse],
        }
        return over_pairs(losses, batch), {name: over_pairs(x.detach(), batch) for name, x in noted.items()}

    def _link(self, z: Tensor) -> Tensor:
        if self.link == "square":
            return ((z - 0.5) / self.beta).square()
        if self.link == "discopop":
            mix = torch.sigmoid(z / DISCOPOP)
            return (1 - mix) * -logsigmoid(z) + mix * torch.exp(-z)
        return torch.relu(1 - z) if self.link == "hinge" else -logsigmoid(z)


def _to_label(z: Tensor, label: Tensor) -> Tensor:
    """[P] the KL from what the policy prefers to the labels."""
    if bool(((label <= 0) | (label >= 1)).any()):
        raise UserError('dpo(link="reverse") needs labels between 0 and 1: give it smoothing, 0.001 say')
    yes, no = logsigmoid(z), logsigmoid(-z)
    return yes.exp() * (yes - label.log()) + no.exp() * (no - torch.log1p(-label))


@part
class anchored(Term):
    r"""A loss over pairs in which each answer is compared with the reference by itself, and not only with the other
    answer. With $c = \beta h(y^+)$, $r = \beta h(y^-)$ and $h(y) = \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$:

    `form="apo_zero"`: $1-\sigma(c) + \sigma(r)$, raises the better and lowers the worse; `"apo_down"`: $\sigma(c) +
    1-\sigma(c-r)$, lowers both, the worse more, for a policy that is better than both (APO, D'Oosterlinck et al. 2024,
    arXiv:2408.06266). `"nca"`: $-\log\sigma(c) - \frac12\log\sigma(-c) - \frac12\log\sigma(-r)$ (NCA, Chen et al. 2024,
    arXiv:2402.05369). `"bco"`: $-\log\sigma(c) - \log\sigma(-r)$, a classifier of good and bad (BCO, Jung et al. 2024,
    arXiv:2404.04656, without its shift). `"sppo"`: $(h^+ - \frac1{2\beta})^2 + (h^- + \frac1{2\beta})^2$ (SPPO, Wu et al.
    2024, arXiv:2405.00675, with hard labels).

    A label $\ell$ below 1 mixes the two ways round, $\ell f(c, r) + (1-\ell) f(r, c)$. Assumes that the better answer is good
    by itself (but for `apo_down`) and the worse one bad, which a pair does not say: biased where both are good or both bad.
    Notes what `dpo` notes.

    Args:
        form: the loss.
        beta: scale of the log-ratio.
        to: name of the reference model.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0]), ExamplePlay())
    >>> loss = gd.losses.anchored("apo_zero", beta=2.0)
    >>> round(float(loss(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)  # twice 1 - sigma(1)
    0.5379
    """

    form: Literal["apo_zero", "apo_down", "nca", "bco", "sppo"] = "apo_zero"
    beta: float = knob(default=0.1, gt=0.0)
    to: LogpOf = "reference"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs", *super().needs)

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = pairs_of(batch)
        gain = self.beta * gains(batch, live["logp"], self.to)
        better, worse = gain[pairs.better], gain[pairs.worse]
        losses = pairs.label * self._form(better, worse) + (1 - pairs.label) * self._form(worse, better)
        noted = {
            "margin": better - worse,
            "accuracy": agreement(better - worse, pairs.label),
            "better_gain": better,
            "worse_gain": worse,
        }
        return over_pairs(losses, batch), {name: over_pairs(x.detach(), batch) for name, x in noted.items()}

    def _form(self, c: Tensor, r: Tensor) -> Tensor:
        if self.form == "apo_zero":
            return torch.sigmoid(-c) + torch.sigmoid(r)
        if self.form == "apo_down":
            return torch.sigmoid(c) + torch.sigmoid(r - c)
        if self.form == "nca":
            return -logsigmoid(c) - 0.5 * logsigmoid(-c) - 0.5 * logsigmoid(-r)
        if self.form == "bco":
            return -logsigmoid(c) - logsigmoid(-r)
        return ((c - 0.5) / self.beta).square() + ((r + 0.5) / self.beta).square()


@part
class aot(Term):
    r"""$-\log\sigma(\beta[u_{(i)} - v_{(i)}])$, the mean over $i$, with $u_{(i)}$ and $v_{(i)}$ the $i$-th smallest of pairs
    of an update: the better answers as a whole above the worse ones, quantile by quantile (AOT, Melnyk et al. 2024,
    arXiv:2406.05882).

    `form="unpaired"`: $u = h(y^+)$ and $v = h(y^-)$, with $h(y) = \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$.
    `form="paired"`: $u$ is the policy's $\log\pi(y^+) - \log\pi(y^-)$ and $v$ the reference's. `smoothing` $=\epsilon$ mixes
    the two ways round. Labels and margins of pairs do not enter, for a sorted pair is no pair of the file.

    Assumes that a step's pairs are a fair sample of all, so few pairs a step make it *biased*. It compares all of an
    update's pairs and needs them in one forward pass. Notes `margin`, the mean of $\beta(u-v)$.

    Args:
        beta: strength of the constraint to the reference.
        form: sort differences of pairs, or better and worse answers apart.
        to: name of the reference model.
        smoothing: label smoothing.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0]), ExamplePlay())
    >>> round(float(gd.losses.aot()(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)  # of one pair it is DPO
    0.6444
    """

    beta: float = knob(default=0.1, gt=0.0)
    form: Literal["paired", "unpaired"] = "paired"
    to: LogpOf = "reference"
    smoothing: float = knob(default=0.0, ge=0.0, le=0.5)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs", *super().needs)

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = pairs_of(batch)
        if len(pairs) != batch.count.pairs:
            raise UserError(
                f"aot sorts the {batch.count.pairs} pairs of an update, and {len(pairs)} fit in one forward pass: learn from"
                " fewer prompts a step, or raise --set learn.micro"
            )
        if self.form == "unpaired":
            gain = gains(batch, live["logp"], self.to)
            above, below = gain[pairs.better], gain[pairs.worse]
        else:
            own, other = (gains(batch, logp, WITHOUT_REFERENCE) for logp in (live["logp"], batch[f"{self.to}.logp"]))
            above, below = (each[pairs.better] - each[pairs.worse] for each in (own, other))
        z = self.beta * (above.sort().values - below.sort().values)
        losses = -(1 - self.smoothing) * logsigmoid(z) - self.smoothing * logsigmoid(-z)
        return over_pairs(losses, batch), {"margin": over_pairs(z.detach(), batch)}


@part
class odds_ratio(Term):
    r"""$-w\log\sigma\left(\log\frac{p^+}{1-p^+} - \log\frac{p^-}{1-p^-}\right)$ with $p =
    \exp\frac{1}{|y|}\sum_t\log\pi(y_t)$.

    The preference half of ORPO (Hong et al. 2024, arXiv:2403.07691; `weight=0.1` is the paper's $\lambda$), which
    needs no reference: ORPO is `odds_ratio() + better_nll()`. Alone it can lower both likelihoods. A track that the
    policy is sure of to the last bit has infinite odds; they are held at those of $1-p=10^{-6}$, without a gradient
    beyond. Assumes that a mean log-prob makes tracks of different lengths comparable: biased between them where it does not.

    Args:
        weight: factor of the loss.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]]), ExamplePlay())
    >>> round(float(gd.losses.odds_ratio(1.0)(batch, {"logp": torch.tensor([0.5, 0.2]).log()})[0]), 4)  # -log sigma(log 4)
    0.2231
    """

    weight: float = knob(default=0.1, ge=0.0)

    needs = ("pairs",)
    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = pairs_of(batch)
        logp = per_track(live["logp"], batch, mean=True).clamp(max=-1e-6)
        odds = logp - torch.log(-torch.expm1(logp))
        gap = odds[pairs.better] - odds[pairs.worse]
        losses = -pairs.label * logsigmoid(gap) - (1 - pairs.label) * logsigmoid(-gap)
        noted = {"log_odds_ratio": gap, "accuracy": agreement(gap, pairs.label)}
        return self.weight * over_pairs(losses, batch), {n: over_pairs(x.detach(), batch) for n, x in noted.items()}


@part
class better_nll(Term):
    r"""$-\frac{w}{|y^+|}\sum_t\log\pi(y^+_t)$, the mean over pairs: imitation of the better one, to stand beside a
    preference loss.

    ORPO's first half (arXiv:2403.07691), CPO's second (Xu et al. 2024, arXiv:2401.08417) and the usual cure for a DPO
    that lowers both likelihoods. Each pair counts the same, as in the papers; TRL takes the mean over all chosen
    tokens, the same where lengths are. Labels do not enter: the better one is imitated however sure the pair is. Assumes
    that the better one is good. A mean over a track's steps, so biased for the likelihood of whole tracks: a step of a
    short one counts more.

    Args:
        weight: factor of the loss.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]]), ExamplePlay())
    >>> round(float(gd.losses.better_nll(0.2)(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 6)
    0.1
    """

    weight: float = knob(default=1.0, ge=0.0)

    needs = ("pairs",)
    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        likelihood = per_track(live["logp"], batch, mean=True)
        nll = over_pairs(-likelihood[pairs_of(batch).better], batch)
        return self.weight * nll, {"better_nll": nll.detach()}


def pairs_of(batch: Batch) -> Pairs:
    assert batch.pairs is not None, "a loss over pairs was given none"
    return batch.pairs


def gains(batch: Batch, logp: Tensor, to: str, mean: bool = False) -> Tensor:
    """[K] the log-ratio of tracks to a reference, or their log-prob where there is none: the sum over steps, or the mean."""
    gain = logp if to == WITHOUT_REFERENCE else logp - batch[f"{to}.logp"]
    return per_track(
        torch.where(batch.weight > 0, gain, 0.0), batch, mean=mean
    )  # given actions are not the actor's own


def over_pairs(x: Tensor, batch: Batch) -> Tensor:
    """The mean over the pairs of the whole update."""
    return x.sum() / max(batch.count.pairs, 1)


def agreement(margin: Tensor, label: Tensor) -> Tensor:
    """[P] how far a margin's sign agrees with a label; a margin of 0 half."""
    ahead = torch.where(margin == 0, 0.5, (margin > 0).to(label.dtype))
    return label * ahead + (1 - label) * (1 - ahead)


@part
class list_ranking(Term):
    r"""$-\lambda_{ij}\log\sigma\big(\beta\sum_k w_k[h_k(y_i) - h_k(y_j)]\big)$, the mean over the pairs of all lists, with
    $h_k(y) = \sum_{t \in k}\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$ over the $k$-th segment and
    $\lambda_{ij} = |2^{v_i} - 2^{v_j}|\cdot\left|\frac{1}{\log_2(1+\tau_i)} - \frac{1}{\log_2(1+\tau_j)}\right|$.

    A list is the tracks of an episode, $v$ the column `worth` and $\tau$ a track's rank in its list by $\beta h(y)$, as the
    policy has it now: $\lambda$ is what the order's DCG would change if the two were swapped (LambdaLoss, Wang et al. 2018; for
    policies LiPO, Liu et al. 2024, arXiv:2402.01878). Where the policy calls two equal, as at the start, they rank by their
    worth: else a policy that is its own reference would learn nothing. `lambdas=False` has every pair count the same: DPO over
    all pairs.

    $w_k = 1 + a\cos_k$ with `adapt` $=a$ and the cosine of the mean hidden states of the two $k$-th segments: the Adaptive Step
    Reward of TPO (Liao et al. 2024, arXiv:2410.12854) as its released code has it (MrBlankness/TPO, loss.py, line 25: cosine
    + 1), so steps in which two answers agree pull more; with $a = -1$ those in which they differ do. What the two share
    cancels. A segment that only one of them has is compared with nothing, $\cos = 0$. $a = 0$ asks for no hidden states.

    Assumes values on a scale of about 1, for gains are powers of two, and pairs that stand within one list. Biased on purpose,
    to the head of lists; and as `dpo` is, towards what the lists cover. Notes `margin`, `accuracy` and `lambda`, the mean
    weight.

    Args:
        beta: scale of the log-ratio.
        worth: column that orders a list.
        lambdas: weigh a pair by the change of DCG.
        adapt: weight of the similarity of hidden states in a segment's factor.
        to: name of the reference model.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0]), ExamplePlay())
    >>> loss = gd.losses.list_ranking(lambdas=False, adapt=0.0)
    >>> round(float(loss(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)  # as dpo: -log sigma(0.1 * 1)
    0.6444
    """

    beta: float = knob(default=0.1, gt=0.0)
    worth: Needs = "reward"
    lambdas: bool = True
    adapt: float = knob(default=1.0, ge=-1.0, le=1.0)
    to: LogpOf = "reference"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs", *super().needs)

    @property
    def wants(self) -> tuple[str, ...]:
        return ("logp", "hidden") if self.adapt else ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = pairs_of(batch)
        gain = torch.where(batch.weight > 0, live["logp"] - batch[f"{self.to}.logp"], 0.0)
        gain_G = self.beta * batch.up(gain, "segment")
        along = _along(batch)
        margin = self._margins(gain_G, along[pairs.better], along[pairs.worse], batch, live)
        weight = torch.ones_like(margin)
        if self.lambdas:
            worth = batch.track_column(self.worth, "list_ranking").value.to(margin)
            score = batch.up(gain_G.detach(), "track", of="segment")
            discount = 1 / torch.log2(1 + ranks(score, worth, batch.group("episode")[0]))
            gains = torch.exp2(worth)
            weight = (gains[pairs.better] - gains[pairs.worse]).abs()
            weight = weight * (discount[pairs.better] - discount[pairs.worse]).abs()
        losses = -pairs.label * logsigmoid(margin) - (1 - pairs.label) * logsigmoid(-margin)
        noted = {"margin": margin, "accuracy": agreement(margin, pairs.label), "lambda": weight}
        return over_pairs(weight * losses, batch), {n: over_pairs(x.detach(), batch) for n, x in noted.items()}

    def _margins(
        self, gain_G: Tensor, better: Tensor, worse: Tensor, batch: Batch, live: Mapping[str, Tensor]
    ) -> Tensor:
        """[P] how far the better tracks are ahead, segment by segment; `better` and `worse` are [P, L]."""
        ahead = _at(gain_G, better) - _at(gain_G, worse)  # 0 where it is one and the same segment
        if not self.adapt:
            return ahead.sum(1)
        hidden = live["hidden"].detach()
        steps = batch.length.clamp(min=1).to(hidden)[:, None]
        mean_G = hidden.new_zeros(batch.G, hidden.shape[1]).index_add(0, batch.seg, hidden) / steps
        alike = cosine_similarity(_at(mean_G, better), _at(mean_G, worse), dim=2)
        return (ahead * (1 + self.adapt * alike)).sum(1)


def _along(batch: Batch) -> Tensor:
    """[K, L] the segments of each track, root to leaf; -1 behind its last."""
    depth = torch.bincount(batch.path_track, minlength=batch.K)
    along = torch.full((batch.K, int(depth.max()) if batch.K else 0), -1, dtype=torch.long, device=batch.seg.device)
    place = torch.arange(len(batch.path_seg), device=batch.seg.device) - starts(depth)[batch.path_track]
    along[batch.path_track, place] = batch.path_seg
    return along


def _at(x_G: Tensor, segments: Tensor) -> Tensor:
    """What segments have, 0 where there is none."""
    there = segments >= 0
    return x_G[segments.clamp(min=0)] * there.view(*there.shape, *[1] * (x_G.dim() - 1))


def ranks(score_K: Tensor, worth_K: Tensor, group_K: Tensor) -> Tensor:
    """[K] the place of each in its group, 1 for the highest score, of equal ones for the highest worth; those that are equal in
    both share the mean of their places, so that no order of tracks matters."""
    order = torch.argsort(worth_K, descending=True, stable=True)
    order = order[torch.argsort(score_K[order], descending=True, stable=True)]
    order = order[torch.argsort(group_K[order], stable=True)]
    keys = [x[order] for x in (group_K, score_K, worth_K)]
    is_new = torch.ones(len(order), dtype=torch.bool, device=order.device)
    is_new[1:] = torch.stack([x[1:] != x[:-1] for x in keys]).any(0)
    size = torch.bincount(group_K, minlength=1)
    place = (torch.arange(len(order), device=order.device) - starts(size)[group_K[order]] + 1).to(score_K)
    tied = torch.cumsum(is_new, 0) - 1
    shared = gather_up(place, tied, int(is_new.sum()), "mean")[tied]
    return torch.empty_like(shared).scatter_(0, order, shared)
