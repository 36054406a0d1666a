"""What runs said to one prompt: the tries at it that each stored, with their rewards and the reasons for those.

Of every arm one run speaks, that with the seed of the first arm's where there is one. Prompts are those of training, for exams
keep no text.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.display.run.curve_titles import RANKS
from guerdon.exams.tries import problem_name
from guerdon.results.compare.run_arms import RunArm, RunRead
from guerdon.rewards.asking.samples import completion_of, paths

LOOKED = 20  # stored steps of each run, the last ones, that are searched for a prompt


@dataclass(frozen=True)
class TryShown:
    """One try at the prompt: what was said, what every column makes of it (a number, or the reason why there is none), and
    what rewards had to say."""

    track: int
    completion: str
    length: int
    reward: float | None
    columns: dict[str, float | str]
    why: dict[str, str]


@dataclass(frozen=True)
class PromptInRun:
    """The tries of one run."""

    arm: str
    run: RunRead = field(repr=False)
    step: int
    tries: list[TryShown]

    @property
    def mean(self) -> float:
        """Of their rewards; NaN where none has one."""
        known = [t.reward for t in self.tries if t.reward is not None]
        return fmean(known) if known else math.nan


@dataclass(frozen=True)
class PromptShown:
    """A prompt, and what each run said to it. `column` is what its tries are compared by. `note` says what could not be
    shown."""

    id: str = ""
    prompt: str = ""
    answer: str = ""
    family: str = ""
    column: str = ""
    runs: list[PromptInRun] = field(default_factory=list)
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        runs = [
            {"arm": r.arm, "run": r.run.named, "step": r.step, "mean": r.mean, "tries": [vars(t) for t in r.tries]}
            for r in self.runs
        ]
        return {**vars(self), "runs": runs}


class _Stored:
    """The stored batches of one run, read when they are wanted; what cannot be read is passed over, and among `faults`."""

    def __init__(self, arm: RunArm, seed: int) -> None:
        self.arm = arm.letter
        self.run = next((run for run in arm.runs if run.seed == seed), arm.first)
        self.steps = self.run.run.rollout_steps
        self._batches: dict[int, Batch | None] = {}
        self.faults: list[str] = []

    def batch(self, step: int) -> Batch | None:
        if step not in self._batches:
            try:
                self._batches[step] = self.run.run.batch(step) if step in self.steps else None
            except UserError as error:
                self._batches[step] = None
                self.faults.append(str(error))
        return self._batches[step]

    def tasks(self, step: int) -> dict[str, Task]:
        batch = self.batch(step)
        return {problem_name(e.task): e.task for e in batch.episodes} if batch is not None else {}


def shown_prompt(arms: Sequence[RunArm], prompt: str | None, step: int | None) -> PromptShown:
    """The prompt of this id or with this text, or else the one on which the runs differ most; at one step of all runs, or each
    at the last step that it was asked at."""
    runs = [_Stored(arm, arms[0].first.seed) for arm in arms]
    for stored in runs:
        if not stored.steps:
            return PromptShown(note=f"{stored.run.named} holds no rollouts, so no prompt is shown")
    if step is not None:
        for stored in runs:
            stored.run.run.batch(step)  # refused by name where it is not there, or damaged
        candidates = _at_steps(runs, [[step]] * len(runs))
    else:
        same = sorted(set(runs[0].steps).intersection(*(r.steps for r in runs[1:])))[-LOOKED:]
        candidates = {}
        for each in reversed(same) if prompt is None else ():
            candidates = candidates or _at_steps(runs, [[each]] * len(runs))
        candidates = candidates or _at_steps(runs, [r.steps[-LOOKED:] for r in runs])
    if prompt is not None:
        candidates = _wanted(candidates, prompt)
        if not candidates:
            where = f"at step {step}" if step is not None else f"in the last {LOOKED} stored steps"
            raise UserError(f"no prompt {prompt!r} {where} of all runs: give its id or a part of its text")
    faults = "; ".join(fault for stored in runs for fault in stored.faults)
    if not candidates:
        none = "the stored rollouts of these runs have no prompt in common, so none is shown"
        return PromptShown(note=f"{none} ({faults})" if faults else none)
    return dataclasses.replace(_most_different(runs, candidates), note=faults)


Places = dict[str, tuple[Task, list[int]]]  # problem: the step of each run at which it is looked at


def _at_steps(runs: Sequence[_Stored], steps: Sequence[Sequence[int]]) -> Places:
    """The problems that all runs have, each at the last of its steps."""
    last: list[dict[str, tuple[Task, int]]] = []
    for stored, own in zip(runs, steps, strict=True):
        last.append({name: (task, step) for step in sorted(own) for name, task in stored.tasks(step).items()})
    shared = [name for name in last[0] if all(name in other for other in last[1:])]
    return {name: (last[0][name][0], [each[name][1] for each in last]) for name in shared}


def _wanted(candidates: Places, prompt: str) -> Places:
    exact = {n: each for n, each in candidates.items() if prompt in (each[0].id, each[0].key, each[0].prompt)}
    return exact or {n: each for n, each in candidates.items() if prompt in each[0].prompt}


def _most_different(runs: Sequence[_Stored], candidates: Mapping[str, tuple[Task, list[int]]]) -> PromptShown:
    best, most = None, -1.0
    for name, (task, steps) in candidates.items():
        batches = [b for stored, step in zip(runs, steps, strict=True) if (b := stored.batch(step)) is not None]
        column = _column(batches)
        said = [
            PromptInRun(stored.arm, stored.run, step, _tries(batch, name, column))
            for stored, step, batch in zip(runs, steps, batches, strict=True)
        ]
        means = [each.mean for each in said if not math.isnan(each.mean)]
        apart = max(means) - min(means) if means else -0.5
        if apart > most:
            best, most = PromptShown(task.id, task.prompt, task.answer, task.family, column, said), apart
    assert best is not None
    return best


def _column(batches: Sequence[Batch]) -> str:
    """What tries are ranked by: the first of `RANKS` that all batches have, else any number of a track that they do."""
    plain = [[n for n, c in b.cols.items() if c.level == "track" and c.value.dim() == 1] for b in batches]
    shared = [n for n in plain[0] if all(n in other for other in plain)]
    return next((n for n in (*RANKS, *shared) if n in shared), "")


def _tries(batch: Batch, name: str, column: str) -> list[TryShown]:
    lengths = batch.up(batch.length.double(), "track", of="segment").tolist()
    tries = []
    for track, (episode, path) in enumerate(paths(batch)):
        if problem_name(episode.task) == name:
            columns, why = _columns(batch, track)
            value = columns.get(column)
            reward = value if isinstance(value, float) else None
            tries.append(TryShown(track, completion_of(path), int(lengths[track]), reward, columns, why))
    return tries


def _columns(batch: Batch, track: int) -> tuple[dict[str, float | str], dict[str, str]]:
    columns: dict[str, float | str] = {}
    why: dict[str, str] = {}
    for name, column in batch.cols.items():
        if column.level != "track" or column.value.dim() != 1:
            continue
        value, detail = float(column.value[track]), column.detail.get(track)
        reason = Reason(int(column.reason[track]))
        columns[name] = reason.name.lower().replace("_", " ") if math.isnan(value) else value
        words = (detail.get("why") or detail.get("error")) if isinstance(detail, dict) else detail
        if words:
            why[name] = str(words).strip().splitlines()[-1]
    return columns, why


def told_apart(tries: Sequence[TryShown]) -> list[tuple[TryShown, int]]:
    """Each thing that was said, with its scores, and how many times."""
    kinds: dict[str, tuple[TryShown, int]] = {}
    for each in tries:
        key = repr((each.completion, each.columns, each.why))
        kinds[key] = (each, kinds[key][1] + 1) if key in kinds else (each, 1)
    return list(kinds.values())
