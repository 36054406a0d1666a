"""The runs that are compared, read once each; those that differ in nothing but the seed are one arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.display.run.metric_curves import Curve, make_curves
from guerdon.exams.tries import TriedProblem, unpacked
from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.runs.events import latest
from guerdon.runs.headline import ENDS, finite
from guerdon.runs.run import Run

ACCURACY = "pass@1"
CostRow = dict[str, float]


@dataclass(frozen=True)
class RunRead:
    """A run as it was read: what it is, its steps and its evaluations."""

    run: Run
    done: list[StepDone]
    evaluated: list[Evaluated]

    @property
    def named(self) -> str:
        return self.run.folder.named

    @property
    def config(self) -> dict[str, Any]:
        return self.run.config

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @cached_property
    def status(self) -> str:
        return self.run.status

    @cached_property
    def curves(self) -> dict[str, Curve]:
        return make_curves(self.done)

    @cached_property
    def spent(self) -> CostRow:
        return self.run.spent

    def exam(self, name: str) -> Any:
        """What the exam of a name asks, as the run's config describes it; None where it does not."""
        knobs = (self.config.get("parts") or {}).get("knobs")
        exams = knobs.get("exams") if isinstance(knobs, dict) else None
        for each in exams if isinstance(exams, list) else ():
            own = each.get("knobs") if isinstance(each, dict) else None
            if isinstance(own, dict) and own.get("name") == name:
                return own.get("source")
        return None

    @property
    def task(self) -> str:
        """What it was trained on, in words."""
        data = self.config["data"] or {}
        return str(self.config["wish"]["task"] or data.get("path") or self._examined_on)

    @property
    def _examined_on(self) -> str:
        tasks = (v for e in self.evaluated for k, v in e.result.items() if k.rpartition("/")[2] == "task")
        return str(next(tasks, "?"))

    def result(self, at: int) -> dict[str, Any]:
        """What exams found before the first step (0), or in the end (-1); empty where there was none then."""
        if not self.evaluated:
            return {}
        is_before = self.evaluated[at].step < 0
        wanted = is_before if at == 0 else not is_before or self.status == "complete"
        return self.evaluated[at].result if wanted else {}

    def sat(self, at: int, exam: str) -> tuple[str, str, str]:
        """Which exam an evaluation was: its task, how many problems it had and how many tries at each."""
        result = self.evaluated[at].result
        lead = f"{exam}/" if exam else ""
        asked = str(result.get(f"{lead}task", "?"))
        wished = self.task if not exam else asked  # the level is in what was asked for
        tasks, tries = (str(result.get(f"{lead}{name}", "?")) for name in ("tasks", "tries"))
        return wished if wished.startswith(asked) else asked, tasks, tries

    def problems(self, at: int, exam: str) -> dict[str, TriedProblem]:
        """What came of every problem at an evaluation, by the problem's name; none where that was not stored."""
        stored = self.evaluated[at].problems.get(exam)
        if not stored:
            return {}
        try:
            return unpacked(stored)
        except ValueError:
            return {}

    def is_even(self, at: int, exam: str) -> bool:
        """Whether kinds of problems weigh the same."""
        stored = self.evaluated[at].problems.get(exam)
        return isinstance(stored, dict) and stored.get("evenly") is True


@dataclass(frozen=True)
class RunArm:
    """Runs of one recipe with one set of settings, a seed each."""

    letter: str
    runs: list[RunRead]

    @property
    def first(self) -> RunRead:
        return self.runs[0]

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]

    @property
    def name(self) -> str:
        """In words: its first run, and how many there are of its kind."""
        more = len(self.runs) - 1
        return self.first.named + (f" and {more} more seed{'s' * (more > 1)}" if more else "")

    def mean_spent(self) -> CostRow:
        return {unit: fmean(run.spent[unit] for run in self.runs) for unit in self.first.spent}


def sat_one_exam(runs: Sequence[RunRead], at: int, exam: str) -> bool:
    """Whether an evaluation of runs was on one task, by its name or by what their configs say of it, with as many problems and
    tries."""
    tasks, *sizes = (set(each) for each in zip(*(run.sat(at, exam) for run in runs), strict=True))
    sources = [run.exam(exam) for run in runs]
    is_one_source = sources[0] is not None and all(source == sources[0] for source in sources)
    return all(len(each) == 1 for each in sizes) and (len(tasks) == 1 or is_one_source)


@dataclass
class RunsRead:
    """The arms, and what there is to say of runs that are in none, or not as they should be."""

    arms: list[RunArm] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_arms(runs: Sequence[str | Path | Run]) -> RunsRead:
    """The runs as arms, in the order given. What cannot be compared is noted and left out; fewer than two are refused."""
    read = RunsRead()
    kept = [run for each in runs if (run := _read(each, read.notes)) is not None]
    paths = [run.run.path.resolve() for run in kept]
    kept = [run for i, run in enumerate(kept) if paths[i] not in paths[:i]]
    if len(kept) < 2:
        why = f": {read.notes[0]}" if read.notes else ""
        raise UserError(f"give two runs or more to compare{why}")
    groups: list[list[RunRead]] = []
    for run in kept:
        same = next((g for g in groups if _is_same(g[0], run) and run.seed not in [r.seed for r in g]), None)
        if same is None:
            read.notes += [_twin(other, run) for g in groups for other in g if _is_same(other, run)][:1]
            groups.append([run])
        else:
            same.append(run)
    read.arms = [RunArm(letter, group) for letter, group in zip(_letters(len(groups)), groups, strict=True)]
    return read


def _letters(number: int) -> list[str]:
    many = number > len(ascii_uppercase)
    return [f"R{i}" for i in range(1, number + 1)] if many else list(ascii_uppercase[:number])


def _is_same(a: RunRead, b: RunRead) -> bool:
    """Whether two runs are of one recipe with all its settings, of one length, both complete, and examined alike."""
    if a.status != "complete" or b.status != "complete":
        return False
    keys = ("hash", "steps", "budget", "source", "results")
    how = [{k: v for k, v in run.config["options"].items() if k.startswith("eval_")} for run in (a, b)]
    return all(a.config.get(key) == b.config.get(key) for key in keys) and how[0] == how[1]


def _twin(a: RunRead, b: RunRead) -> str:
    same = "and of the same weights" if a.run.weights == b.run.weights else "but of other weights"
    return f"{a.named} and {b.named} are one recipe with one seed, {same}: the second adds no other seed"


def _read(source: str | Path | Run, notes: list[str]) -> RunRead | None:
    named = source.folder.named if isinstance(source, Run) else str(source)
    try:
        run = source if isinstance(source, Run) else Run(source)
        if run.config["kind"] == "study":
            notes.append(f"{named} is a study and is skipped: name runs in {run.folder.shown(run.folder.inner)}")
            return None
        if not run.folder.events.exists():
            notes.append(f"{named} has not started and is skipped")
            return None
        events = latest(run.log().events)
    except Damaged as error:
        notes.append(f"{named} is skipped: {error}")
        return None
    notes += [f"{named} is damaged: {damage}" for damage in run.damage]
    status = run.status
    if status != "complete":
        notes.append(f"{named} is not complete ({status}): {run.progress}")
    done = [e for e in events if isinstance(e, StepDone)]
    return RunRead(run, done, [e for e in events if isinstance(e, Evaluated)])


# --- numbers of exams ---------------------------------------------------------------------------------------------


def exam_numbers(run: RunRead) -> list[str]:
    """The names of what every evaluation of a run measured, accuracies first; ends of intervals and counts left out."""
    results = [e.result for e in run.evaluated]
    names = [n for n in (results[-1] if results else ()) if _is_measured(n)]
    there = [n for n in names if all(number_in(result, n) is not None for result in results)]
    return sorted(there, key=lambda n: ("pass@" not in n, not n.endswith(ACCURACY)))


def _is_measured(name: str) -> bool:
    return not name.endswith(ENDS) and name.rpartition("/")[2] not in ("tasks", "tries", "missing")


def number_in(result: Mapping[str, Any], name: str) -> float | None:
    """A number of an evaluation; None for what is none, which a stranger may have written."""
    value = finite(result.get(name))
    return None if value is None else float(value)


def common(lists: Sequence[Sequence[str]]) -> list[str]:
    """What is in all, in the order of the first."""
    return [each for each in lists[0] if all(each in other for other in lists[1:])] if lists else []


def evaluation_curve(run: RunRead, metric: str) -> Curve | None:
    """A number of exams over the steps done."""
    valued = [(e.step + 1, v) for e in run.evaluated if (v := number_in(e.result, metric)) is not None]
    if not valued:
        return None
    return Curve(metric, metric, [s for s, _ in valued], [v for _, v in valued], None, len(valued))


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The curves of an arm's runs as one: the mean at every step at which all of them have a value."""
    if len(curves) == 1:
        return curves[0]
    points = [dict(zip(c.steps, c.value, strict=True)) for c in curves]
    steps = [s for s in curves[0].steps if all(p.get(s) is not None for p in points)]
    value: list[float | None] = [fmean(v for p in points if (v := p[s]) is not None) for s in steps]
    return Curve(curves[0].name, curves[0].metric, steps, value, None, len(steps))
