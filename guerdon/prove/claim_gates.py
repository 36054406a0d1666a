"""Gates: whether an experiment can show anything about the method. Each can fail, and the page lists which did.

- **problem**: what the method is for occurs in the baseline, by the setting's failure mode;
- **chance**: the baseline's scores lie above chance;
- **updates**: every arm makes at least 150 policy updates;
- **cut**: answers are not cut by the token limit;
- **gain**: GRPO on the true reward gains at least 12 points;
- **rate**: the best learning rate of every tuned arm lies inside its grid;
- **differ**: no two arms have equal results in every seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from guerdon.core.recipe import Claim, Recipe
from guerdon.core.statistics import t_interval
from guerdon.core.task import kinds_of
from guerdon.prove.arms import ABLATION, BASELINE, METHOD, PLAIN, Arm
from guerdon.prove.records import Record, score_of
from guerdon.prove.tuning import best, is_inside

UPDATES, GAIN = 150, 0.12
FIT, LOOKED_AT = 0.95, 64  # the share of worked solutions that must fit, of how many problems of a level
CHANCE = {"auc": 0.5, "pair_accuracy": 0.5, "step_auc": 0.5}  # metrics of which a coin has this; an accuracy has 0
ACCURATE = ("pass@1", "accuracy")

Gate = dict[str, Any]  # which, whether it is open, and why, in words


def failed(gates: Sequence[Gate]) -> list[Gate]:
    return [gate for gate in gates if not gate["open"]]


def problem(name: str, values: Sequence[float], low: float, high: float) -> Gate:
    """Whether the mean of a failure mode over the baseline's runs lies in the setting's range."""
    mean = fmean(values)
    return _gate("problem", low <= mean <= high, f"{name} is {mean:.3g} in the baseline", f"{low:g} to {high:g}")


def above_chance(scores: Sequence[float], chance: float) -> Gate:
    """Whether the lower end of the 95 % interval of the baseline's mean score lies above chance.

    >>> above_chance([0.51, 0.55, 0.48], chance=0.5)["open"], above_chance([0.61, 0.65, 0.58], chance=0.5)["open"]
    (False, True)
    """
    mean, low, *_ = t_interval(scores)
    return _gate("chance", low > chance, f"the baseline scores {mean:.3g} (95 % above {low:.3g})", f"above {chance:g}")


def enough_updates(by_arm: Mapping[str, float]) -> Gate:
    """Whether the arm with the fewest policy updates has enough.

    >>> enough_updates({"method": 66.0, "baseline": 160.0})["why"]
    'the method makes 66 policy updates (required: 150 or more)'
    """
    fewest = min(by_arm, key=lambda name: by_arm[name])
    told = f"the {fewest} makes {by_arm[fewest]:.0f} policy updates"
    return _gate("updates", by_arm[fewest] >= UPDATES, told, f"{UPDATES} or more")


def enough_gain(gains: Sequence[float]) -> Gate:
    """Whether GRPO on the true reward gains enough over the start, in the mean of its seeds.

    >>> enough_gain([0.10, 0.12])["open"], enough_gain([0.12, 0.14])["open"]
    (False, True)
    """
    mean = fmean(gains)
    told = f"GRPO on the true reward gains {100 * mean:+.1f} points"
    return _gate("gain", mean >= GAIN, told, f"{100 * GAIN:.0f} or more")


def rates_inside(rates: Mapping[str, Mapping[float, float]], better: str = "higher") -> Gate | None:
    """Whether the best rate of every arm lies inside the rates that were tried: the mean score of each, by arm."""
    if not rates:
        return None
    out = {name: best(scores, better) for name, scores in rates.items() if not is_inside(scores, better)}
    told = [f"that of the {name} is best at {factor:.3g} times its default, the edge" for name, factor in out.items()]
    return _gate("rate", not out, "; ".join(told) or "the best rate of every arm is inside its grid", "")


def differing(arms: Mapping[str, Mapping[Any, tuple[Any, ...]]]) -> Gate:
    """Whether no two arms have equal outcomes in every seed that both have: results by seed. Arms that are one
    experiment by intent (an ablation that is the baseline) have equal first values, the keys of their runs, and do not count.

    >>> differing({"method": {0: ("a", 0.5), 1: ("b", 0.6)}, "baseline": {0: ("c", 0.5), 1: ("d", 0.6)}})["open"]
    False
    """
    for (one, ours), (other, theirs) in combinations(arms.items(), 2):
        seeds = [seed for seed in ours if seed in theirs and ours[seed][0] != theirs[seed][0]]
        if len(seeds) > 1 and all(ours[seed][1:] == theirs[seed][1:] for seed in seeds):
            why = f"{one} and {other} have equal results in each of {len(seeds)} seeds"
            return {"gate": "differ", "open": False, "why": why}
    return {"gate": "differ", "open": True, "why": "no two arms have equal results in every seed"}


def _gate(name: str, is_open: bool, told: str, required: str) -> Gate:
    return {"gate": name, "open": bool(is_open), "why": f"{told} (required: {required})" if required else told}


# --- from records -------------------------------------------------------------------------------------------------


def gates_of(
    claim: Claim,
    records: Mapping[str, Sequence[Record]],
    rates: Mapping[str, Mapping[float, float]],
    gains: Sequence[float],
    chance: float | None = None,
) -> list[Gate]:
    """The gates that the runs of the first seeds decide, by arm; those that were not measured are left out."""
    reference = records.get(BASELINE, ())
    chance = chance_of(claim) if chance is None else chance
    scores = [score_of(record, claim) for record in reference]
    updates = {name: _mean(runs, "updates") for name, runs in records.items() if name not in (ABLATION, PLAIN)}
    counted = {name: mean for name, mean in updates.items() if mean is not None}
    cut = [record["cut"] for record in reference if "cut" in record]
    outcomes = {
        name: {r["seed"]: (r["key"], *_outcome(r, claim, {name} <= {METHOD, BASELINE})) for r in runs}
        for name, runs in records.items()
    }
    gates = [
        above_chance(scores, chance) if len(scores) > 1 and chance is not None and claim.better == "higher" else None,
        enough_updates(counted) if counted else None,
        not_cut(cut) if cut and not claim.cuts else None,
        enough_gain(gains) if gains else None,
        rates_inside(rates, "higher" if claim.keeps else claim.better),
        None if claim.kind in ("bound", "slope") else differing(outcomes),
    ]
    return [gate for gate in gates if gate is not None]


def chance_of(claim: Claim) -> float | None:
    """What guessing scores by a claim's metric, where that is known."""
    metric = claim.metric.removeprefix("mean ").rpartition("/")[2]
    return 0.0 if metric in ACCURATE else CHANCE.get(metric)


def _mean(records: Sequence[Record], unit: str) -> float | None:
    spent = [record["spent"][unit] for record in records if unit in record["spent"]]
    return fmean(spent) if spent else None


def _outcome(record: Record, claim: Claim, by_score: bool) -> tuple[Any, ...]:
    """By the score that decides the claim; else by all results of a run."""
    if by_score:
        return (score_of(record, claim),)
    return record["weights"], record.get("result"), [point["result"] for point in record["points"]]


def not_cut(shares: Sequence[float]) -> Gate:
    """Whether the token limit cuts few of the baseline's answers in training.

    >>> not_cut([0.01, 0.03])["open"], not_cut([0.04, 0.10])["open"]
    (True, False)
    """
    mean = fmean(shares)
    return _gate(
        "cut",
        mean <= 1 - FIT,
        f"the token limit cuts {100 * mean:.0f} % of answers",
        f"{100 - 100 * FIT:.0f} % at most",
    )


def solutions_fit(claim: Claim, arm: Arm) -> Gate | None:
    """Whether worked solutions fit the token limit: the gate `cut` where no run is needed."""
    if claim.cuts:
        return None
    built = arm.build()
    recipe, source = built.recipe, built.task
    if not isinstance(recipe, Recipe) or source is None or not has_solutions(source):
        return None
    trained = [model for model in recipe.models.values() if model.trains]  # those of a scorer may have no policy
    model, most = recipe.models.get("policy", trained[0] if trained else None), recipe.sampling.max_tokens
    if not hasattr(model, "teacher_force"):
        return None
    worst, share = "", 1.0
    for kind, lengths in solution_lengths(model, source).items():
        fit = sum(length <= most for length in lengths) / len(lengths)
        if fit < share:
            worst, share = kind, fit
    told = f"{100 * share:.0f} % of the worked solutions of {worst or 'every level'} fit {most} tokens"
    return _gate("cut", share >= FIT, told, f"{100 * FIT:.0f} %")


def has_solutions(source: Any) -> bool:
    """Whether every problem comes with a worked one: a mixture of sources without any still reports that it has."""
    return all(hasattr(each, "solution") for each in (source, *kinds_of(source).values()))


def solution_lengths(model: Any, source: Any) -> dict[str, list[int]]:
    """The tokens of worked solutions, each with the mark that ends it, by level: of the first problems of each."""
    lengths = {}
    for kind, level in kinds_of(source).items():
        size = level.size("train")
        tasks = [level.get("train", i) for i in range(LOOKED_AT if size is None else min(size, LOOKED_AT))]
        lengths[kind] = [len(model.teacher_force(task.prompt, source.solution(task), []).actions) for task in tasks]
    return lengths
