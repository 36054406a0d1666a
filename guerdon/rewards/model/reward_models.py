"""Reward models: a number for the whole (outcome) or for each step (process), from a value head or from log-ratios.

One is a model of the run, by its name, or one that an earlier run trained, by its folder; the folder needs no run around it.
An implicit reward is how far a trained model moved from its start. `both_directions` reads an answer from its first line to its
last, and from its last to its first. Left out: training them (`recipes/process`), and reward models that answer in words (a
judge). `lm(..., value=True)` makes the head.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.model import Meter, Model
from guerdon.core.part import knob, part
from guerdon.models.probing import reads_alike
from guerdon.models.trained_folders import opened_scorer
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.per_step import REDUCTIONS
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, Models, Steps, model_of, outcome_of_each, sample_tokens


@dataclass(frozen=True)
class _Brought:
    """A reward model that comes with the reward, where a run has its models."""

    models: Mapping[str, Model]


class ScorerLeaf(ModelLeaf):
    """Scores of a model with a value head. One in a folder is hashed by its weights: its place is not part of a run."""

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
        """For the hash: a folder is replaced by its contents."""
        return {"model": f"weights {opened_scorer(self.model)[1]}"} if is_folder(self.model) else {}


def is_folder(model: str) -> bool:
    """Whether a model is named by where it lies; a bare word is a model of the run."""
    return os.sep in model


@part
class outcome_model(ScorerLeaf):
    r"""$r = w \cdot h_T + b$: the output of a reward model's head after the last token of a sample, or with `squash`
    $\sigma(r)$, the probability that it is right, or better, of a head trained with a logistic loss.

    The scalar head on a language model is that of Stiennon et al. (2020, arXiv:2009.01325) and of the outcome-supervised
    models of Cobbe et al. (2021, arXiv:2110.14168). `model` is a name of the run's models; or, with a slash in it, the folder
    of a finished run of `reward_model` or of any model with a value head, which is loaded when it is first asked and works
    outside of runs too. One with other tokens than the player's gets the conversation re-encoded in its own; a sample too
    long for it failed.

    Args:
        model: name of a model of the run, or folder of a finished one.
        squash: return the probability.

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
    Math-Shepherd, arXiv:2312.08935), the `last` is the score at the end (Snell et al. 2024, arXiv:2408.03314); `mean`
    and `sum` pay for length or do not. `steps` gives the numbers themselves, for credit along the sample and for `delta` and
    `potential`; `detail` has after how many of its actions each step ends. Without `squash` numbers are the head's
    own. `model` as in `outcome_model`.

    Args:
        model: name of a model of the run, or folder of a finished one.
        steps: what a step is: "line", "turn" or "token".
        aggregate: how steps become one number.
        squash: return probabilities.

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


@part
class implicit(ModelLeaf):
    r"""$\beta \log \frac{\pi(y_t \mid x, y_{<t})}{\pi_{ref}(y_t \mid x, y_{<t})}$, summed over the sample, or for each of its
    turns, lines or tokens.

    A model trained by DPO is a reward model, and its log-ratio at a token is that token's share of the reward (Rafailov et
    al. 2024, arXiv:2404.12358); trained on outcomes alone the same ratio is a process reward (Yuan et al. 2024,
    arXiv:2412.01981), which PRIME (Cui et al. 2025, arXiv:2502.01456) trains while it is used. `beta` is PRIME's 0.05.

    `model` and `reference` are names of the run's models that read text alike; `per` is the unit of one number. All but
    `sample` come in steps, for credit along the sample; `detail` has after how many of its actions each ends. With `so_far`
    the number of a step is the sum up to its end, $q_t$, which for a model of outcomes is how the sample stands by then: what
    judges steps, while the single numbers, $q_t - q_{t-1}$, are what each added. Log-probs are
    of the distributions that were sampled from: with top-k and the like, a token the reference cuts off has none, and the
    sample failed.

    Args:
        model: name of the trained model.
        reference: name of the reference model.
        beta: scale of the log-ratio.
        per: unit of one number.
        so_far: sum up to the end of each step.

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
    """Numbers for pieces of a sample, and after how many of its actions each ends, unless they were re-encoded in other
    tokens."""
    outcome = outcome_of(values)
    if outcome.reason is not Reason.VALUE:
        return outcome
    ends = {"ends": list(itertools.accumulate(map(len, pieces)))} if own else None
    return Outcome(Reason.VALUE, math.fsum(values), ends, tuple(values))


def backwards(text: str) -> str:
    r"""The lines of a text from the last to the first, without blank ones.

    >>> backwards("2x=4\nx=2\n= 2")
    '= 2\nx=2\n2x=4'
    """
    return "\n".join(reversed([line for line in text.split("\n") if line.strip()]))


@part
class two_way(ScorerLeaf):
    r"""$r_j = \frac12\left(\sigma(v_j^{\rightarrow}) + \sigma(v_j^{\leftarrow})\right)$ for each line $j$: the output
    of a process reward model's head after it with the lines in order, and with the lines in reverse (The Bidirectional
    Process Reward Model, Zhang et al. 2025, arXiv:2508.01682, first version).

    So later lines can lower the score of a line. `aggregate` and `model` are as in `process_model`, the model being one
    that was taught both orders (`guerdon train biprm`); of one that was not, the second reading is a guess. It costs two
    readings of every answer. An answer has one turn. One that is too long for the model failed. Not for judging an answer
    that is still being written: its score of a line changes with the lines to come.

    Args:
        model: name of a model of the run.
        aggregate: how lines become one number.

    >>> import tempfile
    >>> import guerdon as gd
    >>> scorer, sample = gd.models.load("sprig", value=True), {"prompt": "chain 8 +9", "completion": "8+9=17\n= 17"}
    >>> scorer.start(0, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.models.save(scorer, folder)
    ...     gd.score_samples(gd.two_way(folder), [sample]).whole  # a fresh head
    [0.5]
    """

    model: str = "prm"
    aggregate: Literal["min", "product", "last", "mean", "sum", "steps"] = "min"

    def __post_init__(self) -> None:
        check_plain(self)

    async def score(self, samples: Samples) -> list[Outcome]:
        play = self.play_of(samples)
        tokens = sample_tokens(samples, play, self.model)
        turned = Samples.of([_turned(fields) for fields in samples.fields])
        behind = sample_tokens(turned, play, self.model)
        after, before = (torch.sigmoid(each.read(self.model, ["after"])["after"].double()) for each in (tokens, behind))
        ways = zip(behind.track.tolist(), behind.steps(), strict=True)
        back = [behind.cut(steps, "line", self.model) if track >= 0 else None for track, steps in ways]
        at = dict(zip(tokens.track.tolist(), back, strict=True))

        def judged(track: int, steps: Tensor) -> Outcome:
            pieces, other = tokens.cut(steps, "line", self.model), at[track]
            if other is None or len(other) != len(pieces):
                return Outcome(Reason.FAILED, detail={"error": "ValueError: its lines cannot be reversed"})
            both = [after[a[-1]] + before[b[-1]] for a, b in zip(pieces, reversed(other), strict=True)]
            values = torch.stack(both) / 2
            if self.aggregate == "steps":
                return in_steps(values.tolist(), pieces, tokens.own)
            outcome = outcome_of(REDUCTIONS[self.aggregate](values))
            return Outcome(outcome.reason, outcome.value, {**(outcome.detail or {}), "along": values.tolist()})

        return outcome_of_each(tokens, self.model, judged)


def _turned(fields: Any) -> dict[str, Any]:
    """A sample whose answer has its lines in reverse."""
    if len(fields.get("turns", [""])) > 1:
        raise UserError("two_way reverses the lines of one answer, and a sample here has several turns")
    shown = fields["view"] if "view" in fields else fields.get("prompt", "")
    return {"prompt": shown, "completion": backwards(str(fields.get("completion", "")))}
