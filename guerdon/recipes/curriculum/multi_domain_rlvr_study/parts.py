"""Whether learning one domain helps another: gains by domain, and how they split into what was trained on and what was not.

A domain is a family of problems, and its accuracy the mean over its kinds.
Leaves out: training and evaluating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from guerdon.core.task import TaskSource, kinds_of
from guerdon.studies.curves import at_the_end


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
