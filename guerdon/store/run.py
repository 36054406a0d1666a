"""Reading a run: its metrics, rollouts, evaluations and end, all from the folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.store.events import latest, read_events
from guerdon.store.folder import RunFolder
from guerdon.store.happened import Ended, Evaluated, Event, ScoresMissing, StepDone, Stopped, Warned
from guerdon.store.rollouts import read_batch

E = TypeVar("E", bound=Event)


class Run:
    """A run folder, read. Nothing is cached: a run that is still going shows what it has."""

    def __init__(self, path: str | Path) -> None:
        self.folder = RunFolder(path)
        self.path = self.folder.path
        self.card = self.folder.read_card()

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.name}, {self.progress}, {self.status})"

    @property
    def name(self) -> str:
        return str(self.card["recipe"])

    def events(self, kind: type[E]) -> list[E]:
        """The events of a type, as the last attempt at each step wrote them."""
        return [e for e in latest(read_events(self.folder.events)) if isinstance(e, kind)]

    @property
    def status(self) -> str:
        """`complete`, `stopped: why`, or `unfinished` (still going, or killed)."""
        every = read_events(self.folder.events)
        if any(isinstance(e, Ended) for e in every):
            return "complete"
        last = max((e.attempt for e in every), default=0)
        stops = [e for e in every if isinstance(e, Stopped) and e.attempt == last]
        return f"stopped: {stops[-1].why}" if stops else "unfinished"

    @property
    def steps_done(self) -> int:
        return max((e.step + 1 for e in self.events(StepDone)), default=0)

    @property
    def progress(self) -> str:
        """How far it came, in words: steps, or what is spent of its budget; of a study, how many runs."""
        budget, is_study = self.card.get("budget"), self.card["kind"] == "study"
        if not budget and not is_study:
            return f"{self.steps_done} of {self.card['steps']} steps"
        done = f"{len(self.inner)} runs" if is_study else f"{self.steps_done} steps"
        of = f", {self.spent[budget['unit']]:,.0f} of {budget['amount']:,.0f} {budget['unit']}" if budget else ""
        return done + of

    @property
    def spent(self) -> dict[str, float]:
        """What the run has cost so far, in every unit of a budget; a study, what the runs in it have."""
        costs = [run.spent for run in self.inner] + [e.spent for e in self.events(StepDone)]
        return {unit: sum(cost[unit] for cost in costs) for unit in StepDone(0).spent}

    @property
    def inner(self) -> list[Run]:
        """The runs of a study."""
        return [Run(card.parent) for card in sorted(self.folder.inner.glob("*/run.json"))]

    @property
    def weights(self) -> str | None:
        """The hash of the final weights; None until the run is complete."""
        ended = [e for e in read_events(self.folder.events) if isinstance(e, Ended)]
        return ended[-1].weights if ended else None

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """Held-out results in order, each with the number of steps done when it was taken."""
        return [{"steps_done": e.step + 1, **e.result} for e in self.events(Evaluated)]

    @property
    def curve(self) -> list[tuple[dict[str, float], dict[str, Any]]]:
        """Every evaluation: what was spent before it, in every unit of a budget, and what it found."""
        total = StepDone(0).spent | {"steps": 0}
        before = {-1: total}
        for done in self.events(StepDone):
            before[done.step] = total = {unit: total[unit] + cost for unit, cost in done.spent.items()}
        return [(e.spent or before.get(e.step, before[-1]), e.result) for e in self.events(Evaluated)]

    @property
    def failures(self) -> dict[str, dict[str, int]]:
        """Scores that failed or timed out, by column and cause."""
        found: dict[str, Counter[str]] = {}
        for event in self.events(ScoresMissing):
            found.setdefault(event.column, Counter()).update(event.causes)
        return {column: dict(causes.most_common()) for column, causes in found.items()}

    @property
    def warnings(self) -> list[str]:
        return [e.message for e in read_events(self.folder.events) if isinstance(e, Warned)]

    @property
    def metrics(self) -> Any:
        """A pyarrow table, one row a step: step, tokens, read, updates, seconds, calls, episodes and every metric (null if
        missing)."""
        import pyarrow as pa

        rows = [
            {
                "step": e.step,
                "tokens": e.tokens,
                "read": e.read,
                "updates": e.updates,
                "seconds": e.seconds,
                "calls": e.calls,
                "episodes": e.episodes,
                **e.metrics,
            }
            for e in self.events(StepDone)
        ]
        names = list(dict.fromkeys(k for r in rows for k in r))
        return pa.table({n: [r.get(n) for r in rows] for n in names})

    @property
    def rollout_steps(self) -> list[int]:
        return sorted(int(p.stem.removeprefix("step-")) for p in (self.path / "rollouts").glob("step-*.parquet"))

    def batch(self, step: int) -> Batch:
        """The batch of a step, equal to the last bit to the one that was learned from."""
        path = self.folder.rollouts(step)
        if not path.exists():
            kept = self.rollout_steps
            has = f"it has {kept[0]} to {kept[-1]}" if kept else "it has none"
            raise UserError(f"{self.path} holds no rollouts of step {step}: {has}")
        return read_batch(path)

    def batches(self) -> Iterator[tuple[int, Batch]]:
        for step in self.rollout_steps:
            yield step, self.batch(step)

    @property
    def rollouts(self) -> Any:
        """A pyarrow table of all stored segments of all steps, columns and reasons included."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = [pq.read_table(self.folder.rollouts(s)).replace_schema_metadata(None) for s in self.rollout_steps]
        return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
