"""A claim as it is tried: from what is known to the runs that are wanted next, until there are none.

The rule, decided before anything is run:

1. the learning rate of each arm is chosen on seeds of its own;
2. 8 paired seeds, then 16, then 32, for as long as the claim is open and the rule of the looks goes on;
3. after *better*, the ablation on the same seeds;
4. after *better* or *worse*, 8 fresh seeds as a replication;
5. one run from nothing, to see whether it comes to the same weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from statistics import fmean
from typing import Any

from guerdon.core.recipe import Claim
from guerdon.loop.proof import verdict
from guerdon.loop.proof.arms import ABLATION, BASELINE, METHOD, PLAIN, Arm, points_of
from guerdon.loop.proof.known import Known
from guerdon.loop.proof.records import Record, score_of
from guerdon.loop.proof.testability import Gate, closed, exam_forms, gates_of, solutions_fit
from guerdon.loop.proof.tuning import FACTORS, TUNING_SEEDS, choose
from guerdon.loop.proof.verdict import LOOKS, Comparison, compare, compare_values

FRESH = range(1000, 1008)  # seeds of a replication
AGAIN = "again"


@dataclass(frozen=True)
class Rules:
    """How much is run. A quick look has two seeds and nothing else."""

    looks: tuple[int, ...] = LOOKS
    tunes: bool = True
    repeats: bool = True


QUICK = Rules(looks=(2,), tunes=False, repeats=False)


@dataclass(frozen=True)
class WantedRun:
    """An arm with a seed, and with another for its noise where that is apart. `again` marks one that is made from nothing
    though it is known."""

    arm: Arm
    seed: int
    noise: int | None = None
    again: str = ""

    @property
    def key(self) -> str:
        return f"{self.arm.key(self.seed, self.noise)}{self._mark}"

    @property
    def folder(self) -> str:
        """What the folder of the run is called."""
        return f"{self.arm.folder(self.seed, self.noise)}{self._mark}"

    @property
    def _mark(self) -> str:
        return f"-{self.again}" if self.again else ""


@dataclass(frozen=True)
class Trial:
    """A claim with its arms, each at the learning rate of its default."""

    recipe: str
    claim: Claim
    arms: Mapping[str, Arm]
    rules: Rules = Rules()

    # --- what is wanted -------------------------------------------------------------------------------------------

    def wanted(self, known: Known) -> list[WantedRun]:
        """The runs to make next, given what is known; none when the trial is over."""
        missing = self._missing(known, self.tuning_runs())
        if missing:
            return missing
        arms = self.tuned(known)
        for number in self.rules.looks:
            missing = self._missing(known, self._look(arms, range(number)))
            if missing:
                return missing
            if self.rules.repeats and closed(self.gates(known)):  # a quick look shows all arms, whatever it can say
                return []
            if not self.goes_on(known, number):
                break
        return self._missing(known, self._after(arms, known))

    def seen(self, known: Known) -> Known:
        """From the machine that tells most: a trial is of one machine, for elsewhere the same runs come out otherwise. This
        one, unless another saw the trial to its end, or told of it where nothing here does."""
        views = known.views
        told = [view for view in views if self.is_told(view)]
        return next((view for view in told if not self.wanted(view)), (told or views)[0])

    def is_told(self, known: Known) -> bool:
        """Whether the first look is there."""
        first = range(self.rules.looks[0])
        return not self._missing(known, self.tuning_runs()) and not self._missing(
            known, self._look(self.tuned(known), first)
        )

    def gates(self, known: Known) -> list[Gate]:
        """Whether the claim can be tried here, by the seeds of the first look: what they say stands."""
        arms, seeds = self.tuned(known), range(self.rules.looks[0])
        records = {name: self.records(known, arm, seeds) for name, arm in arms.items()}
        there = {name: each for name, each in records.items() if each}
        return [*gates_of(self.claim, self.arms, there, self._forms), *self._fits]

    @cached_property
    def _forms(self) -> set[str]:
        return exam_forms(self.first)

    @cached_property
    def _fits(self) -> list[Gate]:
        return [gate for gate in (solutions_fit(self.claim, self.first),) if gate is not None]

    def _missing(self, known: Known, runs: Iterable[WantedRun]) -> list[WantedRun]:
        """Those that are not known, each once."""
        return list({run.key: run for run in runs if known.get(run.key) is None}.values())

    def tuning_runs(self) -> list[WantedRun]:
        return [
            WantedRun(arm.at_rate(factor), seed)
            for arm in self.tunable.values()
            for factor in FACTORS
            for seed in TUNING_SEEDS
        ]

    @cached_property
    def tunable(self) -> dict[str, Arm]:
        """The arms that have a learning rate to tune. The ablation has the method's: it is the method, less one thing."""
        first = {METHOD: self.arms[METHOD]} if METHOD in self.arms else {next(iter(self.arms)): self.first}
        arms = first | {name: self.arms[name] for name in (BASELINE, PLAIN) if name in self.arms}
        return {name: arm for name, arm in arms.items() if arm.rate is not None} if self.rules.tunes else {}

    @property
    def first(self) -> Arm:
        return next(iter(self.arms.values()))

    def _look(self, arms: Mapping[str, Arm], seeds: Iterable[int]) -> list[WantedRun]:
        """The arms that a verdict is made of, and plain GRPO on the first seeds, to see whether anything can be learned."""
        return [
            WantedRun(arm, seed)
            for seed in seeds
            for name, arm in arms.items()
            if name != ABLATION and (name != PLAIN or seed < self.rules.looks[0])
        ]

    def _after(self, arms: Mapping[str, Arm], known: Known) -> list[WantedRun]:
        if not self.rules.repeats:
            return [WantedRun(arms[ABLATION], s) for s in range(self.rules.looks[0])] if ABLATION in arms else []
        seeds, word = self.seeds(known), self.comparison(known).alone
        runs = [WantedRun(next(iter(arms.values())), 0, again=AGAIN)]
        if word == "better" and ABLATION in arms:
            runs += [WantedRun(arms[ABLATION], seed) for seed in seeds]
        if word in ("better", "worse"):
            runs += [
                WantedRun(arm, seed) for seed in FRESH for name, arm in arms.items() if name not in (ABLATION, PLAIN)
            ]
        return runs

    # --- what is known --------------------------------------------------------------------------------------------

    def factors(self, known: Known) -> dict[str, float]:
        """How many times its default each arm's learning rate is."""
        metric, effect = (self.claim.keeps, self.claim.loss) if self.claim.keeps else ("", self.claim.effect)
        better = "higher" if self.claim.keeps else self.claim.better
        factors = {}
        for name, arm in self.tunable.items():
            tried = {f: self.scores(known, arm.at_rate(f), TUNING_SEEDS, metric) for f in FACTORS}
            factors[name] = choose({f: fmean(scores) for f, scores in tried.items()}, effect, better)
        return factors

    def tuned(self, known: Known) -> dict[str, Arm]:
        """The arms as they are run."""
        return self.at_rates(self.factors(known))

    def at_rates(self, factors: Mapping[str, float]) -> dict[str, Arm]:
        """The arms at so many times the learning rates of those that are tuned."""
        own = factors.get(next(iter(self.arms)), 1.0)  # of the ablation too, and of all points of a slope
        return {n: a.at_rate(factors.get(n, 1.0) if n in (BASELINE, PLAIN) else own) for n, a in self.arms.items()}

    def records(self, known: Known, arm: Arm, seeds: Iterable[int]) -> list[Record]:
        there = {seed: known.get(arm.key(seed)) for seed in seeds}
        return [{**record, "seed": seed} for seed, record in there.items() if record is not None]

    def scores(self, known: Known, arm: Arm, seeds: Iterable[int], metric: str = "") -> list[float]:
        return [score_of(record, self.claim, metric) for record in self.records(known, arm, seeds)]

    def seeds(self, known: Known) -> range:
        """As far as the looks went: one that is not complete does not count."""
        looks, arms = self.rules.looks, self.tuned(known)
        for number, following in zip(looks, (*looks[1:], 0), strict=True):
            if closed(self.gates(known)) or not self.goes_on(known, number):
                return range(number)
            if self._missing(known, self._look(arms, range(following))):
                return range(number)
        return range(looks[-1])

    def goes_on(self, known: Known, number: int) -> bool:
        """Whether another look follows that at so many seeds."""
        comparisons = [self.comparison(known, range(number))]
        if self.claim.kind == "cheaper":
            comparisons.append(self.quality(known, range(number)))
        if not any(c.needs > number for c in comparisons):
            return False
        return standing(self.claim.kind, [c.alone for c in comparisons], comparisons) == "open"

    def comparison(self, known: Known, seeds: Iterable[int] | None = None) -> Comparison:
        """What the claim is about, over the seeds of the looks so far, or over others."""
        arms, claim = self.tuned(known), self.claim
        seeds = self.seeds(known) if seeds is None else seeds
        seeds = list(seeds)
        if claim.kind == "slope":
            lines = [self.scores(known, arm, seeds) for arm in arms.values()]
            places = [log2(float(point.partition("=")[2])) for point in points_of(claim)]
            sign = 1.0 if claim.better == "higher" else -1.0
            slopes = [sign * slope(places, heights) for heights in zip(*lines, strict=True)]
            return compare_values(slopes, claim.effect, self._looks(seeds))
        ours = self.scores(known, arms[METHOD], seeds)
        if claim.kind == "bound":
            sign = 1.0 if claim.better == "higher" else -1.0
            return compare_values([sign * (score - claim.bound) for score in ours], claim.effect, self._looks(seeds))
        theirs = self.scores(known, arms[BASELINE], seeds)
        return compare(ours, theirs, claim.effect, claim.better, self._looks(seeds))

    def quality(self, known: Known, seeds: Iterable[int]) -> Comparison:
        """What a cheaper method must keep."""
        return self.against(known, BASELINE, seeds, self.claim.keeps)

    def against(self, known: Known, name: str, seeds: Iterable[int], metric: str = "") -> Comparison:
        """The method beside another arm, by the claim's metric or another one, of which higher is better."""
        arms, claim, seeds = self.tuned(known), self.claim, list(seeds)
        effect, better = (claim.loss, "higher") if metric else (claim.effect, claim.better)
        ours, theirs = (self.scores(known, arms[each], seeds, metric) for each in (METHOD, name))
        return compare(ours, theirs, effect, better, self._looks(seeds))

    def _looks(self, seeds: Sequence[int]) -> tuple[int, ...]:
        """The looks of a comparison: a replication has one of its own."""
        return self.rules.looks if seeds and seeds[0] == 0 else (len(seeds),)


def standing(kind: str, words: Sequence[verdict.Verdict], comparisons: Sequence[Comparison]) -> verdict.Standing:
    """What becomes of a claim of some kind, of its verdicts: of a cheaper one its cost comes first."""
    if kind == "cheaper":
        return verdict.stands_cheaper(comparisons[0], words[0], comparisons[1], words[1])
    simple: Any = {"slope": "better", "bound": "at least as good"}.get(kind, kind)
    return verdict.stands(simple, comparisons[0], words[0])


def slope(places: Sequence[float], heights: Sequence[float]) -> float:
    """Of the line of least squares.

    >>> slope([1.0, 2.0, 3.0], [0.5, 0.6, 0.7])
    0.09999999999999998
    """
    middle, level = fmean(places), fmean(heights)
    run = sum((x - middle) ** 2 for x in places)
    return sum((x - middle) * (y - level) for x, y in zip(places, heights, strict=True)) / run
