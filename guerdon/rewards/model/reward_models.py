"""Reward models of the run: a number for the whole (outcome) or for each step (process), from a model with a value head.

Left out: training them, and reward models that answer in words (a judge). `lm(..., value=True)` makes the head.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from guerdon.core.part import part
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.per_step import HOW
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.implicit_reward import in_steps
from guerdon.rewards.model.model_reading import ModelLeaf, Steps, outcome_of_each, sample_tokens


@part
class outcome_model(ModelLeaf):
    r"""$r = w \cdot h_T + b$: what a reward model's head says after the last token of a sample, or with `squash`
    $\sigma(r)$, the probability that it is right, or better, of a head trained with a logistic loss.

    The scalar head on a language model is that of Stiennon et al. (2020, arXiv:2009.01325) and of the outcome-supervised
    models of Cobbe et al. (2021, arXiv:2110.14168). `model` is a name of the run's models. One whose tokens are other than
    the player's is told the conversation again in its own; a sample too long for it failed.

    >>> import guerdon as gd
    >>> print(gd.outcome_model("rm", squash=True).clip(0.1, 0.9))
    clip(outcome_model, 0.1, 0.9)
    """

    model: str = "rm"
    squash: bool = False

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        final = _squashed(tokens.read(self.model, ["final"])["final"], self.squash)
        return outcome_of_each(tokens, self.model, lambda track, _: outcome_of(float(final[track])))


@part
class process_model(ModelLeaf):
    r"""$r_j = \sigma(w \cdot h_j + b)$ after the last token of each step $j$, made one number.

    A step is a line of the text, a turn or a token. `aggregate`: the `product` is the probability that all steps are right if
    they err independently (Lightman et al. 2023, arXiv:2305.20050), the `min` that of the weakest (Wang et al. 2023,
    Math-Shepherd, arXiv:2312.08935), the `last` says how it stands at the end (Snell et al. 2024, arXiv:2408.03314); `mean`
    and `sum` pay for length or do not. `steps` gives the numbers themselves, for credit along the sample and for `delta` and
    `potential`; `detail` says after how many of its actions each step ends. Without `squash` numbers are as the head says
    them. `model` as in `outcome_model`.

    >>> import guerdon as gd
    >>> print(gd.process_model("prm", aggregate="steps"))
    process_model
    """

    model: str = "prm"
    steps: Steps = "line"
    aggregate: Literal["min", "product", "last", "mean", "sum", "steps"] = "min"
    squash: bool = True

    def __post_init__(self) -> None:
        check_plain(self)

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        after = _squashed(tokens.read(self.model, ["after"])["after"], self.squash)

        def judged(_: int, steps: Tensor) -> Outcome:
            pieces = tokens.cut(steps, self.steps, self.model)
            values = torch.stack([after[piece[-1]] for piece in pieces])
            if self.aggregate == "steps":
                return in_steps(values.tolist(), pieces, tokens.own)
            outcome = outcome_of(HOW[self.aggregate](values))
            return Outcome(outcome.reason, outcome.value, {**(outcome.detail or {}), "along": values.tolist()})

        return outcome_of_each(tokens, self.model, judged)


def _squashed(values: Tensor, squash: bool) -> Tensor:
    return torch.sigmoid(values.double()) if squash else values.double()
