"""Teaching a model to score: whole tracks by preferences or by numbers, steps by labels.

The scores are readings of a value head: `final` after a track, `after` each step;
or, without a head, the log-ratio to where the model began.
Leaves out: where labels and pairs come from, and how well the scores do (evaluation).
Axes: S steps, K tracks, P pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from guerdon.core.batch import Batch
from guerdon.core.field_columns import LogpOf, Needs
from guerdon.core.part import knob, part
from guerdon.losses.pair import agreement, over_pairs, pairs_of
from guerdon.losses.reduce import Mean, average, numbers, per_track, reduce, reduce_tracks
from guerdon.losses.terms import Term


@part
class bradley_terry(Term):
    r"""$-\ell\log\sigma(z)-(1-\ell)\log\sigma(-z) + c\,(r^+ + r^-)^2$ with $z = r^+ - r^- - \alpha m$, the mean over
    pairs.

    $r$ is the reading, $\ell$ the pair's label and $m$ its margin. Preferences as in Bradley and Terry 1952; reward
    models for language since Ouyang et al. 2022 (arXiv:2203.02155). `margin` $=\alpha$ asks for more where people
    were surer (Llama 2, Touvron et al. 2023, arXiv:2307.09288). `scaled=True` multiplies a pair's loss by $m$
    instead: the same pair $m$ times (HelpSteer2-Preference, Wang et al. 2024, arXiv:2410.01257). Pairs fix scores
    only up to a constant; `centre` $=c$ pulls them to zero (Eisenstein et al. 2023, arXiv:2312.09244: 0.01).
    `smoothing` bounds how sure it can get.

    Assumes that a preference depends on the difference of two scores alone. Biased wherever preferences are not
    transitive or the pairs of one prompt are few: it learns an order, on the scale of log-odds. Notes `accuracy`, `margin`
    and `score_mean`.

    Args:
        reading: reading of the model that is the score.
        margin: factor of the pairs' margins.
        scaled: multiply a pair's loss by its margin.
        centre: weight of the penalty that pulls scores to zero.
        smoothing: label smoothing.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]]), ExamplePlay())
    >>> round(float(gd.losses.bradley_terry()(batch, {"final": torch.tensor([1.5, 0.5])})[0]), 4)  # -log sigma(1)
    0.3133
    """

    reading: str = "final"
    margin: float = knob(default=0.0, ge=0.0)
    scaled: bool = False
    centre: float = knob(default=0.0, ge=0.0)
    smoothing: float = knob(default=0.0, ge=0.0, le=0.5)

    needs = ("pairs",)

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs, score = pairs_of(batch), live[self.reading]
        better, worse = score[pairs.better], score[pairs.worse]
        z = better - worse - self.margin * pairs.margin
        label = pairs.label * (1 - self.smoothing) + (1 - pairs.label) * self.smoothing
        losses = -label * logsigmoid(z) - (1 - label) * logsigmoid(-z)
        losses = losses * pairs.margin if self.scaled else losses
        if self.centre:
            losses = losses + self.centre * (better + worse).square()
        gap = (better - worse).detach()
        noted = {"accuracy": agreement(gap, pairs.label), "margin": gap, "score_mean": (better + worse).detach() / 2}
        return over_pairs(losses, batch), {name: over_pairs(x, batch) for name, x in noted.items()}


@part
class outcome(Term):
    r"""The reading of a whole track against a number: $w\,(r - y)^2$, or with `kind="logistic"` the cross-entropy
    $-w[y\log\sigma(r) + (1-y)\log\sigma(-r)]$; the mean over tracks.

    The square teaches the mean of `target` (a rating, a return); the logistic the log-odds of a right answer,
    `target` being a chance in [0, 1] (verifiers, Cobbe et al. 2021, arXiv:2110.14168). Both unbiased for what they
    aim at, over the tracks they are shown. Assumes tracks like those that will be scored: a scorer of one policy's is
    extrapolated to the next policy's. A track without a target teaches nothing.

    Notes `outcome_error`, the mean of $(\hat y - y)^2$ with $\hat y$ the prediction: the Brier score where it is a
    chance.

    Args:
        target: column of the target.
        kind: squared error, or cross-entropy.
        weight: factor of the loss.
        reading: reading of the model that is fitted.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> read = {"final": torch.tensor([0.0, 0.0])}
    >>> [round(float(gd.losses.outcome(kind=k)(example_tries([[1.0, 0.0]]), read)[0]), 4) for k in ("square", "logistic")]
    [0.5, 0.6931]
    """

    target: Needs = "reward"
    kind: Literal["square", "logistic"] = "square"
    weight: float = knob(default=1.0, ge=0.0)
    reading: str = "final"

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logit = live[self.reading]
        aim = batch[self.target].to(logit.dtype)
        below = max(batch.count.tracks, 1)
        if self.kind == "square":
            error = (logit - aim).square()
            return self.weight * reduce_tracks(error, batch), {"outcome_error": error.detach().sum() / below}
        loss = reduce_tracks(binary_cross_entropy_with_logits(logit, aim, reduction="none"), batch)
        return self.weight * loss, {"outcome_error": (logit.detach().sigmoid() - aim).square().sum() / below}


@part
class discriminator(Term):
    r"""$-w\,[y\log\sigma(r) + (1-y)\log\sigma(-r)]$ with $y=1$ for a demonstration and 0 for a policy's own try, the mean over
    tracks: a reward that is raised on demonstrations and lowered on tries.

    Where both sides weigh the same its optimum is $r = \log\frac{p_{demonstration}}{p_{policy}}$, 0 where the two are alike:
    the discriminator of adversarial imitation (Ho and Ermon 2016, GAIL, arXiv:1606.03476), of which inverse reinforcement
    learning by the likelihood of demonstrations is the other form. `weight` is a column of $w$, which evens the sides where
    one is larger. `kind` is a column with the number of the head's output that is a track's reward, for a head of several.

    Assumes demonstrations of the problems that the policy tries: of others, the problem itself gives them away. Biased in
    how large it is wherever one side is seen again: it is then surer than any log-ratio. Notes `told_apart`, the share
    of the weights on tracks on their own side of 0 (0 itself counts half).

    Args:
        label: column: 1 for a demonstration, 0 for a try.
        kind: column with the number of the output; without one, the head has one output.
        weight: column of weights; all 1 without one.
        reading: reading of the model that is the reward.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]])
    >>> round(float(gd.losses.discriminator("reward")(batch, {"final": torch.tensor([1.0, 1.0])})[0]), 4)  # 1.6265 / 2
    0.8133
    """

    label: Needs = "demonstrated"
    kind: Needs = ""
    weight: Needs = ""
    reading: str = "final"

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logit = live[self.reading]
        if self.kind and logit.dim() > 1:
            logit = logit.gather(1, batch[self.kind].long()[:, None])[:, 0]
        label = batch[self.label].to(logit.dtype)
        weight = batch[self.weight].to(logit.dtype) if self.weight else torch.ones_like(logit)
        loss = weight * binary_cross_entropy_with_logits(logit, label, reduction="none")
        apart = weight * (torch.sign(logit.detach()) * (2 * label - 1) + 1) / 2
        return reduce_tracks(loss, batch), {"told_apart": reduce_tracks(apart, batch)}


@part
class step_labels(Term):
    r"""$-[y\log\sigma(v) + (1-y)\log\sigma(-v)]$ at every step that has a label $y$, with $v$ the reading just after
    it.

    A process reward model (Lightman et al. 2023, arXiv:2305.20050). Labels are a step column: 1 right so far, 0 not,
    between them a chance such as the share of rollouts that end well (Math-Shepherd, Wang et al. 2023,
    arXiv:2312.08935); a step without one is missing, and neither taught nor counted. Put a label on the last token of
    each line and nowhere else, and the mean over steps is the mean over lines. `good` weighs steps labelled 1, of
    which there are usually more.

    Assumes labels of like policies: a label that is a chance is that of ending well under the policy that was labelled.
    Unbiased for those labels over the steps that have one, where `good` is 1; biased for any other policy's. Notes
    `step_accuracy`, and at the end of an update `right_on_good`, `right_on_bad` and `step_f1`, their harmonic mean
    (labels cut at 1/2).

    Args:
        target: column of the labels.
        reading: reading of the model that is fitted.
        good: weight of steps labelled 1.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0]], steps=2, labels=[1.0, 0.0])
    >>> round(float(gd.losses.step_labels()(batch, {"after": torch.tensor([2.0, 2.0])})[0]), 4)  # (0.1269 + 2.1269) / 2
    1.1269
    """

    target: Needs = "labels"
    reading: str = "after"
    good: float = knob(default=1.0, gt=0.0)
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logit = live[self.reading]
        label = numbers(batch, self.target).to(logit.dtype)
        loss = -label * self.good * logsigmoid(logit) - (1 - label) * logsigmoid(-logit)
        good, right = (label > 0.5).float(), ((logit > 0) == (label > 0.5)).float()
        noted = {"step_accuracy": right, "good": good, "good_right": good * right, "bad_right": (1 - good) * right}
        return reduce(loss, batch, self.mean, self.constant), {n: average(x, batch) for n, x in noted.items()}

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        derived = dict(metrics)
        good, good_right, bad_right = (derived.pop(n, 0.0) for n in ("good", "good_right", "bad_right"))
        if not 1e-9 < good < 1 - 1e-9:  # all of one kind: there is nothing to distinguish
            return derived
        derived["right_on_good"], derived["right_on_bad"] = good_right / good, bad_right / (1 - good)
        both = derived["right_on_good"] + derived["right_on_bad"]
        derived["step_f1"] = 2 * derived["right_on_good"] * derived["right_on_bad"] / both if both else 0.0
        return derived


@part
class implicit_outcome(Term):
    r"""Cross-entropy of the outcome $y$ under $\sigma(\beta\sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)})$, the mean over
    tracks.

    Taught on outcomes alone, the log-ratio of a single step is then a process reward (implicit PRM, Yuan et al. 2024,
    arXiv:2412.01981; trained while it is used in PRIME, Cui et al. 2025, arXiv:2502.01456, with `beta=0.05`).
    `target` is a track column in [0, 1]. Given steps do not count. There is no head: any language model serves, and
    `rewards.implicit` reads it. The sum grows with length, so its scale does too. Assumes that the log-odds of the outcome
    are such a sum; biased where they are not, and for tracks of another policy than those it saw. Notes
    `outcome_accuracy`.

    Args:
        beta: scale of the log-ratio.
        target: column of the outcome, in [0, 1].
        to: name of the reference model.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0]], steps=2, reference__logp=[-1.0, -1.0])
    >>> read = {"logp": torch.tensor([-0.5, -0.5])}
    >>> round(float(gd.losses.implicit_outcome(1.0, target="reward")(batch, read)[0]), 4)  # -log sigma(1)
    0.3133
    """

    beta: float = knob(default=0.05, gt=0.0)
    target: Needs = "correct"
    to: LogpOf = "reference"

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        gain = torch.where(batch.weight > 0, live["logp"] - batch[f"{self.to}.logp"], 0.0)
        logit = self.beta * per_track(gain, batch)
        aim = batch[self.target].to(logit.dtype)
        right = ((logit > 0) == (aim > 0.5)).float().sum() / max(batch.count.tracks, 1)
        loss = binary_cross_entropy_with_logits(logit, aim, reduction="none")
        return reduce_tracks(loss, batch), {"outcome_accuracy": right}
