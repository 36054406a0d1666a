"""Reward models: a number for the whole (outcome) or for each step (process), from a model with a value head.

One is a model of the run, by its name, or one that an earlier run trained, by its folder; the folder needs no run around it.
Left out: training them, and reward models that answer in words (a judge). `lm(..., value=True)` makes the head.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.errors import UserError
from guerdon.core.model import Meter, Model
from guerdon.core.part import part
from guerdon.models.trained_folders import opened_scorer
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.per_step import REDUCTIONS
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.implicit_reward import in_steps
from guerdon.rewards.model.model_reading import ModelLeaf, Models, Steps, outcome_of_each, sample_tokens


@dataclass(frozen=True)
class _Brought:
    """A reward model that comes with the reward, where a run has its models."""

    models: Mapping[str, Model]


class ScorerLeaf(ModelLeaf):
    """What a model with a value head says. One in a folder is hashed by its weights: where it lies is no part of a run."""

    model: str

    def play_of(self, samples: Samples) -> Models:
        if not is_folder(self.model):
            if samples.play is None:
                raise UserError(
                    f"{self.name} reads {self.model!r}, a model of the run, and there is no run here: give it the folder of a"
                    " trained one"
                )
            return samples.play
        scorer = copy.copy(opened_scorer(self.model)[0])
        run = samples.play.models.values() if samples.play is not None else ()
        scorer.meter = next((model.meter for model in run), Meter())  # what it reads is spent by the run that asks
        return _Brought({self.model: scorer})

    def meant(self) -> dict[str, Any]:
        """For the hash: a folder stands for what is in it."""
        return {"model": f"weights {opened_scorer(self.model)[1]}"} if is_folder(self.model) else {}


def is_folder(model: str) -> bool:
    """Whether a model is named by where it lies; a bare word is a model of the run."""
    return os.sep in model


@part
class outcome_model(ScorerLeaf):
    r"""$r = w \cdot h_T + b$: what a reward model's head says after the last token of a sample, or with `squash`
    $\sigma(r)$, the probability that it is right, or better, of a head trained with a logistic loss.

    The scalar head on a language model is that of Stiennon et al. (2020, arXiv:2009.01325) and of the outcome-supervised
    models of Cobbe et al. (2021, arXiv:2110.14168). `model` is a name of the run's models; or, with a slash in it, the folder
    of a finished run of `reward_model` or of any model with a value head, which is loaded when it is first asked and works
    outside of runs too. One whose tokens are other than the player's is told the conversation again in its own; a sample too
    long for it failed.

    >>> import tempfile
    >>> import guerdon as gd
    >>> print(gd.outcome_model("rm", squash=True).clip(0.1, 0.9))
    clip(outcome_model, 0.1, 0.9)
    >>> scorer = gd.models.load("sprig", value=True)
    >>> scorer.start(0, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.models.save(scorer, folder)
    ...     gd.score_samples(gd.outcome_model(folder), [{"prompt": "chain 8 +9", "completion": "= 17"}]).whole  # a fresh head
    [0.0]
    """

    model: str = "rm"
    squash: bool = False

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        final = _squashed(tokens.read(self.model, ["final"])["final"], self.squash)
        return outcome_of_each(tokens, self.model, lambda track, _: outcome_of(float(final[track])))


@part
class process_model(ScorerLeaf):
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
            outcome = outcome_of(REDUCTIONS[self.aggregate](values))
            return Outcome(outcome.reason, outcome.value, {**(outcome.detail or {}), "along": values.tolist()})

        return outcome_of_each(tokens, self.model, judged)


def _squashed(values: Tensor, squash: bool) -> Tensor:
    return torch.sigmoid(values.double()) if squash else values.double()
