"""The reward that a trained model implies by how far it moved from where it began. Left out: training it (a Learn before the
stage that reads it)."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import torch

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.models.probing import reads_alike
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, outcome_of_each, sample_tokens


@part
class implicit(ModelLeaf):
    r"""$\beta \log \frac{\pi(y_t \mid x, y_{<t})}{\pi_{ref}(y_t \mid x, y_{<t})}$, summed over the sample, or for each of its
    turns, lines or tokens.

    A model trained by DPO is a reward model, and its log-ratio at a token is that token's share of the reward (Rafailov et
    al. 2024, arXiv:2404.12358); trained on outcomes alone the same ratio is a process reward (Yuan et al. 2024,
    arXiv:2412.01981), which PRIME (Cui et al. 2025, arXiv:2502.01456) trains while it is used. `beta` is PRIME's 0.05.

    `model` and `reference` are names of the run's models that read text alike; `per` is what one number stands for. All but
    `sample` come in steps, for credit along the sample; `detail` says after how many of its actions each ends. With `so_far`
    the number of a step is the sum up to its end, $q_t$, which for a model of outcomes is how the sample stands by then: what
    judges steps, while the single numbers, $q_t - q_{t-1}$, are what each added. Log-probs are
    of the distributions that were sampled from: with top-k and the like, a token the reference cuts off has none, and the
    sample failed.

    >>> import guerdon as gd
    >>> print(gd.implicit(per="line").weight(2.0))
    2 * implicit
    """

    model: str = "policy"
    reference: str = "reference"
    beta: float = knob(default=0.05, gt=0.0)
    per: Literal["sample", "turn", "line", "token"] = "sample"
    so_far: bool = knob(default=False, absent=False)

    def __post_init__(self) -> None:
        check_plain(self)
        if self.model == self.reference:
            raise UserError(f"implicit compares two models, and both are {self.model!r}: the ratio would always be 1")

    async def score(self, samples: Samples) -> list[Outcome]:
        play = self.play_of(samples)
        tokens = sample_tokens(samples, play, self.model)
        for episode in tokens.batch.episodes[:1]:
            if not reads_alike(model_of(play, self.reference), episode.segments[0]):
                raise UserError(
                    f"implicit compares log-probs of the same tokens: {self.model!r} and {self.reference!r} tokenize"
                    " text differently"
                )
        logp, other = (tokens.read(name, ["logp"])["logp"].double() for name in (self.model, self.reference))
        ratio = self.beta * (logp - other)
        if self.per == "sample":
            return outcome_of_each(tokens, self.model, lambda _, steps: outcome_of(float(ratio[steps].sum())))
        by = self.per

        def by_pieces(_: int, steps: torch.Tensor) -> Outcome:
            pieces = tokens.cut(steps, by, self.model)
            added = [float(ratio[piece].sum()) for piece in pieces]
            return in_steps(list(itertools.accumulate(added)) if self.so_far else added, pieces, tokens.own)

        return outcome_of_each(tokens, self.model, by_pieces)


def in_steps(values: list[float], pieces: list[torch.Tensor], own: bool) -> Outcome:
    """Numbers for pieces of a sample, and after how many of its actions each ends, unless they were told in other tokens."""
    outcome = outcome_of(values)
    if outcome.reason is not Reason.VALUE:
        return outcome
    ends = {"ends": list(itertools.accumulate(map(len, pieces)))} if own else None
    return Outcome(Reason.VALUE, math.fsum(values), ends, tuple(values))
