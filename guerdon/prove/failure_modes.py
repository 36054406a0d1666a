"""Failure modes: whether the problem that a method is for occurs, measured on the batches that a baseline trains on.

Each measure takes a batch with the truth of every try in `correct` and what was learned from in `reward` (without one the
truth), and returns one number, or None where the batch does not have it. `failure_mode` is the stage that measures in a run.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.part import part
from guerdon.core.play import Play

MEASURED = "failure/"  # before the name of a measure, in the metrics of a step
TRUTH, PAID = "correct", "reward"


def all_wrong(batch: Batch) -> float | None:
    """The share of groups in which every try is wrong."""
    rates = _group_rates(batch, _column(batch, TRUTH))
    return None if rates is None else float((rates == 0).double().mean())


def flat_groups(batch: Batch) -> float | None:
    """The share of groups whose tries are all right or all wrong, from which nothing is learned."""
    rates = _group_rates(batch, _column(batch, TRUTH))
    return None if rates is None else float(((rates == 0) | (rates == 1)).double().mean())


def flipped(batch: Batch) -> float | None:
    """The share of tries whose reward contradicts the truth: above one half for a wrong one, or not for a right one."""
    truth, paid = _both(batch)
    return float(((paid > 0.5) != (truth > 0.5)).double().mean()) if len(truth) else None


def unlabelled(batch: Batch) -> float | None:
    """The share of tries without a reward."""
    return float(_column(batch, PAID).isnan().double().mean()) if batch.K else None


def model_turns(batch: Batch) -> float | None:
    """How many turns of the model a try has, on average."""
    own = torch.zeros(batch.G, dtype=torch.double)
    own[batch.seg.cpu()] = 1.0
    per_track = torch.zeros(batch.K, dtype=torch.double)
    per_track.index_add_(0, batch.path_track.cpu(), own[batch.path_seg.cpu()])
    return float(per_track.mean()) if batch.K else None


def disagreement(batch: Batch) -> float | None:
    """How far the order of rewards inside groups is not that of the truth: the share of pairs of a right and a wrong try of
    one problem in which the wrong one has at least the reward of the right one."""
    truth, paid = _column(batch, TRUTH), _column(batch, PAID)
    group, size = batch.group("task")
    lost = pairs = 0
    for g in range(size):
        here = (group == g) & ~truth.isnan() & ~paid.isnan()
        right, wrong = paid[here & (truth > 0.5)], paid[here & (truth <= 0.5)]
        pairs += len(right) * len(wrong)
        lost += int((wrong[None, :] >= right[:, None]).sum())
    return lost / pairs if pairs else None


def rewarded_errors(batch: Batch) -> float | None:
    """The mean reward of wrong tries less the lowest reward of the batch, in units of its range."""
    truth, paid = _both(batch)
    wrong, spread = paid[truth <= 0.5], (paid.max() - paid.min() if len(paid) else torch.tensor(0.0))
    return float((wrong.mean() - paid.min()) / spread) if len(wrong) and float(spread) > 0 else None


MEASURES: dict[str, Callable[[Batch], float | None]] = {
    measure.__name__: measure
    for measure in (all_wrong, flat_groups, flipped, unlabelled, model_turns, disagreement, rewarded_errors)
}


@part
class failure_mode:
    """A stage that writes a measure of the batch into the step's metrics and changes nothing."""

    measure: str

    needs = ()
    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = MEASURES[self.measure](batch)
        if value is not None:
            play.log(**{f"{MEASURED}{self.measure}": value})
        return batch


def _column(batch: Batch, name: str) -> Tensor:
    """[K] a column; the truth for a batch without rewards."""
    return batch.cols[name if name in batch.cols else TRUTH].value.double()


def _both(batch: Batch) -> tuple[Tensor, Tensor]:
    truth, paid = _column(batch, TRUTH), _column(batch, PAID)
    there = ~truth.isnan() & ~paid.isnan()
    return truth[there], paid[there]


def _group_rates(batch: Batch, truth: Tensor) -> Tensor | None:
    """[groups] the share of right tries of each problem of which any has a truth."""
    group, size = batch.group("task")
    there = ~truth.isnan()
    of, rights = group[there].cpu(), truth[there].cpu()
    count = torch.bincount(of, minlength=size).double()
    right = torch.bincount(of, weights=rights, minlength=size)
    return (right / count)[count > 0] if int((count > 0).sum()) else None
