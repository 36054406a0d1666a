"""`prove --sample`: recorded runs repeated from nothing, to see whether they reproduce their records.

Of every arm of every claim one, of the method two, those that this kind of machine made; nothing is shared between them. A
repeated run is not evidence of its own: its scores are not used.
Leaves out: records of another kind of machine, where the same runs give other weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.evidence import proof_files
from guerdon.prove.arms import METHOD, Arm, machine
from guerdon.prove.known import Known, by_form
from guerdon.prove.proving import How, Progress, run_wanted, trials_of
from guerdon.prove.records import Record, ends_of, with_points_read, without_outcomes
from guerdon.prove.trial import Trial, WantedRun
from guerdon.training.catalog import find_recipe

OF_METHOD, OF_OTHERS = 2, 1  # runs of an arm that are made again
TOLD = (
    "weights",
    "result",
    "spent",
    "asked",
    "points",
)  # of a record, in the order in which a difference is looked for
SAME = "same"  # marks their keys, in the ledger too: they are not taken for evidence
CLOCK = "seconds"  # the only number that may be another one
NOTHING = "nothing"


@dataclass(frozen=True)
class Remade:
    """A recorded run that is made again: of which recipe, claim and arm, and what it was."""

    recipe: str
    claim: int
    role: str
    run: WantedRun
    then: Record

    @property
    def name(self) -> str:
        return f"{self.recipe}, claim {self.claim + 1}, {self.role} seed {self.run.seed}"


def sample(name: str, how: How, of_each: int = 0) -> list[Remade]:
    """The runs of a recipe's evidence to make again; `of_each` arm so many, where it is not the rule."""
    entry = find_recipe(name)
    proof = proof_files.read(how.folder, how.file_of(entry))
    chosen = []
    for number, (trial, claim) in enumerate(zip(trials_of(name, entry, how), proof["claims"], strict=True)):
        for role, arm in _arms(trial, claim).items():
            here = [run for run in claim["arms"][role]["runs"] if run["machine"] == machine()]
            many = of_each or (OF_METHOD if role.startswith(METHOD) else OF_OTHERS)
            for run in sorted(here, key=lambda run: int(run["seed"]))[:many]:
                chosen.append(Remade(name, number, role, WantedRun(arm, run["seed"], again=SAME), run))
    return chosen


def _arms(trial: Trial, claim: Mapping[str, Any]) -> dict[str, Arm]:
    """The arms that there are runs of, at the learning rates that they were run at."""
    there = {role: arm for role, arm in trial.arms.items() if role in claim["arms"]}
    rates = {role: claim["arms"][role]["lr"] for role in there}
    return {role: arm.at_rate(rates[role] / arm.rate) if arm.rate else arm for role, arm in there.items()}


def remake(names: Sequence[str], how: How, progress: Progress, of_each: int = 0) -> list[tuple[Remade, str]]:
    """Make a sample of recorded runs again; each with the first number that it does not reproduce, empty where all are equal.
    `progress` is called as that of `prove` is."""
    how = how.from_here()
    chosen = [one for name in names for one in sample(name, how, of_each)]
    known = Known.read(how.runs)
    wanted = {one.run.key: one.run for one in chosen if known.get(one.run.key) is None}
    run_wanted([*wanted.values()], lambda key: [], known, how, progress)
    outcomes = []
    for one in chosen:
        now = known.get(one.run.key)
        assert now is not None
        outcomes.append((one, differing(one.then, now)))
    return outcomes


# --- the same? ----------------------------------------------------------------------------------------------------


def differing(then: Record, now: Record) -> str:
    """The first number of a record that the repeated run does not reproduce, in words; empty where there is none. Seconds are
    not compared, nor what older records do not have.

    >>> once = {"weights": "ab", "spent": {"tokens": 9, "seconds": 1.0}, "points": []}
    >>> differing(once, {**once, "spent": {"tokens": 9, "seconds": 2.0}})
    ''
    >>> differing(once, {**once, "weights": "cd"})
    'weights ab then, cd now'
    """
    then, now = (without_outcomes(with_points_read(each), but=len(ends_of(each))) for each in (then, now))
    before, after = (dict(_numbers(by_form(record))) for record in (then, now))
    if len(then["points"]) != len(now["points"]):
        return f"{len(then['points'])} exams then, {len(now['points'])} now"
    for name, value in before.items():
        other = after.get(name, NOTHING)
        if value != other and not (value != value and other != other):  # a NaN is not itself
            return f"{name} {_brief(value)} then, {_brief(other)} now"
    return ""


def _numbers(record: Record) -> Iterator[tuple[str, Any]]:
    for part in TOLD:
        if part == "points":
            for i, point in enumerate(record["points"]):
                yield from _each(f"exam {i + 1}", point)
        elif part in record:
            yield from _each(part, record[part])


def _each(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every number in it by its name, but for those of the clock."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key != CLOCK:
                yield from _each(f"{name}, {key}", inner)
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from _each(f"{name} {i + 1}", inner)
    else:
        yield name, value


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 20 else f"{text[:8]}..{text[-8:]}"
