"""Learning a policy from preferences between tracks.

A pair has a `label`, the probability that its better one is better;
where it is below 1 every loss here is the mixture $\\ell f(z) + (1-\\ell) f(-z)$.
Leaves out: where pairs come from (`select`), and preferences without a partner (`unpaired.py`).
Means are over the pairs of the whole update.
Axes: K tracks, P pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.core.batch import Batch, Pairs
from guerdon.core.part import knob, part
from guerdon.losses.reduce import per_track
from guerdon.losses.terms import Term

Link = Literal["logistic", "square", "hinge"]
WITHOUT_REFERENCE = ""


@part
class dpo(Term):
    r"""$f(z)$ with $z = \beta[h(y^+) - h(y^-)] - \gamma - \alpha m$ and $h(y) =
    \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$.

    `link="logistic"`: $f(z) = -\log\sigma(z)$, DPO (Rafailov et al. 2023, arXiv:2305.18290; `beta=0.1` is the
    paper's). `link="square"`: $f(z) = ((z - 1/2)/\beta)^2$, which is IPO's $(h^+ - h^- - 1/2\beta)^2$ (Azar et al.
    2023, arXiv:2310.12036). `link="hinge"`: $\max(0, 1-z)$, SLiC's (Zhao et al. 2023, arXiv:2305.10425).

    `per="step"` takes the mean over a track's learned steps in place of their sum. TRL's IPO does so, and says that
    the paper's results are of that form though its formula is not. `to=""` leaves the reference out. With both,
    `margin` $=\gamma$ and `beta=2` it is SimPO (Meng et al. 2024, arXiv:2405.14734). `offset` $=\alpha$ asks for more
    where the pair's own margin $m$ is larger (ODPO, Amini et al. 2024, arXiv:2402.10571). `smoothing` $=\epsilon$
    takes every label $\ell$ for $\ell(1-\epsilon) + (1-\ell)\epsilon$: conservative DPO.

    Assumes Bradley-Terry preferences (logistic) and pairs that cover what the policy may say; off-policy pairs are
    learned from as they are, which biases it towards what they cover. Given steps are no merit of the actor's and do not
    count.

    Notes `margin`, the mean of $\beta(h^+-h^-)$; `accuracy`, how often it has the pair's sign; `better_gain` and
    `worse_gain`, the means of $\beta h$: both sinking is the usual way it goes wrong.

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

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs",) if self.to == WITHOUT_REFERENCE else ("pairs", f"{self.to}.logp")

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs, logp = pairs_of(batch), live["logp"]
        gain = logp if self.to == WITHOUT_REFERENCE else logp - batch[f"{self.to}.logp"]
        gain = torch.where(batch.weight > 0, gain, 0.0)  # supplied actions are not the actor's own
        gain = self.beta * per_track(gain, batch, mean=self.per == "step")
        margin = gain[pairs.better] - gain[pairs.worse]
        z = margin - self.margin - self.offset * pairs.margin
        label = pairs.label * (1 - self.smoothing) + (1 - pairs.label) * self.smoothing
        losses = label * self._link(z) + (1 - label) * self._link(-z)
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
        return -logsigmoid(z) if self.link == "logistic" else torch.relu(1 - z)


@part
class odds_ratio(Term):
    r"""$-w\log\sigma\left(\log\frac{p^+}{1-p^+} - \log\frac{p^-}{1-p^-}\right)$ with $p =
    \exp\frac{1}{|y|}\sum_t\log\pi(y_t)$.

    The preference half of ORPO (Hong et al. 2024, arXiv:2403.07691; `weight=0.1` is the paper's $\lambda$), which
    needs no reference: ORPO is `odds_ratio() + better_nll()`. Alone it can lower both likelihoods. A track that the
    policy is sure of to the last bit has infinite odds; they are held at those of $1-p=10^{-6}$, without a gradient
    beyond. Assumes that a mean log-prob makes tracks of different lengths comparable: biased between them where it does not.

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


def over_pairs(x: Tensor, batch: Batch) -> Tensor:
    """The mean over the pairs of the whole update."""
    return x.sum() / max(batch.count.pairs, 1)


def agreement(margin: Tensor, label: Tensor) -> Tensor:
    """[P] how far a margin's sign agrees with a label; a margin of 0 half."""
    ahead = torch.where(margin == 0, 0.5, (margin > 0).to(label.dtype))
    return label * ahead + (1 - label) * (1 - ahead)
