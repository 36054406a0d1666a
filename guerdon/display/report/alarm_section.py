"""The alarms of a run: each with what happened, what to do and the rollouts that did it; and the curves they are about.

An event of a stranger's folder may hold anything where rollouts should be: what is not of our form is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.manifest import Damaged
from guerdon.display.report.chart_sections import chart_title
from guerdon.display.report.charts import LineChart, line_chart, px, step_number
from guerdon.display.report.examples import StoredBatch
from guerdon.display.report.metric_curves import Curve
from guerdon.display.report.rollout_view import RolloutGroup, rollout_group
from guerdon.display.report.shown_numbers import ShownNumber
from guerdon.display.svg import scale
from guerdon.runs.event_types import Alarmed
from guerdon.runs.headline import WORTH, finite
from guerdon.runs.rollout_files import read_batch
from guerdon.runs.run import Run

FIRST_ID = 10_000  # of charts: those of the other sections count from 0
SHOWN = 12  # alarms with their rollouts; of more there are the words


@dataclass(frozen=True)
class AlarmedRollout:
    """A rollout as an alarm holds it."""

    step: int
    episode: str
    segment: int
    prompt: str
    said: str
    numbers: dict[str, float]

    @property
    def words(self) -> str:
        """Its numbers in a line."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())


@dataclass(frozen=True)
class ShownAlarm:
    """`rollouts` are those of the stored batch; where it is not stored, `told` is what the event has of them."""

    step: ShownNumber
    rule: str
    severity: str
    message: str
    mend: str
    rollouts: RolloutGroup | None
    told: list[AlarmedRollout]


@dataclass(frozen=True)
class AlarmSection:
    alarms: list[ShownAlarm]
    charts: list[LineChart]


def rollouts_of(alarm: Alarmed) -> list[AlarmedRollout]:
    """Those of an alarm that are of our form."""
    told = []
    for each in alarm.rollouts:
        if isinstance(each, dict) and isinstance(each.get("step"), int) and isinstance(each.get("segment"), int):
            numbers = each.get("numbers")
            kept = (
                {str(k): float(v) for k, v in numbers.items() if finite(v) is not None}
                if isinstance(numbers, dict)
                else {}
            )
            key, prompt, said = (str(each.get(name, "")) for name in ("episode", "prompt", "said"))
            told.append(AlarmedRollout(each["step"], key, each["segment"], prompt, said, kept))
    return told


def alarm_section(
    run: Run, alarms: Sequence[Alarmed], curves: Mapping[str, Curve], note: Callable[[str], None]
) -> AlarmSection | None:
    """None where no alarm was raised."""
    if not alarms:
        return None
    steps = [alarm.step for alarm in alarms]
    charts = [
        _marked(line_chart(curves[name], chart_title(name), FIRST_ID + i), curves[name], steps)
        for i, name in enumerate(charted(curves))
    ]
    return AlarmSection([_shown(run, alarm, i < SHOWN, note) for i, alarm in enumerate(alarms)], charts)


def charted(curves: Mapping[str, Curve]) -> list[str]:
    """The curves beside which alarms are read: reward, truth, their agreement, and each KL."""
    proxy = next((name for name in WORTH if name in curves), "")
    names = [proxy, "truth", "watch/agreement", *(n for n in curves if "/kl" in n)]
    return [name for name in dict.fromkeys(names) if name in curves and not curves[name].flat]


def _marked(chart: LineChart, curve: Curve, steps: Sequence[int]) -> LineChart:
    """With a line at every alarm."""
    left, right, _, _ = chart.frame
    x = scale(curve.steps[0], curve.steps[-1], left, right)
    inside = {step for step in steps if curve.steps[0] <= step <= curve.steps[-1]}
    return dataclasses.replace(chart, marks=tuple(px(x(step)) for step in sorted(inside)))


def _shown(run: Run, alarm: Alarmed, with_rollouts: bool, note: Callable[[str], None]) -> ShownAlarm:
    told = rollouts_of(alarm) if with_rollouts else []
    stored = _stored(run, alarm.step, note) if told else None
    group = _group(stored, told) if stored is not None else None
    return ShownAlarm(
        step_number(alarm.step),
        alarm.rule,
        alarm.severity if alarm.severity in ("bad", "warn", "note") else "warn",
        alarm.message,
        alarm.mend,
        group,
        [] if group is not None else told,
    )


def _stored(run: Run, step: int, note: Callable[[str], None]) -> StoredBatch | None:
    path = run.folder.rollouts(step)
    if not path.exists():
        return None
    try:
        return StoredBatch(step, False, read_batch(path, step))
    except Damaged as error:
        note(str(error))
        return None


def _group(stored: StoredBatch, told: Sequence[AlarmedRollout]) -> RolloutGroup | None:
    """The tracks of a batch that an alarm names; None where it has not all of them."""
    batch: Any = stored.batch
    leaves = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    track = {(batch.episodes[e].key, place): k for k, (e, place) in enumerate(leaves)}
    chosen = [(f"episode {each.episode}", track.get((each.episode, each.segment))) for each in told]
    if any(k is None for _, k in chosen):
        return None
    return rollout_group(stored, [(label, k) for label, k in chosen if k is not None])
