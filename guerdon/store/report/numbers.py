"""Every number the report shows, gathered from the run folder into one place, each under a key.

`values` are the numbers that stand on the page as text, `curves` those that are drawn. The page only ever looks them up,
so whoever reads the folder can compute each of them again; `tests/test_report.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guerdon.store.checksums import Damaged
from guerdon.store.event_types import Evaluated, Event, ScoresMissing, StepDone, TimeoutFired, Warned
from guerdon.store.events import latest, read_events
from guerdon.store.report.draws import Draws, make_draws, put_draws
from guerdon.store.report.examples import Example, find_examples
from guerdon.store.report.markup import key_of
from guerdon.store.report.metric_curves import Curve, finite, make_curves
from guerdon.store.run import Run


@dataclass(frozen=True)
class Missing:
    """Scores of one column that failed or timed out, over the whole run, and the last step's first exception."""

    column: str
    first: str


@dataclass(frozen=True)
class Inner:
    """One run of a study."""

    folder: str
    name: str
    status: str


@dataclass
class Numbers:
    """`values` by key; the rest says what there is to show, with the words that go beside the numbers."""

    values: dict[str, float] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    draws: Draws | None = None
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)  # our words, then the run's
    examples: list[Example] = field(default_factory=list)
    inner: list[Inner] = field(default_factory=list)
    result: list[tuple[str, Any]] = field(default_factory=list)

    def put(self, key: str, value: Any) -> None:
        """Keep a number under a key; what is not a finite number is not kept, and the page says so in words."""
        if finite(value) is not None and not isinstance(value, bool):
            self.values[key] = value


def report_numbers(run: Run) -> Numbers:
    """Gather everything the report of a run, or of a study, has to say."""
    found = Numbers()
    events = latest(read_events(run.folder.events)) if run.folder.events.exists() else []
    done = [e for e in events if isinstance(e, StepDone)]
    for name in ("seed", "steps"):
        found.put(key_of("card", name), run.card.get(name))
    _totals(found, run, done)
    _evaluations(found, [e for e in events if isinstance(e, Evaluated)])
    _troubles(found, events)
    found.notes += [("", each) for each in run.damage]
    _curves(found, done)
    put_draws(found, make_draws(done))
    if run.card.get("kind") == "study":
        _study(found, run)
    else:
        found.examples = find_examples(run, found.values, lambda said: found.notes.append(("", said)))
    return found


def _totals(found: Numbers, run: Run, done: list[StepDone]) -> None:
    found.put("run/steps_done", max((e.step + 1 for e in done), default=0))
    spent = run.spent
    for name in ("tokens", "read", "updates"):
        found.put(f"run/{name}", spent[name])
    for name in ("episodes", "calls"):
        found.put(f"run/{name}", sum(getattr(e, name) for e in done))
    seconds = spent["seconds"]
    found.put("run/seconds", seconds)
    found.put("run/minutes", seconds / 60)
    found.put("run/hours", seconds / 3600)


def _evaluations(found: Numbers, events: list[Evaluated]) -> None:
    for i, event in enumerate(events):
        result = {"steps_done": event.step + 1, **event.result}
        found.evaluations.append(result)
        for name, value in result.items():
            found.put(key_of("eval", i, name), value)


def _troubles(found: Numbers, events: list[Event]) -> None:
    """Failed scores by column, and what the run warned of."""
    first: dict[str, str] = {}
    for event in events:
        if isinstance(event, ScoresMissing):
            first[event.column] = event.first
            for name in ("failed", "timed_out", "of"):
                key = key_of("missing", event.column, name)
                found.put(key, found.values.get(key, 0) + getattr(event, name))
            key = key_of("missing", event.column, "steps")
            found.put(key, found.values.get(key, 0) + 1)
        elif isinstance(event, Warned):
            found.notes.append(("", event.message))
        elif isinstance(event, TimeoutFired):
            found.notes.append(("a clock decided, so a resumed run may differ: ", event.what))
    found.missing = [Missing(column, text) for column, text in first.items()]


def _curves(found: Numbers, done: list[StepDone]) -> None:
    found.curves = make_curves(done)
    for name, curve in found.curves.items():
        at = curve.valued
        for step in (curve.steps[0], curve.steps[-1], curve.steps[at[-1]]):
            found.put(key_of("step", step), step)
        for i in (at[0], at[-1]):
            step = curve.steps[i]
            found.put(key_of("curve", f"{curve.metric}@{step}"), curve.value[i])
            if curve.std is not None:
                found.put(key_of("curve", f"{name}/std@{step}"), curve.std[i])
        low, high = curve.range
        found.put(key_of("low", name), low)
        found.put(key_of("high", name), high)
        plain = [v for v in curve.value if v is not None]
        found.put(key_of("least", name), min(plain))
        found.put(key_of("most", name), max(plain))
        found.put(key_of("count", name), curve.count)


def _study(found: Numbers, run: Run) -> None:
    """The runs inside a study, and the numbers its body returned."""
    for path in sorted(p.parent for p in run.folder.inner.glob("*/run.json")):
        inner = Run(path)
        found.inner.append(Inner(path.name, inner.name, inner.status))
        found.put(key_of("inner", path.name, "seed"), inner.card.get("seed"))
        found.put(key_of("inner", path.name, "steps"), inner.card.get("steps"))
        found.put(key_of("inner", path.name, "steps_done"), inner.steps_done)
        results = inner.evaluations if inner.folder.events.exists() else []
        for when, scored in zip(("before", "after"), (results[0], results[-1]) if results else (), strict=False):
            found.put(key_of("inner", path.name, when), scored.get("pass@1"))
    if not run.folder.result.is_file():
        return
    try:
        found.result = _leaves("", run.result)
    except Damaged as error:
        found.notes.append(("", str(error)))
    for name, value in found.result:
        found.put(key_of("result", name), value)


def _leaves(at: str, value: Any) -> list[tuple[str, Any]]:
    """The leaves of a JSON value with their paths."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inside is None:
        return [] if value is None and not at else [(at, value)]
    return [leaf for k, v in inside for leaf in _leaves(f"{at}/{k}" if at else str(k), v)]
