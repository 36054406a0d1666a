"""`prove --renew`: evidence whose code has changed, where its results have not.

A few of the runs that a proof rests on, chosen by a rule, are made again with the code of today. Where every one of them comes
to the weights and the numbers of its record, the evidence is of today's code, and says what changed and what was made again.
Where one does not, nothing is renewed. What was made again is no evidence of its own: no score is read off it.
Leaves out: other claims, other recipes, other models, other machines and a raised RESULTS, whose runs would come out otherwise.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError
from guerdon.loop.build import versions
from guerdon.loop.catalog import find_recipe
from guerdon.loop.proof.arms import ABLATION, METHOD, PLAIN, Arm, machine
from guerdon.loop.proof.known import Known
from guerdon.loop.proof.proving import How, Progress, claiming, run_wanted, trials_of
from guerdon.loop.proof.records import Record, ends_of, with_points_read, without_outcomes
from guerdon.loop.proof.trial import AGAIN, FRESH, Trial, WantedRun
from guerdon.loop.proof.tuning import TUNING_SEEDS
from guerdon.models.shipped_models import version
from guerdon.store import evidence
from guerdon.store.evidence_words import others_of
from guerdon.store.identity import RESULTS, code_digests

OF_METHOD, OF_OTHERS = 2, 1  # runs of an arm that are made again
TOLD = (
    "weights",
    "result",
    "spent",
    "asked",
    "points",
)  # of a record, in the order in which a difference is looked for
SAME = "same"  # marks their keys, in the ledger too: nobody takes them for evidence
CLOCK = "seconds"  # the only number that may be another one
NOTHING = "nothing"


@dataclass(frozen=True)
class Remade:
    """A recorded run that is made again: of which claim and arm, and what it was."""

    claim: int
    role: str
    run: WantedRun
    then: Record

    @property
    def name(self) -> str:
        return f"{self.role} seed {self.run.seed}"


@dataclass(frozen=True)
class Renewal:
    """What came of renewing a proof: `renewed`, `differs`, `refused`, or `current` where it is of today's code already."""

    name: str
    outcome: str
    why: str = ""
    note: Mapping[str, Any] | None = None  # what the evidence says of it from now on

    @property
    def is_left_stale(self) -> bool:
        return self.outcome in ("differs", "refused")


@dataclass(frozen=True)
class Aged:
    """A proof whose code has changed, as its claims are tried today: at the learning rates that were taken then."""

    name: str
    proof: Mapping[str, Any]
    trials: Sequence[Trial]

    @property
    def claims(self) -> list[tuple[Trial, dict[str, Arm], Mapping[str, Any]]]:
        """Each trial with its arms as they were run, and what evidence says of it."""
        told = zip(self.trials, self.proof["claims"], strict=True)
        return [(trial, _arms(trial, claim), claim) for trial, claim in told]

    def sample(self) -> list[Remade]:
        """The runs to make again: of every arm one, of the method two, those seeds first that were made again least often."""
        chosen = []
        for number, (_, arms, claim) in enumerate(self.claims):
            for role, arm in arms.items():
                by_seed = {run["seed"]: run for run in claim["arms"][role]["runs"]}
                times = self._times(number, role, is_first=arm is next(iter(arms.values())))
                seeds = sorted(by_seed, key=lambda seed: (times[seed], seed))
                for seed in seeds[: OF_METHOD if role.startswith(METHOD) else OF_OTHERS]:
                    run = WantedRun(arm, seed, again=SAME)
                    chosen.append(Remade(number, role, run, by_seed[seed]))
        return chosen

    def _times(self, number: int, role: str, is_first: bool) -> Counter[int]:
        """How often each seed of an arm was made again: by the proof itself, and by renewals."""
        notes = self.proof.get("renewed", ())
        runs = [run for note in notes for run in note["runs"] if (run["claim"], run["arm"]) == (number, role)]
        own = [0] if is_first and self.proof["claims"][number]["again"] else []
        return Counter([*own, *(run["seed"] for run in runs)])


def renew(names: Sequence[str], how: How, progress: Progress) -> list[Renewal]:
    """Make runs of stale proofs again, and renew those of which all come out the same. `progress` hears of runs as that of
    `prove` does."""
    how = how.from_here()
    looked_at = {name: _look(name, how) for name in names}
    outcomes = {name: each for name, each in looked_at.items() if isinstance(each, Renewal)}
    aged = {name: each for name, each in looked_at.items() if isinstance(each, Aged)}
    samples = {name: each.sample() for name, each in aged.items()}
    known = Known.read(how.runs)
    wanted = [one.run for sample in samples.values() for one in sample if known.get(one.run.key) is None]
    try:
        if aged:
            run_wanted(wanted, lambda key: [], known, how, progress)
    finally:  # a run that failed does not keep the others from being renewed
        for name, each in aged.items():
            if all(known.get(one.run.key) for one in samples[name]):
                outcomes[name] = _settle(each, samples[name], known, how)
        evidence.write_index(how.folder)
    return [outcomes[name] for name in names]


def _look(name: str, how: How) -> Aged | Renewal:
    """A proof to be renewed, or why there is nothing to renew."""
    entry = claiming(find_recipe(name))
    file = how.file_of(entry.name)
    if not how.has_evidence(entry.name) and (evidence.SHIPPED / f"{file}.json").is_file():
        raise UserError(
            f"there is no evidence of {file} in {how.out}; to renew that of the package: --out {evidence.SHIPPED}"
        )
    proof = evidence.read(how.folder, file)
    if evidence.stale(proof):
        aged = Aged(file, proof, trials_of(name, entry, how))
        hinders = _hinders(aged)
        return Renewal(file, "refused", hinders) if hinders else aged
    if "code" not in proof:  # made before modules were told one by one
        _write(how, {**proof, "code": evidence.code_of(proof["claims"])})
    return Renewal(file, "current")


def _arms(trial: Trial, claim: Mapping[str, Any]) -> dict[str, Arm]:
    """The arms that there are runs of, at the learning rates that were taken."""
    arms = trial.at_rates({name: rates["factor"] for name, rates in claim["rates"].items()})
    return {role: arm for role, arm in arms.items() if role in claim["arms"]}


def _hinders(aged: Aged) -> str:
    """Why a stale proof cannot be renewed, whatever its runs would come to; empty where it can."""
    proof, trials = aged.proof, aged.trials
    if proof.get("results") != RESULTS:
        return evidence.stale(proof)
    if [_said(trial.claim) for trial in trials] != [claim["claim"] for claim in proof["claims"]]:
        return f"its claims are not those that were run ({proof['command']})"
    model = proof["model"]
    if model["name"] and version(trials[0].claim.model) != model["version"]:
        return f"it was come to on {model['version']}, which the model {model['name']} is no longer"
    for _, arms, claim in aged.claims:
        for role, then in claim["arms"].items():
            if role not in arms or arms[role].hash != then["hash"]:
                return f"its {role} is another recipe today, with other parts or knobs"
            elsewhere = next((run for run in then["runs"] if run["machine"] != machine()), None)
            if elsewhere is not None:
                then_there, here = _place(elsewhere["versions"]), _place(versions())
                return f"it was run on {then_there}, and this is {here}, where runs come out otherwise"
    return ""


def _said(claim: Any) -> Any:
    return json.loads(json.dumps(claim.told()))


def _place(of: Mapping[str, Any]) -> str:
    return f"{of['device']} with torch {of['torch']}"


# --- the same? ----------------------------------------------------------------------------------------------------


def differing(then: Record, now: Record) -> str:
    """The first number of a record that a run made again does not come to, in words; empty where there is none. Seconds are
    another matter, and so is what records did not tell yet.

    >>> once = {"weights": "ab", "spent": {"tokens": 9, "seconds": 1.0}, "points": []}
    >>> differing(once, {**once, "spent": {"tokens": 9, "seconds": 2.0}})
    ''
    >>> differing(once, {**once, "weights": "cd"})
    'weights ab then, cd now'
    """
    kept = without_outcomes(with_points_read(now), but=len(ends_of(now)))
    before, after = dict(_numbers(then)), dict(_numbers(kept))
    if len(then["points"]) != len(kept["points"]):
        return f"{len(then['points'])} exams then, {len(kept['points'])} now"
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


# --- renewing -----------------------------------------------------------------------------------------------------


def _settle(aged: Aged, sample: Sequence[Remade], known: Known, how: How) -> Renewal:
    for one in sample:
        now = known.get(one.run.key)
        assert now is not None
        if difference := differing(one.then, now):
            return Renewal(aged.name, "differs", f"{one.name} ({one.run.arm.what}) came out otherwise: {difference}")
    note = _note(aged, sample)
    claims = [_of_today(trial, arms, claim, known) for trial, arms, claim in aged.claims]
    notes = [*aged.proof.get("renewed", ()), note]
    _write(how, {**aged.proof, "code": evidence.code_of(claims), "renewed": notes, "claims": claims})
    return Renewal(aged.name, "renewed", note=note)


def _write(how: How, proof: dict[str, Any]) -> None:
    recipe, folder = proof["recipe"], how.folder
    names = [name for name in (recipe, *evidence.with_students(folder, recipe)) if (folder / f"{name}.json").is_file()]
    evidence.write(folder, proof, others_of(proof, [evidence.read(folder, name) for name in names]))


def _note(aged: Aged, sample: Sequence[Remade]) -> dict[str, Any]:
    """What a page says of a renewal: what changed, and what was made again."""
    before = aged.proof.get("code", {})
    modules = sorted({module for _, arms, _ in aged.claims for arm in arms.values() for module in arm.modules})
    after = code_digests(modules)
    changed = {m: [before.get(m), after.get(m)] for m in sorted({*before, *after}) if before.get(m) != after.get(m)}
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": {name: versions()[name] for name in ("guerdon", "torch", "device")},
        "modules": changed if before else None,  # their hashes then and now; None where they were not told one by one
        "arms": [
            {"claim": number, "arm": role, "source": [claim["arms"][role]["source"], arm.source]}
            for number, (_, arms, claim) in enumerate(aged.claims)
            for role, arm in arms.items()
            if claim["arms"][role]["source"] != arm.source
        ],
        "runs": [
            {
                "claim": one.claim,
                "arm": one.role,
                "seed": one.run.seed,
                "weights": one.then["weights"],
                "key": one.run.key,
            }
            for one in sample
        ],
    }


def _of_today(trial: Trial, arms: Mapping[str, Arm], claim: Mapping[str, Any], known: Known) -> dict[str, Any]:
    """The claim as if its code had been today's: its arms have today's hashes, and its runs are known by today's keys."""
    told = {
        role: {
            **then,
            "source": arms[role].source,
            "modules": [*arms[role].modules],
            "runs": [_known_as(run, arms[role].key(run["seed"])) for run in then["runs"]],
        }
        for role, then in claim["arms"].items()
    }
    keys = _keys_of_tried(trial, claim)
    tried = [_known_as(run, keys.get(run["key"], run["key"])) for run in claim["tried"]]
    today = {**claim, "arms": told, "tried": tried}
    if claim["needs"]:
        records = [*tried, *(run for arm in told.values() for run in arm["runs"])]
        today["needs"] = [run.key for run in trial.wanted(Known(known.ledger, records))]
    return today


def _known_as(record: Record, key: str) -> dict[str, Any]:
    """A record under another key; which one it was made under is kept."""
    return {**record, **({} if key == record["key"] else {"key": key, "made_as": record.get("made_as", record["key"])})}


def _keys_of_tried(trial: Trial, claim: Mapping[str, Any]) -> dict[str, str]:
    """Today's keys of the runs that are not of a look, by the keys they have: of tuning, fresh seeds and the one made again,
    which stand in that order. Runs with fresh seeds that another proof wanted keep theirs: nothing is read off them."""
    arms = trial.at_rates({name: rates["factor"] for name, rates in claim["rates"].items()})
    fresh = [arm for role, arm in arms.items() if role not in (ABLATION, PLAIN)] if claim["replication"] else []
    groups = [
        (list(TUNING_SEEDS), trial.tuning_runs()),
        (list(FRESH), [WantedRun(arm, seed) for arm in fresh for seed in FRESH]),
    ]
    keys: dict[str, str] = {}
    for seeds, runs in groups:
        today = {run.key: run.seed for run in runs}
        then = [run for run in claim["tried"] if run["seed"] in seeds][: len(today)]
        if [run["seed"] for run in then] == list(today.values()):
            keys |= dict(zip((run["key"] for run in then), today, strict=True))
    mark = f"-{AGAIN}"
    first = WantedRun(next(iter(arms.values())), 0, again=AGAIN)
    return keys | {run["key"]: first.key for run in claim["tried"] if run["key"].endswith(mark)}
