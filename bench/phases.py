"""Comparisons in two phases: the truth's arm is tried at several rates, and all arms are run at the one that is best for it.

Every run is written to `records.jsonl` among the runs as it ends, with a label that says what it is, so a comparison that was
stopped goes on, and is told without building anything. A run that its own rules stop, such as a judge whose replies cannot be
read, is written down as *stopped* and not made again. Leaves out: what is compared (`compare_rewards.py`, `compare_losses.py`).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from guerdon.core.budget import Unit
from guerdon.core.errors import CtrlC, RunStopped
from guerdon.prove.arms import machine
from guerdon.prove.jobs import RunJob
from guerdon.prove.known import LEDGER, Known
from guerdon.prove.proving import OPTIONS, How, run_trials
from guerdon.prove.records import Record, record_of
from guerdon.prove.trial import WantedRun
from guerdon.runs.checksums import KEY, is_whole
from guerdon.runs.event_types import StepDone
from guerdon.runs.run import Run
from guerdon.training.record import Options
from guerdon.training.what_ran import ran_in

TUNING, COMPARED = "tuning", "compared"
TUNED_BY = 1000  # the seed of the first phase
MICRO = 16384  # tokens of a pass: many runs share a GPU, and it changes no result
DIGITS = 4  # that count of a number of a step
Label = Mapping[str, Any]


@dataclass(frozen=True)
class Size:
    """How large the runs of a comparison are: `length` in a `unit` of a budget. Every `every` steps `between` problems are
    asked, first and last `whole`."""

    length: int
    unit: Unit
    prompts: int
    tries: int
    every: float
    between: int
    whole: int
    seeds: int
    rates: tuple[float, ...]
    exam_tries: int = 1

    @property
    def options(self) -> Options:
        kept: dict[str, Any] = {"eval_every": self.every, "eval_tasks": self.between, "eval_whole": self.whole}
        return replace(OPTIONS, **kept, eval_late=0.0, eval_tries=self.exam_tries, watch=True)

    def settings(self, rate: float, max_tokens: int) -> str:
        return f"prompts={self.prompts} tries={self.tries} lr={rate:g} max_tokens={max_tokens} learn.micro={MICRO}"


class LabelledLedger(Known):
    """Records with labels, and of the steps of each run the numbers with certain names."""

    labels: dict[str, Label]  # by the keys of runs, as they come to be wanted
    series: Sequence[str] = ()

    def add(self, record: Record, ran: Iterable[str] = (), of: str = "") -> None:
        label = self.labels[record["key"]]
        folder = self.ledger.parent / str(label["folder"])
        super().add({**record, **label, "series": steps_of(folder, self.series)}, ran, of)

    @property
    def records(self) -> list[Record]:
        return [record for every in self.by_machine.values() for record in every.values() if "comparison" in record]


def steps_of(folder: Path, names: Sequence[str]) -> dict[str, list[float]]:
    """Numbers of a run, a value a step; one that a step does not have stays at what it was."""
    rows = [done.metrics for done in Run(folder).events(StepDone)]
    found: dict[str, list[float]] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        last = next((v for v in values if v is not None), None)
        kept = []
        for value in values:
            last = value if value is not None and math.isfinite(value) else last
            kept.append(last)
        if last is not None:
            found[name] = [float(f"{value:.{DIGITS}g}") for value in kept if value is not None]
    return found


class Phased(Protocol):
    """A comparison, or a part of one, that wants runs as they become known; `labels` says what those that it wants are."""

    @property
    def labels(self) -> dict[str, Label]: ...

    def wanted(self, known: Known) -> list[WantedRun]: ...


@dataclass(frozen=True)
class Labelled:
    """Base of such parts: what is missing of some labelled runs."""

    labels: dict[str, Label] = field(default_factory=dict, compare=False)

    def missing(self, runs: Iterable[tuple[WantedRun, Label]], known: Known) -> list[WantedRun]:
        found = []
        for run, label in runs:
            self.labels[run.key] = {**label, "folder": run.folder}
            if known.get(run.key) is None:
                found.append(run)
        return found


def run_phases(parts: Sequence[Phased], how: How, series: Sequence[str], minutes: float) -> list[Record]:
    """Run what is missing, for so many minutes (0: to the end); all that is known by then."""
    how = how.from_here()
    ledger = LabelledLedger.read(how.runs)
    assert isinstance(ledger, LabelledLedger)
    ledger.labels, ledger.series = _Labels(parts), series
    try:
        with _for_minutes(minutes):
            run_trials([part for part in parts if part.wanted(ledger)], ledger, how, _progress)
    except CtrlC:
        print("stopped here: the same command goes on", flush=True)
    except RunStopped as error:  # others have ended, and are written down
        print(f"some runs stopped: {error}", flush=True)
    _write_stopped(ledger, how)
    return ledger.records


class _Labels(dict[str, Label]):
    """Of the parts, whose labels grow."""

    def __init__(self, parts: Sequence[Phased]) -> None:
        super().__init__()
        self.parts = parts

    def __missing__(self, key: str) -> Label:
        return next(part.labels[key] for part in self.parts if key in part.labels)


def _write_stopped(ledger: LabelledLedger, how: How) -> None:
    """Runs that stopped by themselves, which nobody should begin again."""
    for part in ledger.labels.parts:  # type: ignore[attr-defined]
        for key, label in part.labels.items():
            folder = how.runs / str(label["folder"])
            if ledger.get(key) is None and (folder / "events.jsonl").exists():
                status = Run(folder).status
                if status.startswith("stopped") and "interrupted" not in status:
                    done = {**record_of(folder), "key": key, "machine": machine(), "seed": label["seed"]}
                    ledger.add({**done, "stopped": status.partition(":")[2].strip()}, ran_in(folder))


@contextlib.contextmanager
def _for_minutes(minutes: float) -> Iterator[None]:
    """After so many, as after SIGTERM: each run ends its step and saves."""
    timer = threading.Timer(60 * minutes, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    if minutes:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _progress(done: int, total: int, last: RunJob | None) -> None:
    print(f"{done} of {total}: {last.name if last else 'begin'}", flush=True)


def known_records(runs: Path) -> list[Record]:
    """All labelled records of a ledger, of any code and machine: for telling them. A line that was cut short is left out."""
    lines = (runs / LEDGER).read_text(encoding="utf-8").splitlines() if (runs / LEDGER).is_file() else []
    records: list[Record] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if "comparison" in record and is_whole(record):
                records.append({name: value for name, value in record.items() if name != KEY})
    return records
