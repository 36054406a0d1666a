"""Reward: what every reward is, its operators, and what they build.

A reward is a formula.
Its leaves (a function, a judge, a model) look at samples; they may be slow, fail or be asked early.
All above the leaves is arithmetic over the samples of a step at once, where groups and schedules are known.
What is missing is defined: failed or timed out in a part that counts, so is the whole;
not applicable, the part is left out.
Leaves out: how leaves are asked (`rewards/asking`), how a formula is worked out (`rewards/stage/scorer.py`),
formulas without an operator (`algebra.py`, `algebra.py`, `per_step.py`).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.knob_values import is_schedule
from guerdon.core.part import part
from guerdon.rewards.formula.scores import Scores, Where, joined, numbers
from guerdon.rewards.formula.versions import version_of


class Reward:
    """Base of all rewards. Inner ones have `of` (their parts, by name) and `combine`; leaves have neither.

    >>> import guerdon as gd
    >>> print(gd.exact() + gd.repetition().weight(0.5))
    exact + 0.5 * repetition
    >>> print(gd.exact().explain(completion="4", answer="5"))
    exact: 0
    """

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def of(self) -> Mapping[str, Reward]:
        """What it is made of."""
        return {}

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
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
        """A short hash of source, knobs and models: it identifies the state of a reward."""
        return version_of(self)

    def explain(self, **sample: Any) -> str:
        """How one sample's score comes about, line by line: `r.explain(completion="4", answer="4")`."""
        return str(_above("stage.scorer").explained(self, sample))

    # --- operators ----------------------------------------------------------------------------------------------------

    def weight(self, by: Any) -> weighted:
        """This, times a number or a schedule, as a term of a sum."""
        return weighted(self, by)

    def __mul__(self, other: Any) -> product | weighted:
        return product([self, other]) if isinstance(other, Reward) else self.weight(other)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> blended:
        return blended(named([*_terms(self), *_terms(other)]))

    def __sub__(self, other: Reward) -> blended:
        return self + other.weight(-1.0)

    def clip(self, low: float, high: float) -> clip:
        return clip(self, low, high)

    def gated_by(self, condition: Any, least: float = 0.5) -> gate:
        """This only where `condition` reaches `least`; 0 elsewhere."""
        return gate(self, as_reward(condition), least)

    def vetoed_by(self, condition: Any, least: float = 0.5, value: float = 0.0) -> veto:
        """`value` wherever `condition` reaches `least`."""
        return veto(self, as_reward(condition), least, value)


def _terms(reward: Any) -> Sequence[Any]:
    """What a reward adds to a sum: itself, or the terms of one that is a plain sum."""
    return list(reward.terms.values()) if isinstance(reward, blended) and not reward.renormalise else [reward]


def as_reward(thing: Any) -> Reward:
    """A reward as it is; a function becomes a leaf, one in TRL's form too (`completions` in, a list of numbers out).

    Args:
        thing: a reward, or a function.

    >>> import guerdon as gd
    >>> gd.rewards.as_reward(lambda completion: len(completion)).name
    '<lambda>'
    """
    lifted: Reward = thing if isinstance(thing, Reward) else _above("asking.trl_form").reward_of_function(thing)
    return lifted


def _above(module: str) -> Any:
    """A module of rewards that stands on this one. The only way up from here, and therefore by name and late."""
    return importlib.import_module(f"guerdon.rewards.{module}")


class Around(Reward):
    """A formula around one other reward."""

    reward: Any

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)

    @property
    def of(self) -> Mapping[str, Reward]:
        return {self.reward.name: self.reward}


class Among(Reward):
    """A formula over several others, none of which comes first."""

    parts: list[Any]

    def __post_init__(self) -> None:
        self.parts = [as_reward(p) for p in self.parts]

    @property
    def of(self) -> Mapping[str, Reward]:
        return named(self.parts)


@part
class weighted(Around):
    """$w\\,r$: a reward with its weight, a number or a schedule.

    >>> import guerdon as gd
    >>> print(gd.exact().weight(0.5), "|", 2 * gd.exact())
    0.5 * exact | 2 * exact
    """

    reward: Any
    by: float = 1.0

    @property
    def name(self) -> str:
        return str(self.reward.name)

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        w = where.now(self.by)
        return Scores(inner.value * w, inner.reason, {i: s * w for i, s in inner.steps.items()}, inner.detail)

    def __str__(self) -> str:
        return f"{shown(self.by)} * {self.reward}"


@part
class blended(Reward):
    r"""$\sum_i w_i r_i$, made by `blend`.

    Failed or timed out in a term whose weight is not 0 makes the sum that. A term that does not apply is left out, weights
    unchanged; with `renormalise` the others then count for its share. Terms in steps add up step by step, and what comes
    without steps counts at the last.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.blend(right=gd.exact(), same=gd.exact().weight(0.5)), [{"completion": "4", "answer": "4"}]).whole
    [1.5]
    """

    terms: dict[str, Any]
    renormalise: bool = False

    def __post_init__(self) -> None:
        self.terms = {name: as_reward(term) for name, term in self.terms.items()}
        if not self.terms:
            raise UserError("a blend needs at least one reward: blend(exact=exact, brief=brief.weight(0.1))")
        dotted = [name for name in self.terms if "." in name]
        if dotted:
            raise UserError(
                f"a blend's term {dotted[0]!r} has a dot, which separates a part and its components: rename it"
            )

    @property
    def name(self) -> str:
        return "blend"

    @property
    def of(self) -> Mapping[str, Reward]:
        return {name: term.reward if isinstance(term, weighted) else term for name, term in self.terms.items()}

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        weights = [where.now(t.by) if isinstance(t, weighted) else 1.0 for t in self.terms.values()]
        terms = list(parts.values())
        reason = joined(terms, [w != 0 for w in weights])
        shares = torch.stack([torch.where(t.valued, t.value, 0.0) * w for t, w in zip(terms, weights, strict=True)])
        total = shares.sum(0)
        if self.renormalise:
            size = torch.tensor(weights, dtype=torch.float64).abs()[:, None]
            there = torch.stack([t.valued for t in terms])
            total = total * size.sum() / (size * there).sum(0).clamp(min=1e-12)
        steps = {} if self.renormalise else _stepwise(terms, weights)
        return numbers(total, reason, steps, {i: ends for i in steps if (ends := _same_ends(terms, i))})

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms.values()).replace("+ -", "- ")


def _stepwise(terms: Sequence[Scores], weights: Sequence[float]) -> dict[int, Tensor]:
    """The steps of a sum, for samples of which some term has steps: all of one length, the others at the last."""
    totals: dict[int, Tensor] = {}
    for i in {i for term in terms for i in term.steps}:
        lengths = {len(term.steps[i]) for term in terms if i in term.steps}
        if len(lengths) > 1 or lengths == {0}:
            continue
        total = torch.zeros(lengths.pop(), dtype=torch.float64)
        for term, w in zip(terms, weights, strict=True):
            if i in term.steps:
                total += w * term.steps[i]
            elif bool(term.valued[i]):
                total[-1] += w * term.value[i]
        totals[i] = total
    return totals


def _same_ends(terms: Sequence[Scores], index: int) -> dict[str, Any] | None:
    """Where the steps of a sample end, if all terms that report it agree."""
    every = [(term.detail.get(index) or {}).get("ends") for term in terms if index in term.steps]
    known = [ends for ends in every if ends]
    return {"ends": known[0]} if known and all(ends == known[0] for ends in known) else None


@part
class product(Among):
    r"""$\prod_i r_i$ over the parts that apply.

    Args:
        parts: the rewards.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.exact() * gd.exact(), [{"completion": "4", "answer": "4"}]).whole
    [1.0]
    """

    parts: list[Any]

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        terms = list(parts.values())
        values = [torch.where(t.valued, t.value, 1.0) for t in terms]
        return numbers(reduce(torch.mul, values), joined(terms))

    def __str__(self) -> str:
        return " * ".join(f"({p})" if isinstance(p, blended) else str(p) for p in self.parts)


@part
class clip(Around):
    """$\\min(\\max(r, low), high)$.

    Args:
        reward: the reward.
        low: least value.
        high: largest value.

    >>> import guerdon as gd
    >>> gd.score_samples((3 * gd.exact()).clip(0.0, 2.0), [{"completion": "4", "answer": "4"}]).whole
    [2.0]
    """

    reward: Any
    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_schedule(self.low) and not is_schedule(self.high) and self.low > self.high:
            raise UserError(f"clip from {self.low:g} to {self.high:g}: the first bound is the lower one")

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        return inner.map(lambda x: x.clamp(where.now(self.low), where.now(self.high)))

    def __str__(self) -> str:
        return f"clip({self.reward}, {shown(self.low)}, {shown(self.high)})"


class Conditional(Reward):
    """A reward and one condition on it."""

    reward: Any
    condition: Any

    def __post_init__(self) -> None:
        self.reward, self.condition = as_reward(self.reward), as_reward(self.condition)

    @property
    def name(self) -> str:
        return str(self.reward.name)

    @property
    def of(self) -> Mapping[str, Reward]:
        return named([self.reward, self.condition])

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        inner, condition = parts.values()
        reason = torch.where(condition.broken, condition.reason, inner.reason)
        return self.decide(inner, condition, reason, where)

    def decide(self, inner: Scores, condition: Scores, reason: Tensor, where: Where) -> Scores:
        raise NotImplementedError


def instead(inner: Scores, reason: Tensor, there: Tensor, value: float) -> Scores:
    """`value` where `there` is true, even where the reward failed; the reward elsewhere."""
    values = torch.where(there, torch.full_like(inner.value, value), inner.value)
    steps = {i: s for i, s in inner.steps.items() if not bool(there[i])}
    return numbers(values, torch.where(there, int(Reason.VALUE), reason).to(torch.int8), steps)


@part
class gate(Conditional):
    """`reward` where `condition` reaches `least`, `otherwise` elsewhere. Closed, the reward itself need not have a value.

    Args:
        reward: the reward behind the gate.
        condition: the reward that opens it.
        least: value of `condition` from which it is open.
        otherwise: value where it is closed.

    >>> import guerdon as gd
    >>> brief = gd.exact().gated_by(gd.matches(r"\\d"))  # worth something only where there is a digit
    >>> gd.score_samples(brief, [{"completion": "4", "answer": "4"}, {"completion": "four", "answer": "four"}]).whole
    [1.0, 0.0]
    """

    reward: Any
    condition: Any
    least: float = 0.5
    otherwise: float = 0.0

    def decide(self, inner: Scores, condition: Scores, reason: Tensor, where: Where) -> Scores:
        closed = condition.valued & (condition.value < where.now(self.least))
        return instead(inner, reason, closed, where.now(self.otherwise))

    def __str__(self) -> str:
        other = f" else {shown(self.otherwise)}" if self.otherwise else ""
        return f"({self.reward} if {self.condition} >= {shown(self.least)}{other})"


@part
class veto(Conditional):
    """`value` where `condition` reaches `least`, whatever the reward; the reward elsewhere.

    Args:
        reward: the reward.
        condition: the reward that triggers the veto.
        least: value of `condition` from which it does.
        value_then: the value in that case.

    >>> import guerdon as gd
    >>> honest = gd.exact().vetoed_by(gd.matches("sorry"), value=-1.0)
    >>> gd.score_samples(honest, [{"completion": "sorry", "answer": "sorry"}]).whole
    [-1.0]
    """

    reward: Any
    condition: Any
    least: float = 0.5
    value_then: float = 0.0

    def decide(self, inner: Scores, condition: Scores, reason: Tensor, where: Where) -> Scores:
        struck = condition.valued & (condition.value >= where.now(self.least))
        return instead(inner, reason, struck, where.now(self.value_then))

    def __str__(self) -> str:
        return f"({self.reward} unless {self.condition} >= {shown(self.least)})"


def named(parts: Sequence[Any]) -> dict[str, Any]:
    """Rewards by their names; those that share one get a number."""
    by_name: dict[str, Any] = {}
    for each in parts:
        reward = as_reward(each)
        name, n = reward.name, 2
        while name in by_name:
            name, n = f"{reward.name}_{n}", n + 1
        by_name[name] = reward
    return by_name


def shown(number: Any) -> str:
    return f"{number:g}" if isinstance(number, int | float) else str(number)
