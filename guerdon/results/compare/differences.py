"""The difference of two arms in a number of their exams, and its certainty.

With several seeds in both arms the interval is over seeds (t, as proofs have it): of the differences seed by seed where both
have the same seeds, else Welch's. With one seed it is over problems: both runs were evaluated on the same ones, so the
differences per problem are resampled (a paired bootstrap); where only rates are known, Newcombe's interval of two rates.
Exams on one task that differ in their number of problems or tries are never paired; runs with exams on other tasks are not
compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from guerdon.core.statistics import mean_and_spread, newcombe, paired_bootstrap, pass_at_k, t_interval, welch
from guerdon.exams.tries import TriedProblem
from guerdon.results.compare.run_arms import RunArm, RunRead, number_in, sat_one_exam
from guerdon.runs.headline import ENDS, MEASURES

OTHER_EXAMS = "the exams are not the same"
FEWEST = 5  # problems in common, below which nothing is said
SHARES = ("pass@", "majority@", "best_of@", "coverage")  # numbers that are shares of problems
BEFORE, AFTER = 0, -1  # the first and the last evaluation


@dataclass(frozen=True)
class ArmRate:
    """A number of an arm at an evaluation, with the ends of its 95 % interval: over problems of one run, over several seeds
    otherwise, `spread` then being their standard deviation."""

    value: float
    low: float | None
    high: float | None
    steps_done: int
    seeds: int = 1
    spread: float | None = None


@dataclass(frozen=True)
class Difference:
    """An arm less the first one. `way` says what the interval is over; `why` why there is no number, where there is none."""

    arm: str
    less: str
    at: str  # before, after
    value: float | None = None
    low: float | None = None
    high: float | None = None
    way: str = ""
    problems: int = 0
    alike: bool = False  # whether it is the same in every problem, or with every seed
    why: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return ""
        return "higher" if self.low > 0 else "lower" if self.high < 0 else "no significant difference"


def is_share(metric: str) -> bool:
    name = metric.rpartition("/")[2]
    return MEASURES[name].is_share if name in MEASURES else name.startswith(SHARES)


def rate_of(arm: RunArm, metric: str, at: int) -> ArmRate | None:
    """At the first (0) or the last (-1) evaluation; None where a run has none."""
    values = [value_at(run, metric, at) for run in arm.runs]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    steps = max(run.evaluated[at].step + 1 for run in arm.runs)
    if len(known) > 1:
        mean, low, high, _ = t_interval(known)
        if is_share(metric):
            low, high = max(0.0, low), min(1.0, high)
        return ArmRate(mean, low, high, steps, len(known), mean_and_spread(known)[1])
    result = arm.first.result(at)
    ends = [number_in(result, f"{metric}{end}") for end in ENDS]
    return ArmRate(known[0], ends[0], ends[1], steps)


def value_at(run: RunRead, metric: str, at: int) -> float | None:
    return number_in(run.result(at), metric)


def difference(arm: RunArm, base: RunArm, metric: str, at: int) -> Difference:
    """Of an arm less the base, at the first (0) or the last (-1) evaluation."""
    when, names = "before" if at == 0 else "after", (arm.letter, base.letter)
    ours, theirs = ([value_at(run, metric, at) for run in each.runs] for each in (arm, base))
    if None in ours or None in theirs:
        return Difference(*names, when, why="an arm has not been examined then")
    exam = metric.rpartition("/")[0]
    over_seeds = len(arm.runs) > 1 and len(base.runs) > 1
    is_one_exam = sat_one_exam([*arm.runs, *base.runs], at, exam)
    pairs = common_problems(arm, base, exam, at) if is_one_exam and not over_seeds else None
    if pairs is None or len(pairs) < FEWEST:
        why = _other_exams(arm.first, base.first, exam, None if pairs is None else len(pairs))
        if why:
            return Difference(*names, when, why=why)
    a, b = [v for v in ours if v is not None], [v for v in theirs if v is not None]
    if over_seeds:
        is_paired = is_one_exam and set(arm.seeds) == set(base.seeds)
        apart = _over_seeds(Difference(*names, when), arm, base, a, b, is_paired)
        assert apart.low is not None and apart.high is not None
        return _but(apart, low=max(-1.0, apart.low), high=min(1.0, apart.high)) if is_share(metric) else apart
    tries = _tries_of(metric)
    if pairs is not None and len(pairs) >= FEWEST and tries:
        even = all(run.is_even(at, exam) for run in (arm.first, base.first))
        return _over_problems(Difference(*names, when), pairs, tries, even)
    cause = "results by problem are not known for both" if is_one_exam else OTHER_EXAMS
    return _unpaired(Difference(*names, when), rate_of(arm, metric, at), rate_of(base, metric, at), cause)


def _tries_of(metric: str) -> int:
    """The k of a pass@k; 0 for any other number."""
    name, _, k = metric.rpartition("/")[2].partition("@")
    return int(k) if name == "pass" and k.isdecimal() and len(k) < 6 else 0


# --- the same problems ------------------------------------------------------------------------------------------------

Pair = tuple[list[TriedProblem], list[TriedProblem]]


def common_problems(arm: RunArm, base: RunArm, exam: str, at: int) -> dict[str, Pair] | None:
    """Problem by problem what came of it in the runs of both arms; None where a run does not report it."""
    ours, theirs = ([run.problems(at, exam) for run in each.runs] for each in (arm, base))
    if not all([*ours, *theirs]):
        return None
    shared = [name for name in ours[0] if all(name in each for each in [*ours[1:], *theirs])]
    return {name: ([each[name] for each in ours], [each[name] for each in theirs]) for name in shared}


def _other_exams(a: RunRead, b: RunRead, exam: str, shared: int | None) -> str:
    """Why two runs cannot be compared by an exam of which they `shared` few problems, if both list their problems; empty
    where they can, each by its own problems of one kind."""
    sources = a.exam(exam), b.exam(exam)
    if sources[0] != sources[1]:
        return f"different exams, {b.task} and {a.task}: not to be compared"
    drawn = all(run.config["options"].get("eval_drawn") for run in (a, b))
    if shared is not None and not drawn:
        few = f"{shared} problems in common are too few"
        return few if shared else "the exam has one name and other problems: not to be compared"
    return ""


def _over_problems(blank: Difference, pairs: Mapping[str, Pair], k: int, even: bool) -> Difference:
    by_kind: dict[str, list[float]] = defaultdict(list)
    for ours, theirs in pairs.values():
        if all(each.of >= k for each in (*ours, *theirs)):
            a, b = (fmean(pass_at_k(t.of, t.right, k) for t in side) for side in (ours, theirs))
            by_kind[ours[0].kind if even else ""].append(a - b)
    n = sum(map(len, by_kind.values()))
    if n < FEWEST:
        return _but(blank, why=f"fewer than {FEWEST} problems had {k} checked tries in both")
    value, low, high = paired_bootstrap(list(by_kind.values()))
    alike = not any(difference for group in by_kind.values() for difference in group)
    way = f"over the {n} problems both were evaluated on (paired bootstrap)"
    return _but(blank, value=value, low=low, high=high, problems=n, alike=alike, way=way)


# --- no pairs ---------------------------------------------------------------------------------------------------------


def _unpaired(blank: Difference, a: ArmRate | None, b: ArmRate | None, cause: str) -> Difference:
    assert a is not None and b is not None
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return _but(blank, value=a.value - b.value, way="without an interval: the exam gives none")
    value, low, high = newcombe((a.value, a.low, a.high), (b.value, b.low, b.high))
    return _but(blank, value=value, low=low, high=high, way=f"not paired: {cause}")


# --- seeds ------------------------------------------------------------------------------------------------------------


def _over_seeds(
    blank: Difference, arm: RunArm, base: RunArm, a: Sequence[float], b: Sequence[float], is_paired: bool
) -> Difference:
    if is_paired:
        theirs = dict(zip(base.seeds, b, strict=True))
        differences = [x - theirs[seed] for x, seed in zip(a, arm.seeds, strict=True)]
        value, low, high, _ = t_interval(differences)
        alike = not any(differences)
        way = f"over the {len(a)} seeds that both have (t)"
        return _but(blank, value=value, low=low, high=high, alike=alike, way=way)
    value, low, high = welch(a, b)
    way = f"over {len(a)} and {len(b)} seeds (Welch's t)"
    if set(arm.seeds) == set(base.seeds):
        way += f", not paired: {OTHER_EXAMS}"
    return _but(blank, value=value, low=low, high=high, way=way)


def _but(difference: Difference, **changes: Any) -> Difference:
    return Difference(**{**vars(difference), **changes})
