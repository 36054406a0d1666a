"""Reward: what every reward is, alone or made of others. A reward is a formula: leaves are asked, the rest is arithmetic.

Leaves (a function, a judge, a model) look at samples and may be slow, fail or be asked early. Everything
above them is computed over all samples of a step at once, where groups and schedules are known. Left out: how leaves are
asked (`function.py`), how a formula is worked out (`scoring.py`), the formulas (`algebra.py`, `gates.py`, `along.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from guerdon.core.schedule import at
from guerdon.core.seeds import generator
from guerdon.rewards.scores import Scores

if TYPE_CHECKING:
    from guerdon.rewards.algebra import blended, clip, product, weighted
    from guerdon.rewards.gates import gate, veto


@dataclass(frozen=True)
class Where:
    """What a formula may know besides the scores: the groups that samples are compared in, how far the run is, its seed."""

    group: Tensor  # [N]
    step: int = 0
    steps: int = 1
    metrics: Mapping[str, float] = field(default_factory=dict)  # of the step before
    seed: int = 0  # the run's

    def generator(self, *path: int | str) -> torch.Generator:
        """Random numbers for this place in this step: the same again with the same seed, others with another."""
        return generator(self.seed, self.step, *path)

    def now(self, knob: Any) -> float:
        """A knob's value: a number, a schedule over steps, or one over a metric."""
        if hasattr(knob, "follow"):
            return float(knob.follow(self.metrics))
        return at(knob, self.step, self.steps)


class Reward:
    """Base of all rewards. Inner ones have `of` (their parts, by name) and `combine`; leaves have neither."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def of(self) -> Mapping[str, Reward]:
        """What it is made of."""
        return {}

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        """Its scores from those of its parts."""
        raise NotImplementedError

    @property
    def leaves(self) -> list[Any]:
        """All that must be asked, each once."""
        if not self.of:
            return [self]
        return list({id(leaf): leaf for part in self.of.values() for leaf in part.leaves}.values())

    @property
    def sources(self) -> Sequence[Any]:
        """The code that decides its scores: classes and functions."""
        return (type(self),)

    @property
    def version(self) -> str:
        """A short hash of source, knobs and models: what tells one state of a reward from another."""
        from guerdon.rewards.versions import version_of

        return version_of(self)

    def explain(self, **sample: Any) -> str:
        """How one sample's score comes about, line by line: `r.explain(completion="4", answer="4")`."""
        from guerdon.rewards.scoring import explained

        return explained(self, sample)

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def weight(self, by: Any) -> weighted:
        """This, times a number or a schedule, as a term of a sum."""
        from guerdon.rewards.algebra import weighted

        return weighted(self, by)

    def __mul__(self, other: Any) -> product | weighted:
        from guerdon.rewards.algebra import product

        return product([self, other]) if isinstance(other, Reward) else self.weight(other)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> blended:
        from guerdon.rewards.algebra import blended, named

        return blended(named([*_added(self), *_added(other)]))

    def __sub__(self, other: Reward) -> blended:
        return self + other.weight(-1.0)

    def clip(self, low: float, high: float) -> clip:
        from guerdon.rewards.algebra import clip

        return clip(self, low, high)

    def gated_by(self, condition: Any, least: float = 0.5) -> gate:
        """This only where `condition` reaches `least`; 0 elsewhere."""
        from guerdon.rewards.function import as_reward
        from guerdon.rewards.gates import gate

        return gate(self, as_reward(condition), least)

    def vetoed_by(self, condition: Any, least: float = 0.5, value: float = 0.0) -> veto:
        """`value` wherever `condition` reaches `least`."""
        from guerdon.rewards.function import as_reward
        from guerdon.rewards.gates import veto

        return veto(self, as_reward(condition), least, value)


def _added(reward: Any) -> Sequence[Any]:
    from guerdon.rewards.algebra import blended

    return list(reward.terms.values()) if isinstance(reward, blended) and not reward.renormalise else [reward]
