"""Scores for samples that come from elsewhere, given as plain fields. The one function that every bridge calls.

Those that wait are asked all at once, the others one after another; also when the caller already runs inside an event loop.
Left out: episodes and columns (`rewards/score.py`), and what each library is told where a number is missing.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import torch

from guerdon.core.column import Reason
from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.core.seeds import derive
from guerdon.rewards.base import Reward, Where, said
from guerdon.rewards.function import Leaf, as_reward, ask_all, ask_all_later, run
from guerdon.rewards.samples import FIELDS, Samples
from guerdon.rewards.scores import Outcome, Scores

Numbers = list[float | None]
REASONS = tuple(Reason)


@dataclass(frozen=True)
class Scored:
    """A number for each sample, or None and the reason why; the same for every named part of the formula."""

    whole: Numbers
    reasons: list[Reason]
    details: list[Any]  # a verdict's why, an exception's text, or None
    parts: dict[str, Numbers]
    part_reasons: dict[str, list[Reason]]

    @property
    def broken(self) -> list[bool]:
        """Which samples' score failed or timed out, as opposed to not applying."""
        return [reason >= Reason.FAILED for reason in self.reasons]

    @property
    def means(self) -> dict[str, float]:
        """The mean of what there is, named as the columns of a run are: `reward`, `reward.PART`."""
        every = {"reward": self.whole, **{f"reward.{name}": part for name, part in self.parts.items()}}
        there = {name: [x for x in numbers if x is not None] for name, numbers in every.items()}
        return {name: math.fsum(numbers) / len(numbers) for name, numbers in there.items() if numbers}

    def broken_said(self, name: str) -> str | None:
        """How many broke and how the first did, in one line; None when none did."""
        broken = [n for n, is_so in enumerate(self.broken) if is_so]
        if not broken:
            return None
        late = sum(self.reasons[n] is Reason.TIMED_OUT for n in broken)
        counts = [f"{count} {how}" for count, how in ((len(broken) - late, "failed"), (late, "timed out")) if count]
        first = self.said(broken[0])
        return (
            f"{name} gave no score for {len(broken)} of {len(self.whole)} samples ({', '.join(counts)}); first: {first}"
        )

    def said(self, index: int) -> str:
        """One sample's outcome as a person reads it."""
        value = self.whole[index]
        return said(Outcome(self.reasons[index], math.nan if value is None else value, self.details[index]))


@dataclass(frozen=True)
class _Question:
    """A formula and the samples it is asked about."""

    formula: Reward
    samples: Samples

    @classmethod
    def of(
        cls, reward: Any, samples: Sequence[Mapping[str, Any]], group: Sequence[int] | None, step: int = 0
    ) -> _Question:
        if group is not None and len(group) != len(samples):
            raise UserError(f"{len(samples)} samples and {len(group)} group numbers: give one for each sample")
        formula, fields = as_reward(reward), [_fields(sample) for sample in samples]
        there = {name for each in fields for name in (*each, *each["meta"])}
        for leaf in formula.leaves if fields else ():
            _check_fields(leaf, there)
        given = [0] * len(samples) if group is None else list(group)
        number = {g: n for n, g in enumerate(dict.fromkeys(given))}
        first = derive(step)
        return cls(formula, Samples.of(fields, range(first, first + len(samples)), [number[g] for g in given]))

    async def ask(self, pool: Executor | None = None) -> dict[int, Scores]:
        """Every leaf's scores by its `id`. Those that keep a thread busy do so in one of `pool`, where there is one."""
        leaves = self.formula.leaves
        away = [] if pool is None else [leaf for leaf in leaves if not leaf.waits]
        here = [leaf for leaf in leaves if leaf not in away]
        found = await ask_all_later([(leaf, self.samples) for leaf in here])
        if away:
            questions = [(leaf, self.samples) for leaf in away]
            found += await asyncio.get_running_loop().run_in_executor(pool, ask_all, questions)
        return {id(leaf): Scores.of(outcomes) for leaf, outcomes in zip([*here, *away], found, strict=True)}

    def answer(self, asked: Mapping[int, Scores], step: int, steps: int, metrics: Mapping[str, float] | None) -> Scored:
        formula = self.formula
        where = Where(self.samples.group, step, steps, metrics or {})
        log: dict[str, Scores] = {}
        if formula.of:  # not `formula.value`: a part of a part may share a part's name, and the outer one is meant
            found = {name: part.value(asked, where, log) for name, part in formula.of.items()}
            whole = formula.combine(found, where)
            log |= found
        else:
            whole = formula.value(asked, where)
        return Scored(
            _numbers(whole),
            _reasons(whole),
            _details(formula, asked, whole),
            {name: _numbers(part) for name, part in log.items()},
            {name: _reasons(part) for name, part in log.items()},
        )


def score_samples(
    reward: Any,
    samples: Sequence[Mapping[str, Any]],
    group: Sequence[int] | None = None,
    step: int = 0,
    steps: int = 1,
    metrics: Mapping[str, float] | None = None,
) -> Scored:
    """Score samples given by their fields: prompt, completion, answer, turns, ...; any other name is as a key of `meta`.

    `group` numbers the samples that are tries at one prompt (all are, when left out). `step` of `steps` is where the run
    stands, `metrics` the means of the step before: both for rewards with schedules.
    """
    question = _Question.of(reward, samples, group, step)
    return question.answer(run(question.ask()), step, steps, metrics)


async def score_samples_later(
    reward: Any,
    samples: Sequence[Mapping[str, Any]],
    group: Sequence[int] | None = None,
    pool: Executor | None = None,
) -> Scored:
    """The same for a caller that can wait: its event loop is free for others while leaves wait, and with a `pool` of
    threads also while they work."""
    question = _Question.of(reward, samples, group)
    return question.answer(await question.ask(pool), 0, 1, None)


def no_gaps(scored: Scored, name: str, missing: float | None) -> list[float]:
    """The numbers, for a library that has no way to say that there is none.

    Without `missing` a gap stops the run: no number made up here would be a reward.
    """
    gaps = [n for n, value in enumerate(scored.whole) if value is None]
    if not gaps:
        return [x for x in scored.whole if x is not None]
    if missing is None:
        raise RunStopped(
            f"{name} gave no score for {len(gaps)} of {len(scored.whole)} samples (first: {scored.said(gaps[0])}) and this "
            "library takes only numbers: mend the reward, or choose what such a sample is worth with missing=NUMBER"
        )
    warn_broken(scored, name, f"each counts {missing:g}, as chosen with `missing`")
    return [missing if x is None else x for x in scored.whole]


def warn_broken(scored: Scored, name: str, then: str) -> None:
    """Say how many samples failed or timed out, and what becomes of them."""
    line = scored.broken_said(name)
    if line:
        warnings.warn(f"{line}; {then}", Notice, stacklevel=3)


def _fields(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample as leaves are asked about it: what is no field of a track stands in `meta`."""
    own = sample.get("meta")
    others = {name: value for name, value in sample.items() if name not in FIELDS}
    return {
        **{name: value for name, value in sample.items() if name in FIELDS},
        "meta": {**others, **(own if isinstance(own, Mapping) else {})},
    }


def _check_fields(leaf: Leaf, there: set[str]) -> None:
    """Refuse a reward that needs what no sample has: it would only fail on each of them."""
    for name in leaf.wants.names:
        if name not in there and name not in leaf.wants.optional:
            raise UserError(
                f"reward {leaf.name} needs {name!r} and no sample has it; there is {', '.join(sorted(there))}: "
                "rename the argument or the column"
            )


def _numbers(scores: Scores) -> Numbers:
    valued = scores.valued.tolist()
    return [value if has else None for value, has in zip(scores.value.tolist(), valued, strict=True)]


def _reasons(scores: Scores) -> list[Reason]:
    return [REASONS[reason] for reason in scores.reason.tolist()]


def _details(formula: Reward, asked: Mapping[int, Scores], whole: Scores) -> list[Any]:
    """What the whole has to say about each sample, or for one that broke, the leaf that broke it."""
    found = [whole.detail.get(n) for n in range(len(whole))]
    for n in torch.nonzero(whole.broken).flatten().tolist():
        if found[n] is None:
            causes = (asked[id(leaf)] for leaf in formula.leaves)
            found[n] = next((s.detail.get(n) for s in causes if s.reason[n] == whole.reason[n]), None)
    return found
