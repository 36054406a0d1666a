"""Which numbers of a run foretell that it will collapse: how early they warn, and how often for nothing.

A sign is a number a step. It warns once the mean of its last four steps is so far above (or below) that of its first four. The
direction and the threshold are chosen on some runs and judged on others. Pure functions of numbers; what collapses are is in
`guerdon/studies/collapse.py`. Leaves out: signs together, and thresholds relative to a sign's own noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

BLOCK = 4  # steps that are averaged
LEAD = 5  # steps before the collapse by which a warning has to come
FALSE = 0.1  # of the runs without a collapse, the most that may be warned of
WARNED = 0.8  # of the collapses, what a sign that deserves to be a rule warns of
TRIED = 100  # thresholds in each direction


@dataclass(frozen=True)
class Watched:
    """A run: its signs by name, a value a step, and the step of its collapse, if it had one."""

    signs: Mapping[str, Sequence[float]]
    collapse: float | None


@dataclass(frozen=True)
class Rule:
    """Warn once a sign has risen (or fallen) by so much."""

    sign: str
    rises: bool
    by: float

    def __str__(self) -> str:
        return f"{self.sign} {'up' if self.rises else 'down'} by {self.by:.3g}"


def changes(values: Sequence[float], rises: bool = True) -> list[tuple[int, float]]:
    """Of every step after the first block: how far the block that ends there is above (or below) the first.

    >>> changes([0, 0, 0, 0, 4, 4])
    [(4, 1.0), (5, 2.0)]
    """
    first, sign = fmean(values[:BLOCK]) if values else 0.0, 1.0 if rises else -1.0
    return [(t, sign * (fmean(values[t + 1 - BLOCK : t + 1]) - first)) for t in range(BLOCK, len(values))]


def warning_step(values: Sequence[float], rises: bool, by: float) -> int | None:
    """The first step at which a sign warns.

    >>> warning_step([0, 0, 0, 0, 4, 4], True, 1.5), warning_step([0, 0, 0, 0, 4, 4], False, 1.5)
    (5, None)
    """
    return next((step for step, change in changes(values, rises) if change >= by), None)


def judged(runs: Sequence[Watched], rule: Rule) -> dict[str, Any]:
    """What a rule came to: the share of collapses that it warned of in time, of all and of those late enough for any warning;
    that of the other runs that it warned of; and by how many steps it was early, the median over collapses that it warned of
    at all. None where there were no such runs."""
    steps = [warning_step(run.signs.get(rule.sign, ()), rule.rises, rule.by) for run in runs]
    both = list(zip(runs, steps, strict=True))
    early = [run.collapse - step for run, step in both if run.collapse is not None and step is not None]
    collapses = sum(run.collapse is not None for run in runs)
    late = sum(run.collapse is not None and run.collapse >= BLOCK + LEAD for run in runs)
    in_time = sum(lead >= LEAD for lead in early)
    calm = [step for run, step in both if run.collapse is None]
    return {
        "collapses": collapses,
        "calm": len(calm),
        "warned": in_time / collapses if collapses else None,
        "warned_late": in_time / late if late else None,
        "false": sum(step is not None for step in calm) / len(calm) if calm else None,
        "lead": median(early) if early else None,
    }


def chosen(runs: Sequence[Watched], sign: str) -> Rule | None:
    """Of a sign, the direction and the threshold that warn of most collapses in time, among those with few false alarms; of
    equals that with the highest threshold. None where nothing warns in time, or no run collapsed."""
    best: tuple[float, float, Rule] | None = None
    for rises in (True, False):
        sizes = sorted({c for run in runs for _, c in changes(run.signs.get(sign, ()), rises) if c > 0})
        for by in sizes[:: max(1, len(sizes) // TRIED)]:
            rule = Rule(sign, rises, by)
            found = judged(runs, rule)
            if not found["warned"] or (found["false"] or 0.0) > FALSE:
                continue
            if best is None or (found["warned"], by) > best[:2]:
                best = (found["warned"], by, rule)
    return best[2] if best else None


def deserves(found: Mapping[str, Any]) -> bool:
    """Whether a rule, on runs that it was not chosen on, warns of enough collapses with few enough false alarms."""
    return found["warned"] is not None and found["warned"] >= WARNED and (found["false"] or 0.0) <= FALSE
