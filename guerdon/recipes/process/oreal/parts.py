"""OREAL's own parts: which tries are learned from, a head whose mean over tokens is the outcome, and token weights from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from guerdon.core.batch import Batch
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.levels import starts
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import at_steps, steps_of, track_steps, with_step_column
from guerdon.losses.reduce import per_track, reduce_tracks
from guerdon.losses.terms import Term


@part
class one_of_each(FieldColumns):
    """Of the tries at a task one that is right and one that is wrong, drawn at random; none of a task without both.

    OREAL's filter (Lyu et al. 2025, arXiv:2502.06781, `filter_trajectory` of its released code). What is kept is the same
    whenever it is asked in a step. `pairs_share` logs how many tasks have both.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> kept = one_of_each("reward")(example_tries([[0.0, 1.0, 0.0], [1.0, 1.0]]), ExamplePlay())
    >>> sorted(kept["reward"].tolist())
    [0.0, 1.0]
    """

    column: Needs = "correct"

    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = batch.track_column(self.column, "one_of_each").value
        group, size = batch.group("task")
        dice = torch.rand(batch.K, generator=play.generator("one_of_each"), dtype=torch.float64)
        first: list[dict[int, int]] = [{}, {}]  # of wrong and right ones, each group's
        for k in torch.argsort(dice).tolist():
            if not torch.isnan(value[k]):
                first[int(value[k] > 0.5)].setdefault(int(group[k]), k)
        both = first[0].keys() & first[1].keys()
        kept = torch.zeros(batch.K, dtype=torch.bool)
        kept[[of[g] for of in first for g in both]] = True
        play.log(pairs_share=len(both) / max(size, 1))
        return batch.take(kept)


@part
class mean_outcome(Term):
    r"""Cross-entropy of the outcome $y$ under $\sigma(\frac{1}{|y|}\sum_t w_t)$, the mean over tracks; $w_t$ is what a value
    head says before token $t$.

    OREAL's token-level reward model (Lyu et al. 2025, arXiv:2502.06781): taught on outcomes alone, the mean up to a token says
    how it stands by then. `target` is a track column in [0, 1]. Assumes that the log-odds of the outcome are such a mean;
    biased where they are not, and for answers of another policy than those it saw. Notes `outcome_accuracy`.

    >>> import torch
    >>> from guerdon.core.example import example_tries
    >>> read = {"value": torch.tensor([3.0, -1.0])}
    >>> round(float(mean_outcome("reward")(example_tries([[1.0]], steps=2), read)[0]), 4)  # -log sigma(1)
    0.3133
    """

    target: Needs = "correct"

    wants = ("value",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logit = per_track(live["value"], batch, mean=True)
        aim = batch[self.target].to(logit.dtype)
        right = ((logit > 0) == (aim > 0.5)).float().sum() / max(batch.count.tracks, 1)
        loss = binary_cross_entropy_with_logits(logit, aim, reduction="none")
        return reduce_tracks(loss, batch), {"outcome_accuracy": right}


@part
class weigh_tokens(FieldColumns):
    r"""$A_t = \frac{N}{N_\pm} f_\pm\, w_t\, A$ with $w_t = \max(2p_t - 1, 0)$ in right tries and $\max(1 - 2p_t, 0)$ in wrong
    ones, $p_t = \sigma(\frac{1}{t}\sum_{u \le t} s_u)$: a try's advantage, where the head $s$ agrees with its outcome.

    OREAL (Lyu et al. 2025, arXiv:2502.06781). $f$ is 1 for right tries, whose imitation this is where the policy sampled them
    itself, and `negative` for wrong ones; $N_\pm$ are the tokens of each kind and $N$ all of them, so that under a mean over
    steps each kind has a mean of its own. With `weighed=False` $w_t$ is 1.

    *Assumes* an advantage above 0 for right tries and below for wrong ones. *Biased*, on purpose: tokens of which the head is
    unsure are not learned from, and where it is wrong about a try nothing of it is.

    Steps without an advantage keep none and are in no count. Logs `NAME/weight`, the mean of $w_t$ over those that have one.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 0.0]], shaped=[1.0, -1.0], token_rm__value=[0.0, -1.0986123])  # chances 1/2 and 1/4
    >>> weigh_tokens(right="reward")(batch, ExamplePlay())["advantage"].round(decimals=4).tolist()  # -1/2 * 2 / 1 * 0.5
    [0.0, -0.5]
    """

    advantage: Needs = "shaped"
    right: Needs = "correct"
    model: Annotated[str, ColumnField("needs", ("value",))] = "token_rm"
    negative: float = knob(default=0.5, ge=0.0)
    weighed: bool = True
    gives_to: Gives = "advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, outcome, head = (batch.cols[n] for n in (self.advantage, self.right, f"{self.model}.value"))
        advantage, right = at_steps(batch, column).double(), at_steps(batch, outcome) > 0.5
        chance = self._chance(batch, head.value.double())
        weight = torch.where(right, 2 * chance - 1, 1 - 2 * chance).clamp(min=0.0) if self.weighed else chance * 0 + 1
        counted = ~advantage.isnan()
        sides = [(counted & side).double().sum().clamp(min=1) for side in (right, ~right)]
        scale = torch.where(right, 1.0 / sides[0], self.negative / sides[1]) * counted.double().sum()
        if bool(counted.any()):
            play.log(**{f"{self.gives_to}/weight": float(weight[counted].nanmean())})
        weighed = (advantage * weight * scale).to(column.value.dtype)
        return with_step_column(batch, self.gives_to, weighed, column, outcome, head)

    def _chance(self, batch: Batch, score_S: Tensor) -> Tensor:
        """[S] the head's mean up to each step of a track, as a chance, unknown from where it said nothing; given steps are
        in no mean."""
        unrolled = track_steps(batch)
        own, score = unrolled.at(batch.weight > 0).double(), unrolled.at(score_S)
        hole = score.isnan().double() * own
        before = starts(steps_of(batch))[unrolled.track]

        def upto(x: Tensor) -> Tensor:
            total = torch.cumsum(torch.cat([x.new_zeros(1), x]), 0)
            return total[1:] - total[before]

        mean = upto(score.nan_to_num(0.0) * own) / upto(own).clamp(min=1)
        return torch.sigmoid(unrolled.back(mean.masked_fill(upto(hole) > 0, float("nan"))))


@part
class after_share:
    """A schedule: 0 for the first `share` of a run, then `then`.

    >>> [after_share(2.0, 0.25).at(step, 4) for step in range(4)]
    [0.0, 2.0, 2.0, 2.0]
    """

    then: float
    share: float = knob(default=0.1, ge=0.0, le=1.0)

    def at(self, step: int, steps: int) -> float:
        return self.then if step >= self.share * steps else 0.0
