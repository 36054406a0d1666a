"""An experiment as it is run: from the records that are known to the runs that are wanted next, until there are none.

The order, decided before anything is run:

1. the learning rate of every arm, on seeds of its own, extended until the best is inside the grid;
2. 8 paired seeds of all arms, the ablation among them;
3. the gates: where one fails, or only a screening was asked for, one run is repeated from nothing and the experiment ends;
4. of a registered claim 8 fresh seeds of the method, the baseline and the ablation (12 and 12, where 8 and 8 cannot detect
   15 % of what GRPO on the true reward gains);
5. one run from nothing, to see whether it gives the same weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from statistics import fmean
from typing import Literal

from guerdon.core.recipe import Claim
from guerdon.prove import tuning
from guerdon.prove.arms import BASELINE, GRPO, METHOD, PLAIN, Arm, points_of
from guerdon.prove.claim_gates import Gate, failed, gates_of, problem, solutions_fit
from guerdon.prove.estimate import Estimate, estimate, paired
from guerdon.prove.known import Known
from guerdon.prove.records import ACCURACY, Record, is_about_accuracy, score_of, start_of
from guerdon.prove.setting_suite import NamedSetting
from guerdon.prove.tuning import TUNING_SEEDS
from guerdon.prove.verdict import EACH, seeds_of_each

Tier = Literal["screening", "registered"]
FRESH = 1000  # the first of the fresh seeds
AGAIN = "again"


@dataclass(frozen=True)
class Rules:
    """How much is run. A quick look has two seeds and nothing else."""

    seeds: int = EACH
    tunes: bool = True
    repeats: bool = True


QUICK = Rules(seeds=2, tunes=False, repeats=False)


@dataclass(frozen=True)
class WantedRun:
    """An arm with a seed. `again` marks one that is made from nothing though it is known."""

    arm: Arm
    seed: int
    again: str = ""

    @property
    def key(self) -> str:
        return f"{self.arm.key(self.seed)}{self._mark}"

    @property
    def folder(self) -> str:
        """What the folder of the run is called."""
        return f"{self.arm.folder(self.seed)}{self._mark}"

    @property
    def _mark(self) -> str:
        return f"-{self.again}" if self.again else ""


@dataclass(frozen=True)
class Trial:
    """A claim, or a recipe in a setting, with its arms, each at the learning rate of its default."""

    recipe: str
    claim: Claim
    arms: Mapping[str, Arm]
    rules: Rules = Rules()
    tier: Tier = "registered"
    setting: NamedSetting | None = None

    # --- what is wanted -------------------------------------------------------------------------------------------

    def wanted(self, known: Known) -> list[WantedRun]:
        """The runs to make next, given what is known; none when the trial is over."""
        missing = self._untuned(known) or self._unpaired(known, self.first_seeds(known))
        if missing or not self.rules.repeats:
            return missing
        missing = self._unpaired(known, self.fresh_seeds(known))
        return missing or self._unrepeated(known)

    def is_told(self, known: Known) -> bool:
        """Whether the first seeds are there."""
        return not self._untuned(known) and not self._unpaired(known, range(self.rules.seeds))

    def _untuned(self, known: Known) -> list[WantedRun]:
        """Runs of the rates that are to be tried and have no score yet. Which rate is taken decides no difference, so that a
        run of any machine will do."""
        return [
            run for name in self.tunable for run in self.tuning_runs(known, name) if known.anywhere(run.key) is None
        ]

    def tuning_runs(self, known: Known, name: str) -> list[WantedRun]:
        arm = self.tunable[name]
        return [WantedRun(arm.at_rate(factor), seed) for factor in self.grid(known, name) for seed in TUNING_SEEDS]

    def _unpaired(self, known: Known, seeds: Iterable[int]) -> list[WantedRun]:
        """Missing runs of seeds. The arms of a seed are run by one machine; other seeds may be another's."""
        arms = self.tuned(known)
        runs = (WantedRun(arm, seed) for seed in seeds for arm in self._of_seed(arms, seed).values())
        by_seed: dict[int, list[WantedRun]] = {}
        for run in runs:
            by_seed.setdefault(run.seed, []).append(run)
        lacking = [each for each in by_seed.values() if known.together(run.key for run in each) is None]
        return list({run.key: run for each in lacking for run in each if known.get(run.key) is None}.values())

    def _unrepeated(self, known: Known) -> list[WantedRun]:
        once = WantedRun(next(iter(self.tuned(known).values())), 0)
        runs = [once, WantedRun(once.arm, 0, AGAIN)]
        if known.together(run.key for run in runs) is not None:
            return []
        return [run for run in runs if known.get(run.key) is None]

    @staticmethod
    def _of_seed(arms: Mapping[str, Arm], seed: int) -> dict[str, Arm]:
        """The arms that a seed is run for. GRPO on the true reward shows what there is to gain, by the first seeds alone."""
        return {name: arm for name, arm in arms.items() if name != PLAIN or seed < FRESH}

    # --- seeds ----------------------------------------------------------------------------------------------------

    def first_seeds(self, known: Known) -> range:
        """Eight, or more where that is too few; as far as eight are known."""
        eight = range(self.rules.seeds)
        if (
            self.tier == "screening"
            or not self.rules.repeats
            or self._unpaired(known, eight)
            or failed(self.gates(known))
        ):
            return eight
        return range(seeds_of_each(self.estimate(known, eight).sd, self.gain(known)))

    def fresh_seeds(self, known: Known) -> range:
        """Those that must confirm; none where gates fail, or of a screening."""
        first = self.first_seeds(known)
        if self.tier == "screening" or not self.rules.repeats or failed(self.gates(known)):
            return range(FRESH, FRESH)
        return range(FRESH, FRESH + len(first))

    def complete(self, known: Known) -> tuple[list[int], list[int]]:
        """The first and the fresh seeds of which every arm is known. Fresh ones count when all of them are there."""
        first, fresh = self.first_seeds(known), self.fresh_seeds(known)
        if self._unpaired(known, first):
            return [*range(self.rules.seeds)], []
        return [*first], [] if self._unpaired(known, fresh) else [*fresh]

    # --- learning rates -------------------------------------------------------------------------------------------

    @cached_property
    def tunable(self) -> dict[str, Arm]:
        """The arms that have a learning rate to tune, each on its own."""
        points = {next(iter(self.arms)): next(iter(self.arms.values()))} if METHOD not in self.arms else dict(self.arms)
        return {name: arm for name, arm in points.items() if arm.rate is not None} if self.rules.tunes else {}

    def grid(self, known: Known, name: str) -> list[float]:
        """The factors of an arm's default rate that are to be tried, given the scores so far."""
        powers = tuning.FIVE if self.setting is not None and name in (BASELINE, PLAIN) else tuning.THREE
        factors = tuning.grid(powers)
        while (scores := self._tried(known, name, factors)) is not None:
            more = tuning.wider(scores, self._tuned_for)
            if more is None:
                break
            factors.append(more)
        return factors

    def rates(self, known: Known) -> dict[str, dict[float, float]]:
        """The mean score of every factor that was tried, by arm; empty until all have one."""
        tried = {name: self._tried(known, name, self.grid(known, name)) for name in self.tunable}
        return {name: scores for name, scores in tried.items() if scores is not None}

    def _tried(self, known: Known, name: str, factors: Sequence[float]) -> dict[float, float] | None:
        metric, scores = self.claim.keeps, dict[float, float]()
        for factor in factors:
            arm = self.tunable[name].at_rate(factor)
            records = [known.anywhere(arm.key(seed)) for seed in TUNING_SEEDS]
            there = [record for record in records if record is not None]
            if len(there) < len(records):
                return None
            scores[factor] = fmean(self._tuned_score(record, metric) for record in there)
        return scores

    def _tuned_score(self, record: Record, metric: str) -> float:
        """What a rate is chosen by: the claim's metric; in a setting that hides the truth the reward of the last steps."""
        if self.setting is not None and self.setting.tuned_by == "reward" and "paid" in record:
            return float(record["paid"])
        return score_of(record, self.claim, metric)

    @property
    def _tuned_for(self) -> str:
        return "higher" if self.claim.keeps else self.claim.better

    def factors(self, known: Known) -> dict[str, float]:
        """How many times its default each arm's learning rate is."""
        return {name: tuning.best(scores, self._tuned_for) for name, scores in self.rates(known).items()}

    def tuned(self, known: Known) -> dict[str, Arm]:
        """The arms as they are run."""
        return self.at_rates(self.factors(known))

    def at_rates(self, factors: Mapping[str, float]) -> dict[str, Arm]:
        """The arms at so many times the learning rates of those that are tuned; all points of a slope have one."""
        own = factors.get(next(iter(self.arms)), 1.0)
        return {n: a.at_rate(factors.get(n, own if METHOD not in self.arms else 1.0)) for n, a in self.arms.items()}

    # --- what is known --------------------------------------------------------------------------------------------

    def records(self, known: Known, name: str, seeds: Iterable[int]) -> list[Record]:
        """The runs of an arm, of each seed by the machine that ran all arms of it."""
        arms, runs = self.tuned(known), list[Record]()
        for seed in seeds:
            machine = known.together(arm.key(seed) for arm in self._of_seed(arms, seed).values())
            record = known.get(arms[name].key(seed), machine) if machine is not None else None
            if record is not None:
                runs.append({**record, "seed": seed})
        return runs

    def scores(self, known: Known, name: str, seeds: Iterable[int], metric: str = "") -> list[float]:
        return [score_of(record, self.claim, metric) for record in self.records(known, name, seeds)]

    def gates(self, known: Known) -> list[Gate]:
        """Whether anything can be seen here, by the first eight seeds: their result is final."""
        seeds = range(self.rules.seeds)
        records = {name: self.records(known, name, seeds) for name in self.arms}
        there = {name: each for name, each in records.items() if each}
        chance = self.setting.chance if self.setting is not None else None
        own_gates = gates_of(self.claim, there, self.rates(known), self.gains(known, seeds), chance)
        if not any(gate["gate"] == "cut" for gate in own_gates):
            own_gates += self._fits
        return [*self._problem(there), *own_gates]

    def _problem(self, records: Mapping[str, Sequence[Record]]) -> list[Gate]:
        if self.setting is None:
            return []
        failure, runs = self.setting.failure, records.get(BASELINE, ())
        values = [value for run in runs if (value := failure.of(run, self.claim)) is not None]
        return [problem(failure.says, values, failure.low, failure.high)] if values else []

    @cached_property
    def _fits(self) -> list[Gate]:
        return [gate for gate in (solutions_fit(self.claim, next(iter(self.arms.values()))),) if gate is not None]

    def gains(self, known: Known, seeds: Iterable[int]) -> list[float]:
        """What GRPO on the true reward gains over the start, seed by seed; of claims about accuracy."""
        is_plain = BASELINE in self.arms and self.setting is None and self.arms[BASELINE].what.split()[0] == GRPO
        name = PLAIN if PLAIN in self.arms else BASELINE if is_plain else ""
        if not name or not is_about_accuracy(self.claim):
            return []
        runs = [(r, start_of(r, ACCURACY, self.claim.levels)) for r in self.records(known, name, seeds)]
        return [score_of(run, self.claim, ACCURACY) - start for run, start in runs if start is not None]

    def gain(self, known: Known) -> float | None:
        gains = self.gains(known, range(self.rules.seeds))
        return fmean(gains) if gains else None

    def estimate(self, known: Known, first: Sequence[int], fresh: Sequence[int] = ()) -> Estimate:
        """What the claim is about, over the first seeds and the fresh ones."""
        claim, seeds = self.claim, [*first, *fresh]
        if claim.kind == "slope":
            lines = [self.scores(known, name, seeds) for name in self.arms]
            places = [log2(float(point.partition("=")[2])) for point in points_of(claim)]
            values = [slope(places, heights) for heights in zip(*lines, strict=True)]
        elif claim.kind == "bound":
            values = [score - claim.bound for score in self.scores(known, METHOD, seeds)]
        else:
            return self.against(known, BASELINE, first, fresh)
        sign = 1.0 if claim.better == "higher" else -1.0
        return estimate([sign * value for value in values], claim.effect, len(first))

    def against(
        self, known: Known, name: str, first: Sequence[int], fresh: Sequence[int] = (), metric: str = ""
    ) -> Estimate:
        """The method beside another arm, by the claim's metric or another one, of which higher is better."""
        claim, seeds = self.claim, [*first, *fresh]
        effect, better = (claim.loss, "higher") if metric else (claim.effect, claim.better)
        ours, theirs = (self.scores(known, each, seeds, metric) for each in (METHOD, name))
        return paired(ours, theirs, effect, better, len(first))


def slope(places: Sequence[float], heights: Sequence[float]) -> float:
    """Of the line of least squares.

    >>> slope([1.0, 2.0, 3.0], [0.5, 0.6, 0.7])
    0.09999999999999998
    """
    middle, level = fmean(places), fmean(heights)
    run = sum((x - middle) ** 2 for x in places)
    return sum((x - middle) * (y - level) for x, y in zip(places, heights, strict=True)) / run
