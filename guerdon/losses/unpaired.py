"""Learning from tracks that are each known to be good or bad, without a partner to compare them with.

Axes: K tracks.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.field_columns import FieldColumns, Gives, LogpOf, Needs
from guerdon.core.pack import pack
from guerdon.core.part import knob, part
from guerdon.core.play import Play, played_by
from guerdon.losses.reduce import per_track, reduce_tracks
from guerdon.losses.terms import Term


@part
class kto(Term):
    r"""$\lambda_D(1-\sigma(\beta(h - z_0)))$ for a good track, $\lambda_U(1-\sigma(\beta(z_0 - h)))$ for a bad one,
    mean over tracks.

    $h(y) = \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$ and $z_0$, without a gradient, is how far the policy is from
    its reference on the whole (KTO, Ethayarajh et al. 2024, arXiv:2402.01306). `label` is a track column, 1 good and
    0 bad; between them the mixture. `baseline` is the column of $z_0$, as `mismatched_kl` gives it: over a whole
    batch, before it is split, so that micro-batches cannot change it. TRL re-estimates it in each micro-batch.
    Without `baseline`, $z_0=0$, which the paper finds to do after supervised fine-tuning. The paper advises
    $\lambda_D n_D / \lambda_U n_U$ in [1, 1.5].

    Assumes labels that hold without a partner, and a $z_0$ near the KL. Biased as far as $z_0$ is (`mismatched_kl`), and on
    purpose: the loss saturates, so a track far on either side pulls no more. Notes `good_gain` and `bad_gain`, the means
    of $\beta h$.

    Args:
        beta: scale of the log-ratio.
        to: name of the reference model.
        label: column: 1 good, 0 bad.
        good: weight of good tracks.
        bad: weight of bad tracks.
        baseline: column of the reference point; 0 without one.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0])
    >>> read = {"logp": torch.tensor([0.0, -1.0])}
    >>> round(float(gd.losses.kto(1.0, label="reward")(batch, read)[0]), 4)  # (sigma(-1) + 1/2) / 2
    0.3845
    """

    beta: float = knob(default=0.1, gt=0.0)
    to: LogpOf = "reference"
    label: Needs = "correct"
    good: float = knob(default=1.0, ge=0.0)
    bad: float = knob(default=1.0, ge=0.0)
    baseline: Needs = ""

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        gain = torch.where(batch.weight > 0, live["logp"] - batch[f"{self.to}.logp"], 0.0)
        gain = self.beta * per_track(gain, batch)
        start = self.beta * batch[self.baseline] if self.baseline else torch.zeros_like(gain)
        label = batch[self.label].to(gain.dtype)
        losses = label * self.good * torch.sigmoid(start - gain) + (1 - label) * self.bad * torch.sigmoid(gain - start)
        below = max(batch.count.tracks, 1)
        noted = {"good_gain": label * gain, "bad_gain": (1 - label) * gain, "good_share": label, "baseline": start}
        return reduce_tracks(losses, batch), {name: x.detach().sum() / below for name, x in noted.items()}

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        derived = dict(metrics)
        share = derived.get("good_share", 0.0)
        for name, part_of in (("good_gain", share), ("bad_gain", 1 - share)):
            total = derived.pop(name, 0.0)
            if part_of > 1e-9:
                derived[name] = total / part_of
        return derived


@part
class mismatched_kl(FieldColumns):
    r"""A stage: $\max(0, \text{mean}_i \sum_t \log\frac{\pi(y_{j}\mid x_i)}{\pi_{ref}(y_{j}\mid x_i)})$, with $y_j$
    the answer to another prompt: KTO's estimate of the distance between policy and reference, the same number for
    every track (Ethayarajh et al. 2024, arXiv:2402.01306).

    Answers are moved along by as many tracks as the largest group has, so that no prompt gets an answer of its own
    task while there are enough tasks. Both models process every answer a second time. Of tracks of several segments the
    first is taken. Assumes a batch of several tasks. Biased upwards by the maximum with 0 and, as the paper says, not
    the KL at all, for answers to other prompts are not samples of the policy; it is cheap, and it distinguishes a policy
    that has drifted from one that has not.

    Args:
        model: name of the policy.
        to: name of the reference model.
        gives_to: column of the estimate.

    >>> import guerdon as gd
    >>> gd.losses.mismatched_kl().gives
    ('mismatched_kl',)
    """

    model: str = "policy"
    to: str = "reference"
    gives_to: Gives = "mismatched_kl"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        divergence = self._estimate(batch, play)
        play.log(**{self.gives_to: divergence})
        return batch.with_cols({self.gives_to: Column.full("track", torch.full((batch.K,), divergence))})

    def _estimate(self, batch: Batch, play: Play) -> float:
        usable = ~batch.failed_K & played_by(batch, [self.model], play)
        first = torch.full((batch.K,), -1, dtype=torch.long).scatter_reduce(
            0, batch.path_track, batch.path_seg, "amin", include_self=False
        )
        task_K = batch.task[batch.leaf]
        at = [k for k in torch.argsort(task_K, stable=True).tolist() if usable[k]]
        if len(at) < 2:
            return 0.0
        shift = int(torch.bincount(task_K[at]).max()) % len(at) or 1
        places = [(int(batch.episode[first[k]]), int(batch.place[first[k]])) for k in at]
        acted = [batch.episodes[e].segments[i] for e, i in places]
        moved = [
            batch.episodes[e].but(segments=(acted[(n + shift) % len(at)].but(context=acted[n].context, parent=-1),))
            for n, (e, _) in enumerate(places)
        ]
        mixed = pack(moved)
        with torch.no_grad():
            logp, other = (play.models[m].read(mixed, ["logp"])["logp"].cpu() for m in (self.model, self.to))
        return max(0.0, float(per_track(logp - other, mixed).double().mean()))
