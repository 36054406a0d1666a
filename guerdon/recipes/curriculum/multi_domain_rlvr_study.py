"""Does one domain help others? GRPO on every set of `together` domains, and what it does to each of them.

Paper: Li et al. 2025, Can One Domain Help Others? A Data-Centric Study on Multi-Domain Reasoning via Reinforcement Learning
(arXiv:2507.17512): mathematics, code and puzzles, alone, in pairs and all three. Of its six pairs four rise, by 4 to 13 points,
and two fall by 3 (table 9); all three together are best over all. Here a domain is a family of problems in the task (sums,
programs to trace, countdown). Every run begins with the same model and has the same budget; sets of more domains draw evenly
from their kinds. `gains` is the transfer matrix, in accuracy on held-out problems since the start: `own` is its mean over what
a run trained on, `transfer` over what it did not, and `accuracy` is over all domains at the end. With `together=0` nothing is
trained.
Leaves out: base against instructed models and templates (sprig is one model with one way to ask); partial rewards; the order of
problems by difficulty and the renewal of the reference between stages (`in_stages` and `snapshot(every=...)` are for those).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.task import TaskSource, kinds_of
from guerdon.curricula.plain import uniform
from guerdon.recipes.house.grpo import grpo
from guerdon.studies.curves import at_the_end, held_out
from guerdon.tasks.mixtures import mixture as mixed

NAME = "multi-domain-rlvr-study"
ARMS: Any = {"task": "addition:5-6+trace:2-3+countdown:3-4", "settings": "lr=5e-5 max_tokens=96", "budget": 150_000}
HELPS: Any = {"method": "together=1", "baseline": f"{NAME} together=0", "metric": "transfer", **ARMS}
ALL: Any = {"method": "together=3", "baseline": f"{NAME} together=1", "ablation": f"{NAME} together=2", **ARMS}


@recipe(
    "multi-domain-rlvr-study",
    family="curriculum",
    paper="arXiv:2507.17512",
    claim=(
        Claim(says="Training on one domain raises accuracy on the others, on average over all pairs.", **HELPS),
        Claim(says="All domains together end higher over all of them than one alone.", metric="accuracy", **ALL),
    ),
    on=grpo,
    needs=Needs(domains=True),
)
def multi_domain_rlvr_study(base: Recipe, task: Any, *, together: int = 1) -> Study:
    """Train on every set of so many domains, and measure all domains."""
    domains = domains_of(task)
    made = base  # the name that the body's hash has
    if len(domains) < 2 or not 0 <= together <= len(domains):
        raise UserError(
            f"{task.name} has {len(domains)} domains: give two or more (A+B+C), and together at most as many"
        )

    def body(run: Any, seed: int) -> dict[str, Any]:
        rates: dict[str, list[float]] = {"own": [], "transfer": [], "accuracy": []}
        matrix = {}
        for names in combinations(domains, together):
            if names:
                source = mixed("+".join(names), [each for name in names for each in domains[name]])
                drawn = uniform(source, made.curriculum.tries)
                curve = held_out(run.train(made.but(curriculum=drawn), budget=run.budget))
            else:
                curve = held_out(run.train(made, steps=0))
            matrix["+".join(names)] = gained = gains(curve)
            results = split(names, gained) | {"accuracy": fmean(by_domain(at_the_end(curve)["kinds"]).values())}
            for key, value in results.items():
                rates[key].append(value)
        return {**{key: fmean(values) for key, values in rates.items() if values}, "gains": matrix}

    return Study(body)


def domains_of(task: TaskSource) -> dict[str, list[TaskSource]]:
    """The sources of a task by their family."""
    domains: dict[str, list[TaskSource]] = {}
    for kind, source in kinds_of(task).items():
        domains.setdefault(family_of(kind), []).append(source)
    return domains


def family_of(kind: str) -> str:
    """`countdown` of `countdown:3`."""
    return kind.rpartition(":")[0]


def by_domain(kinds: Mapping[str, float]) -> dict[str, float]:
    """The mean over each domain's kinds.

    >>> by_domain({"countdown:3": 0.5, "countdown:4": 0.25, "trace:2": 1.0})
    {'countdown': 0.375, 'trace': 1.0}
    """
    accuracies: dict[str, list[float]] = {}
    for kind, value in kinds.items():
        accuracies.setdefault(family_of(kind), []).append(value)
    return {domain: fmean(values) for domain, values in accuracies.items()}


def gains(curve: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By domain, what a run has more at its end than before it."""
    before, after = by_domain(curve[0]["kinds"]), by_domain(at_the_end(curve)["kinds"])
    return {domain: after[domain] - before[domain] for domain in before}


def split(trained: Sequence[str], gained: Mapping[str, float]) -> dict[str, float]:
    """The mean gain on the domains that were trained on (`own`) and on the others (`transfer`), where there are some.

    >>> split(["a"], {"a": 0.5, "b": 0.25, "c": -0.25})
    {'own': 0.5, 'transfer': 0.0}
    """
    own = [gain for domain, gain in gained.items() if domain in trained]
    others = [gain for domain, gain in gained.items() if domain not in trained]
    return {name: fmean(values) for name, values in (("own", own), ("transfer", others)) if values}
