"""The one scorer: from a formula and samples to a number, or the reason why there is none, for the whole and each named part.

The stage `score`, the bridges, the server, `replay` and `explain` all come through here.
Leaves that wait are asked all at once, the others one after another.
That holds also where the caller already runs inside an event loop.

Leaves out: how a leaf is asked (`asking/function.py`), columns (`score_stages.py`), and what other libraries are given where a
number is missing (`bridges/gaps.py`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import torch

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.rewards.asking.function import Leaf, ask_all, ask_all_later, broken_part, run
from guerdon.rewards.asking.samples import FIELDS, Samples
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Outcome, Scores, Where, in_words, sound

Path = tuple[str, ...]  # the way down to a part, by the names that each formula has for its own; () is the whole
Numbers = list[float | None]
REASONS = tuple(Reason)


@dataclass(frozen=True, repr=False)  # asyncio.run spells out its result once, in vain
class FormulaScores:
    """The scores of a formula: of the whole, with the part that broke each sample that broke, and of every part by name."""

    whole: Scores
    parts: dict[str, Scores]
    every: dict[Path, Scores]  # the same, as they stand in the formula


async def score_later(
    formula: Reward,
    samples: Samples,
    where: Where,
    known: Sequence[Sequence[Outcome | None]] | None = None,
    pool: Executor | None = None,
) -> FormulaScores:
    """Ask a formula's leaves about samples and work the formula out. `known` is what each leaf has already returned, None
    where it is still to be called. Those that keep a thread busy do so in one of `pool`, where there is one."""
    leaves = formula.leaves
    questions = [(leaf, samples.pick(_unknown(known[n])) if known else samples) for n, leaf in enumerate(leaves)]
    here = [n for n, leaf in enumerate(leaves) if pool is None or leaf.waits]
    away = [n for n in range(len(leaves)) if n not in here]
    outcomes = dict(zip(here, await ask_all_later([questions[n] for n in here]), strict=True))
    if away:
        busy = [questions[n] for n in away]
        outcomes |= zip(away, await asyncio.get_running_loop().run_in_executor(pool, ask_all, busy), strict=True)
    asked = {
        id(leaf): Scores.of(_filled(known[n], outcomes[n]) if known else outcomes[n]) for n, leaf in enumerate(leaves)
    }
    return work_out(formula, asked, where)


def _unknown(known: Sequence[Outcome | None]) -> list[int]:
    return [i for i, outcome in enumerate(known) if outcome is None]


def _filled(known: Sequence[Outcome | None], asked: Sequence[Outcome]) -> list[Outcome]:
    """What is known, and in its gaps what was asked since."""
    late = iter(asked)
    return [next(late) if outcome is None else outcome for outcome in known]


def work_out(formula: Reward, asked: Mapping[int, Scores], where: Where) -> FormulaScores:
    """A formula's scores from those of its leaves, by their `id`."""
    every: dict[Path, Scores] = {}

    def score(reward: Reward, path: Path) -> Scores:
        parts = {name: score(part, (*path, name)) for name, part in reward.of.items()}
        scores = _combined(reward, parts, where) if parts else asked[id(reward)]
        every[path] = sound(scores, reward.name, len(where.group))
        return every[path]

    score(formula, ())
    parts = {name: every[path] for path, name in names_of(formula).items()}
    return FormulaScores(_blamed(formula, every), parts, every)


def _combined(reward: Reward, parts: Mapping[str, Scores], where: Where) -> Scores:
    try:
        return reward.combine(parts, where)
    except BaseException as error:  # noqa: BLE001  it may be a user's part
        return Scores.of([broken_part(reward, error)] * len(where.group))


def names_of(formula: Reward) -> dict[Path, str]:
    """What each part is called by the way down to it, outer ones first: by its name, which the outermost that has it keeps;
    any other by its whole way (`b.a`). One that stands in two places by one name is one part.

    >>> import guerdon as gd
    >>> list(names_of(gd.blend(a=gd.exact(), b=gd.blend(a=gd.length(9)))).values())
    ['a', 'b', 'b.a']
    """
    names: dict[Path, str] = {}
    keeper: dict[str, Reward] = {}
    layer: list[tuple[Path, Reward]] = [((), formula)]
    while layer:
        layer = [((*path, name), part) for path, reward in layer for name, part in reward.of.items()]
        for path, part in layer:
            kept = keeper.setdefault(path[-1], part) is part
            names[path] = path[-1] if kept else ".".join(path)
    return names


def _blamed(formula: Reward, every: Mapping[Path, Scores]) -> Scores:
    """The scores of the whole, each one that broke with the cause: the first part on the way down that broke alike."""
    whole = every[()]
    broken = torch.nonzero(whole.broken).flatten().tolist() if formula.of else []
    reasons = {path: scores.reason.tolist() for path, scores in every.items()} if broken else {}
    detail = dict(whole.detail)
    for i in broken:
        path: Path = ()
        at = formula
        while (name := next((n for n in at.of if reasons[(*path, n)][i] == reasons[()][i]), None)) is not None:
            path, at = (*path, name), at.of[name]
        if path:
            detail[i] = {**(every[path].detail.get(i) or {}), "by": at.name}
    return replace(whole, detail=detail)


# --- samples from anywhere ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampleScores:
    """A number for each sample, or None and the reason why; the same for every named part of the formula."""

    whole: Numbers
    reasons: list[Reason]
    details: list[Any]  # a verdict's why, an exception's text and whose it is, or None
    parts: dict[str, Numbers]
    part_reasons: dict[str, list[Reason]]

    @classmethod
    def of(cls, scores: FormulaScores) -> SampleScores:
        return cls(
            _numbers(scores.whole),
            _reasons(scores.whole),
            [scores.whole.detail.get(n) for n in range(len(scores.whole))],
            {name: _numbers(part) for name, part in scores.parts.items()},
            {name: _reasons(part) for name, part in scores.parts.items()},
        )

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

    def broken_in_words(self, name: str) -> str | None:
        """How many broke and how the first did, in one line; None when none did."""
        broken = [n for n, is_so in enumerate(self.broken) if is_so]
        if not broken:
            return None
        late = sum(self.reasons[n] is Reason.TIMED_OUT for n in broken)
        counts = [f"{count} {how}" for count, how in ((len(broken) - late, "failed"), (late, "timed out")) if count]
        first = self.in_words(broken[0])
        return (
            f"{name} gave no score for {len(broken)} of {len(self.whole)} samples ({', '.join(counts)}); first: {first}"
        )

    def in_words(self, index: int) -> str:
        """One sample's outcome as a person reads it."""
        value = self.whole[index]
        return in_words(Outcome(self.reasons[index], math.nan if value is None else value, self.details[index]))


def score_samples(
    reward: Any,
    samples: Sequence[Mapping[str, Any]],
    group: Sequence[int] | None = None,
    step: int = 0,
    steps: int = 1,
    metrics: Mapping[str, float] | None = None,
    seed: int = 0,
) -> SampleScores:
    """Score samples given by their fields: prompt, completion, answer, turns, ...; any other name is as a key of `meta`.

    `group` numbers the samples that are tries at one prompt (all are, when left out). `step` of `steps` is where the run
    stands, `metrics` the means of the step before: both for rewards with schedules. What is random follows `seed` and `step`.

    Args:
        reward: the reward.
        samples: their fields by name.
        group: number of each sample's group; one group by default.
        step: the run's step, for schedules.
        steps: length of the run, for schedules.
        metrics: means of the step before, for schedules.
        seed: of everything random.

    >>> import guerdon as gd
    >>> formula = gd.exact() + gd.length(3).weight(0.5)
    >>> scored = gd.score_samples(formula, [{"completion": "4", "answer": "4"}, {"completion": "5", "answer": "4"}])
    >>> scored.parts["exact"]
    [1.0, 0.0]
    """
    formula, given, where = _question(reward, samples, group, step, steps, metrics, seed)
    return SampleScores.of(run(score_later(formula, given, where)))


async def score_samples_later(
    reward: Any,
    samples: Sequence[Mapping[str, Any]],
    group: Sequence[int] | None = None,
    pool: Executor | None = None,
) -> SampleScores:
    """The same for a caller that can wait: its event loop is free for others while leaves wait, and with a `pool` of
    threads also while they work."""
    formula, given, where = _question(reward, samples, group)
    return SampleScores.of(await score_later(formula, given, where, pool=pool))


def explained(formula: Reward, sample: Mapping[str, Any]) -> str:
    """How one sample's score comes about, a line for the whole and each part."""
    _, given, where = _question(formula, [sample])
    every = run(score_later(formula, given, where)).every
    names = {(): formula.name, **names_of(formula)}

    def lines(reward: Reward, path: Path) -> Iterator[str]:
        yield f"{'  ' * len(path)}{names[path]}: {in_words(every[path].at(0))}" + (
            f"   = {reward}" if reward.of else ""
        )
        for name, part in reward.of.items():
            yield from lines(part, (*path, name))

    return "\n".join(lines(formula, ()))


def _question(
    reward: Any,
    samples: Sequence[Mapping[str, Any]],
    group: Sequence[int] | None = None,
    step: int = 0,
    steps: int = 1,
    metrics: Mapping[str, float] | None = None,
    seed: int = 0,
) -> tuple[Reward, Samples, Where]:
    """What the scorer is asked about samples that come as plain fields."""
    if group is not None and len(group) != len(samples):
        raise UserError(f"{len(samples)} samples and {len(group)} group numbers: give one for each sample")
    formula, fields = as_reward(reward), [_fields(sample) for sample in samples]
    there = {name for each in fields for name in (*each, *each["meta"])}
    for leaf in formula.leaves if fields else ():
        _check_fields(leaf, there)
    given = [0] * len(samples) if group is None else list(group)
    number = {g: n for n, g in enumerate(dict.fromkeys(given))}
    first = derive(seed, step)
    asked = Samples.of(fields, range(first, first + len(samples)), [number[g] for g in given], seed)
    return formula, asked, Where(asked.group, step, steps, metrics or {}, seed)


def _fields(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample as leaves are asked about it: what is not a field of a track is in `meta`."""
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
