"""A run, read from its folder: metrics, rollouts, evaluations, warnings, cost and end."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.exam_result import ExamResult
from guerdon.core.lazy import in_notebook, table_for_notebooks
from guerdon.core.manifest import Damaged, read_regular
from guerdon.runs.belonging import missing, stranger
from guerdon.runs.checksums import crc
from guerdon.runs.event_types import Alarmed, Ended, Evaluated, Event, ScoresMissing, StepDone, Stopped, Warned
from guerdon.runs.events import Log, latest, read_log
from guerdon.runs.folder import RunFolder
from guerdon.runs.headline import Headline, exam_headline, result_headline, step_headline
from guerdon.runs.rollout_files import read_batch, read_table
from guerdon.runs.rollout_table import in_order, tidy
from guerdon.runs.run_config import first_step

E = TypeVar("E", bound=Event)


class Missing(UserError):
    """What was asked for is not there, or not any more."""


def damage_of(folder: RunFolder) -> str:
    """What of a run is damaged, its run.json included, in a line; empty where nothing is, or no run."""
    try:
        return "; ".join(Run(folder).damage) if folder.exists() else ""
    except Damaged as error:
        return str(error)


def drop_damaged(folder: RunFolder) -> list[str]:
    """Drop a run that is damaged, of those that can be made again at will; what to say of it in the one that is."""
    why = damage_of(folder)
    if why:
        folder.clear()
    return [f"the run that lay here was damaged, and is made again: {why}"] if why else []


class Run:
    """A run folder, read. Nothing is cached: a run that is still going shows what it has.

    >>> import tempfile
    >>> import guerdon as gd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = gd.train("grpo", task="successor", model="tabular", steps=2, lr=0.3, out=f"{folder}/run")
    ...     again = gd.Run(f"{folder}/run")
    ...     again.name, again.progress, again.rollout_steps, again.metrics.num_rows
    ('grpo', '2 of 2 steps', [0, 1], 2)
    """

    def __init__(self, path: str | Path | RunFolder) -> None:
        self.folder = path if isinstance(path, RunFolder) else RunFolder(path)
        self.path = self.folder.path
        self.config = self.folder.read_config()

    def __repr__(self) -> str:
        return f"Run({self.folder.named!r}: {self.name}, {self.progress}, {self.status})"

    _repr_html_ = in_notebook

    @property
    def name(self) -> str:
        return str(self.config["recipe"])

    def log(self) -> Log:
        """Its events as they were written, all attempts, and what of them is damaged."""
        return read_log(self.folder.events)

    def events(self, kind: type[E]) -> list[E]:
        """The events of a type, as the last attempt at each step wrote them."""
        return [e for e in latest(self.log().events) if isinstance(e, kind)]

    @property
    def status(self) -> str:
        """`complete`, `stopped: why`, or `unfinished` (still going, or killed)."""
        every = self.log().events
        if any(isinstance(e, Ended) for e in every):
            return "complete"
        last = max((e.attempt for e in every), default=0)
        stops = [e for e in every if isinstance(e, Stopped) and e.attempt == last]
        return f"stopped: {stops[-1].why}" if stops else "unfinished"

    @property
    def damage(self) -> list[str]:
        """What of the run is not as it was written, a line each: damaged lines of events, events of another run, events or
        rollouts that are gone; of a run that ended, steps without an event
        and a last evaluation that is not there; of a study, what its runs have. run.json is checked when a run is opened,
        rollouts and checkpoints when they are read."""
        log = self.log()
        faults = [log.damage] if log.damage else []
        faults += filter(None, [stranger(self.folder, self.config, log)])
        faults += missing(self.folder, self.config, log)
        ends = [e for e in log.events if isinstance(e, Ended)]
        if ends and self.config.get("kind") == "recipe":
            begun, last = first_step(self.config), ends[-1].step
            there = {e.step for e in log.events if isinstance(e, StepDone) and begun <= e.step <= last}
            due = last + 1 - begun
            if len(there) < due:
                first = next(step for step in itertools.count(begun) if step not in there)
                many = f"{due - len(there)} of {due} steps have no event in events.jsonl"
                faults.append(f"{many}, the first of them step {first}")
            taken = [e.step for e in log.events if isinstance(e, Evaluated)]
            if taken and last not in taken:
                faults.append(f"the last evaluation, after {last + 1} steps, has no event in events.jsonl")
        if ends and self.config.get("kind") == "study":
            try:
                _ = self.result
            except Damaged as error:
                faults.append(str(error))
        inner = {config.parent.name: damage_of(RunFolder(config.parent)) for config in self._inner_configs}
        return faults + [f"inner/{name}: {damage}" for name, damage in inner.items() if damage]

    @property
    def result(self) -> Any:
        """What the body of a study that ended returned: a dict, or None where it was none. The last event vouches for it."""
        path = self.folder.result
        try:
            data = read_regular(path)
            result = json.loads(data)
        except (OSError, ValueError, RecursionError) as error:
            raise Damaged(f"{self.folder.shown(path)} cannot be read, and with it what the study found") from error
        vouched = [e.result for e in self.log().events if isinstance(e, Ended)]
        if vouched and vouched[-1] and vouched[-1] != crc(data):
            raise Damaged(f"{self.folder.shown(path)} is damaged: it is not what the study returned")
        return result

    @property
    def steps_done(self) -> int:
        return max((e.step + 1 for e in self.events(StepDone)), default=0)

    @property
    def progress(self) -> str:
        """How far it came, in words: steps, or what is spent of its budget; of a study, how many runs."""
        budget, is_study = self.config.get("budget"), self.config["kind"] == "study"
        if not budget and not is_study:
            return f"{self.steps_done} of {self.config['steps']} steps"
        done = f"{len(self.inner)} runs" if is_study else f"{self.steps_done} steps"
        if not budget:
            return done
        unit = budget["unit"]
        return f"{done}, {self.spent[unit]:,.0f} of {budget['amount']:,.0f} {unit.replace('_', ' ')}"

    @property
    def spent(self) -> dict[str, float]:
        """What the run has cost so far, in every unit of a budget; a study, what the runs in it have."""
        costs = [run.spent for run in self.inner] + [e.spent for e in self.events(StepDone)]
        return {unit: sum(cost[unit] for cost in costs) for unit in StepDone(0).spent}

    @property
    def inner(self) -> list[Run]:
        """The runs of a study."""
        return [Run(config.parent) for config in self._inner_configs]

    @property
    def _inner_configs(self) -> list[Path]:
        return sorted(self.folder.inner.glob("*/run.json"))

    @property
    def weights(self) -> str | None:
        """The hash of the final weights; None until the run is complete."""
        ended = [e for e in self.log().events if isinstance(e, Ended)]
        return ended[-1].weights if ended else None

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """Held-out results in order, each with the number of steps done when it was taken."""
        return [ExamResult({"steps_done": e.step + 1, **e.result}) for e in self.events(Evaluated)]

    @property
    def headline(self) -> Headline | None:
        """The number that the run is about, before and after; None where it has none yet."""
        if self.config["kind"] == "study" and self.folder.result.is_file():
            try:
                returned = result_headline(self.result)
            except Damaged:
                returned = None
            if returned is not None:
                return returned
        return exam_headline(self.evaluations) or step_headline([(e.step, e.metrics) for e in self.events(StepDone)])

    @property
    def curve(self) -> list[tuple[dict[str, float], dict[str, Any]]]:
        """Every evaluation: what was spent before it, in every unit of a budget (env steps: where there are any), and what it
        found."""
        total = StepDone(0).spent | {"steps": 0}
        before = {-1: total}
        for done in self.events(StepDone):
            before[done.step] = total = {unit: total[unit] + cost for unit, cost in done.spent.items()}
        if not total["env_steps"]:
            before = {
                step: {u: cost for u, cost in spent.items() if u != "env_steps"} for step, spent in before.items()
            }
        return [(e.spent or before.get(e.step, before[-1]), e.result) for e in self.events(Evaluated)]

    @property
    def failures(self) -> dict[str, dict[str, int]]:
        """Scores that failed or timed out, by column and cause."""
        by_column: dict[str, Counter[str]] = {}
        for event in self.events(ScoresMissing):
            by_column.setdefault(event.column, Counter()).update(event.causes)
        return {column: dict(causes.most_common()) for column, causes in by_column.items()}

    @property
    def unreadable(self) -> dict[str, tuple[int, int]]:
        """Replies of models asked in a role that could not be read, and how many were asked for, by role."""
        total: dict[str, tuple[int, int]] = {}
        for event in self.events(StepDone):
            for name, (lost, asked) in event.unreadable.items():
                before = total.get(name, (0, 0))
                total[name] = before[0] + lost, before[1] + asked
        return total

    @property
    def warnings(self) -> list[str]:
        return [e.message for e in self.log().events if isinstance(e, Warned)]

    @property
    def alarms(self) -> list[Alarmed]:
        """What the watch found, in order."""
        return self.events(Alarmed)

    @property
    def metrics(self) -> Any:
        """A pyarrow table, one row a step: step, tokens, read, updates, env steps where there are any, seconds, calls, episodes
        and every metric (null if missing)."""
        import pyarrow as pa

        rows = [
            {
                "step": e.step,
                "tokens": e.tokens,
                "read": e.read,
                "updates": e.updates,
                **({"env_steps": e.env_steps} if e.env_steps else {}),
                "seconds": e.seconds,
                "calls": e.calls,
                "episodes": e.episodes,
                **e.metrics,
            }
            for e in self.events(StepDone)
        ]
        names = list(dict.fromkeys(k for r in rows for k in r))
        return table_for_notebooks(pa.table({n: [r.get(n) for r in rows] for n in names}))

    @property
    def rollout_steps(self) -> list[int]:
        return sorted(int(p.stem.removeprefix("step-")) for p in (self.path / "rollouts").glob("step-*.parquet"))

    def batch(self, step: int) -> Batch:
        """The batch of a step, equal to the last bit to the one that was learned from."""
        path = self.folder.rollouts(step)
        if not path.exists():
            kept = self.rollout_steps
            has = f"it has {kept[0]} to {kept[-1]}" if kept else "it has none"
            raise UserError(f"{self.folder.named} holds no rollouts of step {step}: {has}")
        return read_batch(path, step, self.config.get("id"))

    def batches(self) -> Iterator[tuple[int, Batch]]:
        for step in self.rollout_steps:
            yield step, self.batch(step)

    @property
    def rollouts(self) -> Any:
        """A pyarrow table of all stored segments of all steps, a row each: step, episode, role, task_id, prompt, completion,
        length, reward, correct, advantage, every other column of the batch by its name, and `NAME:reason` for each; nested
        ones last (`runs/rollout_table.py` says what they hold)."""
        import pyarrow as pa

        tables = [tidy(*read_table(self.folder.rollouts(s), s, self.config.get("id")), s) for s in self.rollout_steps]
        return in_order(pa.concat_tables(tables, promote_options="permissive")) if tables else pa.table({})


class Snapshot(Run):
    """A run whose events do not change any more while it is looked at."""

    def __init__(self, folder: RunFolder, config: dict[str, object], log: Log) -> None:
        self.folder, self.path, self.config, self._log = folder, folder.path, config, log

    def log(self) -> Log:
        return self._log

    @cached_property
    def every(self) -> list[Event]:
        """The events of the last attempt at each step."""
        return latest(self._log.events)

    def events(self, kind: type[E]) -> list[E]:
        return [e for e in self.every if isinstance(e, kind)]

    @cached_property
    def last_time(self) -> float:
        return max((e.time for e in self._log.events), default=0.0)


def resume_call(run: Run) -> str:
    """How a run is resumed in Python."""
    return f"gd.train({'' if run.config['plain'] else 'recipe, '}resume={run.folder.named!r})"
