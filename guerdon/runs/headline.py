"""The headline of a run: the one number that its recipe is about, before and after.

Of a run with an exam it is the first exam's first measure: a policy's accuracy, a reward model's accuracy on pairs, a process
reward model's first-error F1. Of a study it is what its body returned. Of a run without an exam it is the mean reward of the
first and the last step, and is labelled as that. Progress, the last lines of `train`, `list runs`, `show` and the report
all take it from here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DRAWS = "draws/"  # metrics that count the problems of a step, a number for each kind
WORTH = ("reward", "correct")  # the columns with the score of a sample, the first that has values
ENDS = ("_low", "_high")  # of an interval
COUNTS = ("task", "tasks", "tries", "steps_done", "missing", "length", "point")  # of an exam, and no measure


@dataclass(frozen=True)
class Measure:
    """A measure of an exam: what it is called in words, whether it is a share, and the metric of a step that comes nearest to
    it on what was trained on, after the exam's name where it has one, with its words where they are others."""

    words: str
    is_share: bool
    now: str = ""
    now_words: str = ""


MEASURES = {  # the first of them that an exam gives is its headline
    "pass@1": Measure("accuracy", True, "correct/mean"),
    "pair_accuracy": Measure("pair accuracy", True, "accuracy"),
    "first_error_f1": Measure("first-error F1", False, "step_f1", "step F1"),
    "win_rate": Measure("games won", True),
    "accuracy": Measure("accuracy", True),  # what studies call it
}


@dataclass(frozen=True)
class Point:
    """A headline at one time: its value, after so many steps, and the interval where it has one. `place` is the number of the
    evaluation, or the step."""

    value: float
    steps_done: int
    place: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Headline:
    """`key` is the name of the number in an evaluation or, where nothing was examined, in a step's metrics; `points` are all
    that there are, in order. Of a study, which has one number at its end, the only point is that."""

    words: str
    key: str
    source: str  # "exam", "step" or "result"
    points: tuple[Point, ...]
    is_share: bool = False
    task: str = ""  # of the exam
    tasks: int = 0  # how many problems it had, 0 where it is not recorded

    @property
    def about(self) -> str:
        """What it is measured on."""
        if self.source == "exam":
            return f"held-out {self.task}".rstrip() + (f", {self.tasks} tasks" if self.tasks else "")
        return "the study's result" if self.source == "result" else "on the problems trained on; no held-out exam"

    @property
    def ends(self) -> tuple[Point, ...]:
        """The first and the last, where they differ in time."""
        return self.points if len(self.points) < 2 else (self.points[0], self.points[-1])

    @property
    def text(self) -> str:
        """Before and after, with intervals, and what it is measured on."""
        return f"{' -> '.join(self.shown(point) for point in self.ends)}  {self.about}"

    @property
    def short(self) -> str:
        """Before and after in few signs, and the words, for a table."""
        numbers = " -> ".join(f"{100 * p.value:.1f}" if self.is_share else plain(p.value) for p in self.ends)
        return f"{numbers}{' %' if self.is_share else ''} {self.words}"

    def shown(self, point: Point) -> str:
        value = percent(point.value) if self.is_share else plain(point.value)
        if point.low is None or point.high is None:
            return value
        low, high = (f"{100 * e:.1f}" if self.is_share else plain(e) for e in (point.low, point.high))
        return f"{value} ({low} to {high})"

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        first = self.points[0].value if len(self.points) > 1 else None
        return {
            "name": self.words,
            "key": self.key,
            "from": self.source,
            "before": first,
            "after": self.points[-1].value,
            "about": self.about,
        }


def exam_headline(evaluations: Sequence[Mapping[str, Any]]) -> Headline | None:
    """Of evaluations in order, each with `steps_done`; None where they hold no number."""
    keys = [key for key in map(headline_key, evaluations) if key]
    if not keys:
        return None
    key = keys[-1]
    exam, name = _split(key)
    measure = MEASURES.get(name, Measure(name, False))
    points = [
        Point(value, int(e.get("steps_done", 0)), place, *(finite(e.get(f"{key}{end}")) for end in ENDS))
        for place, e in enumerate(evaluations)
        if (value := finite(e.get(key))) is not None
    ]
    prefix, last = f"{exam}/" if exam else "", evaluations[-1]
    task, tasks = str(last.get(f"{prefix}task") or ""), int(finite(last.get(f"{prefix}tasks")) or 0)
    return Headline(measure.words, key, "exam", tuple(points), measure.is_share, task, tasks)


def headline_key(result: Mapping[str, Any]) -> str:
    """Which number of an evaluation is its headline: of the first exam the measure that is known by name, else the first with
    an interval, else the first that is not a count; empty where there is none."""
    names = [k for k, v in result.items() if finite(v) is not None and not k.endswith(ENDS)]
    names = [k for k in names if _split(k)[1] not in COUNTS]
    if not names:
        return ""
    first = _split(names[0])[0]
    own = [k for k in names if _split(k)[0] == first]
    known = [k for name in MEASURES for k in own if _split(k)[1] == name]
    with_interval = [k for k in own if all(f"{k}{end}" in result for end in ENDS)]
    floats = [k for k in own if isinstance(result[k], float)]
    return (known or with_interval or floats or own)[0]


def now_metric(key: str) -> tuple[str, Measure] | None:
    """The metric of a step that says of the problems trained on what an exam's headline says of held-out ones."""
    exam, name = _split(key)
    measure = MEASURES.get(name)
    if measure is None or not measure.now:
        return None
    return measure.now if not exam else f"{exam}/{measure.now}", measure


def step_headline(steps: Sequence[tuple[int, Mapping[str, Any]]]) -> Headline | None:
    """Of the number and the metrics of each step: the mean reward, which is of the problems trained on."""
    for name in WORTH:
        key = f"{name}/mean"
        points = [Point(v, step + 1, step) for step, m in steps if (v := finite(m.get(key))) is not None]
        if points:
            words = "reward" if name == "reward" else "accuracy"
            return Headline(words, key, "step", tuple(points), is_share=name == "correct")
    return None


def result_headline(result: Any) -> Headline | None:
    """Of what a study returned, by the rule of an evaluation."""
    key = headline_key(result) if isinstance(result, dict) else ""
    if not key:
        return None
    measure, ends = (
        MEASURES.get(_split(key)[1], Measure(key, False)),
        [finite(result.get(f"{key}{end}")) for end in ENDS],
    )
    return Headline(measure.words, key, "result", (Point(result[key], 0, 0, *ends),), measure.is_share)


def _split(key: str) -> tuple[str, str]:
    """The exam and the name of a number."""
    exam, _, name = key.rpartition("/")
    return exam, name


def finite(value: Any) -> float | None:
    """A number as it is; None for what is not a number, or cannot be drawn."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) <= sys.float_info.max else None


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def plain(number: float) -> str:
    """A number that is not a share."""
    return f"{number:.3f}" if isinstance(number, float) else str(number)
