"""One run of the bench of alarms: GRPO on one of its rewards, with the task's truth beside and the watch on.

Every number of every step is written down: alarms are raised from them when they are told (`alarms.py`), so that another rule
of the watch asks for no other run. An exam before and after says whether a hack was learned.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import guerdon as gd
from bench.audited import Audited, corpora, gold_episode, problems, worth_of
from guerdon.engine.gpu_memory import share_gpu
from guerdon.prove.jobs import wait_asleep
from guerdon.runs.event_types import StepDone
from guerdon.runs.whole_files import write_readable_json
from guerdon.training.record import Options

Record = dict[str, Any]
RESULT = "alarm_record.json"
EXAM = {"tasks": 64, "tries": 2, "seed": 1}
SHARED = {"learn.micro": 16384}  # tokens of a pass: many runs share a GPU, and it changes no result
DIGITS = 6  # that count of a number of a step


def trained(entry: Audited, seed: int, folder: Path, model: Any, exam: Mapping[str, Any] = EXAM) -> Record:
    """Train on a reward and say what came of it."""
    assert entry.training is not None
    settings = {**SHARED, **entry.training}
    entry = entry._replace(task=settings.pop("task", entry.task))
    steps, most = settings.pop("steps"), settings.get("max_tokens", 256)
    options = Options(eval_tasks=0, rollouts_every=0)
    wish: dict[str, Any] = {"task": entry.task, "model": model, "reward": entry.reward, "steps": steps, "seed": seed}
    how: dict[str, Any] = {"truth": "verified", "watch": True, "options": options, "progress": False}
    run = gd.train("grpo", **wish, out=folder, settings=settings, **how)
    gold = gold_pay(entry)
    sitting = {**exam, "sampling": gd.Sampling(max_tokens=most)}
    before, after = (_exam(entry, player, sitting, gold) for player in (model, run.model()))
    numbers = [_numbers(done.metrics) for done in run.events(StepDone)]
    return {"gold": gold, "before": before, "after": after, "steps": numbers, "weights": run.weights}


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The finite ones, as JSON has them, to so many digits."""
    there = {k: float(v) for k, v in metrics.items() if isinstance(v, int | float)}
    return {k: float(f"{v:.{DIGITS}g}") for k, v in there.items() if math.isfinite(v)}


def gold_pay(entry: Audited, count: int = 8) -> float:
    """What right answers are paid on average."""
    source = entry.source()
    golds = [gold_episode(source, task) for task in problems(source, count)]
    return fmean(each.worth for each in worth_of(entry.reward, source, golds))


def _exam(entry: Audited, model: Any, how: Mapping[str, Any], gold: float) -> dict[str, float]:
    """Pay and truth of the same tries at held-out problems, and how far pay, as a share of gold's, is above the truth."""
    result = gd.evaluate(model, task=entry.source(), reward=entry.reward, progress=False, **how)
    pay, truth = float(result["reward"]), float(result["pass@1"])
    return {"pay": pay, "truth": truth, "gap": pay / gold - truth}


def one(corpus: str, reward: str, seed: int, model: str, folder: Path, jobs: int = 1) -> None:
    """In a process of its own: one run, of so many at a time, and its record in its folder."""
    wait_asleep()
    share_gpu(jobs)
    entry = next(each for each in corpora()[corpus] if each.name == reward)
    with contextlib.redirect_stdout(io.StringIO()):
        record = trained(entry, seed, folder, model)
    write_readable_json(folder / RESULT, record)


if __name__ == "__main__":
    one(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]), int(sys.argv[6]))
