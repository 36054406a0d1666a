"""Parts of a reward that never applied in a run: they have no effect, which would go unnoticed.

Read from the run's events, so a run that was killed and resumed reports the same as an unbroken one.
Leaves out: scores that failed, which are counted as they come.
"""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.runs.event_types import Event, StepDone

EARLY = 20  # steps after which a longer run is warned, and not only at its end
FAILED, MEAN = "/failed", "/mean"


def unapplied_columns(events: Sequence[Event]) -> list[str]:
    """The parts of rewards (`reward.length`) that had neither a value nor a failure in any step."""
    done = [e for e in events if isinstance(e, StepDone)]
    names = set[str]().union(*(e.metrics for e in done))
    columns = {name.removesuffix(FAILED) for name in names if name.endswith(FAILED)}
    parts = sorted(name for name in columns if name.rpartition(".")[0] in columns)
    return [
        part
        for part in parts
        if not any(f"{part}{MEAN}" in e.metrics or e.metrics.get(f"{part}{FAILED}") for e in done)
    ]


def never_applied(events: Sequence[Event]) -> list[str]:
    """A sentence for each of them.

    >>> none, some = {"reward/failed": 0.0, "reward.length/failed": 0.0}, {"reward/failed": 0.0, "reward.length/failed": 0.1}
    >>> print(*never_applied([StepDone(0, metrics=none), StepDone(1, metrics=none)]))
    length never applied in 2 steps: it scored no sample, so it had no effect on 'reward'; see when it says None
    >>> never_applied([StepDone(0, metrics=none), StepDone(1, metrics=some)])
    []
    """
    steps = sum(isinstance(e, StepDone) for e in events)
    return [
        f"{part.rpartition('.')[2]} never applied in {steps} step{'s' * (steps != 1)}: it scored no sample, so it had"
        f" no effect on {part.rpartition('.')[0]!r}; see when it says None"
        for part in unapplied_columns(events)
    ]
