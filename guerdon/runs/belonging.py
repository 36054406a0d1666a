"""What lies in a run folder and is another run's, and what is missing from it.

Every run has an id in its run.json. It is in the first line of each attempt in events.jsonl, in the manifest of every
checkpoint and trained model, and every file of rollouts. Files from before that have no id, and are accepted if the run
itself began then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.core.manifest import Damaged
from guerdon.runs.checkpoint import list_checkpoints
from guerdon.runs.event_types import Saved, StepDone
from guerdon.runs.events import Log, read_log
from guerdon.runs.folder import RunFolder


def owners(folder: RunFolder) -> set[str]:
    """The ids that a checkpoint of the run may have; the empty one means none."""
    own, runs = folder.run_id(), read_log(folder.events).runs
    return {own} if runs.get(0) or not own else {own, ""}


def stranger(folder: RunFolder, config: Mapping[str, Any], log: Log) -> str:
    """That the events are of another run than run.json, in a line; empty where they are not."""
    own = config.get("id")
    if own and any(run != own for run in log.runs.values()):
        return f"run.json and events.jsonl in {folder.named} are of different runs"
    return ""


def refuse_stranger(folder: RunFolder, config: Mapping[str, Any], log: Log) -> None:
    """No run resumes with the events of another."""
    if said := stranger(folder, config, log):
        raise Damaged(f"{said}: put back those of one run, or choose another folder with --out")


def refuse_other(folder: RunFolder, hash: str, seed: int) -> None:
    """No study takes a run of another recipe or seed for the one that it asks for."""
    config = folder.read_config()
    if (config.get("hash"), config.get("seed")) != (hash, seed):
        raise Damaged(f"{folder.named} is another run than its name says: take it out to resume")


def missing(folder: RunFolder, config: Mapping[str, Any], log: Log) -> list[str]:
    """What a run has written and is not there any more, a line each."""
    faults = []
    rollouts = folder.rollouts(0).parent
    if not folder.events.exists() and (
        list_checkpoints(folder.checkpoints) or rollouts.is_dir() or folder.models.is_dir()
    ):
        faults.append("events.jsonl is missing")
    every = (config.get("options") or {}).get("rollouts_every")
    if config.get("kind") == "recipe" and isinstance(every, int) and every > 0:
        due = sorted({e.step for e in log.events if isinstance(e, StepDone) and e.step % every == 0})
        gone = [step for step in due if not folder.rollouts(step).is_file()]
        if gone:
            what = "rollouts/ is missing" if not rollouts.is_dir() else f"{len(gone)} files in rollouts/ are missing"
            faults.append(f"{what}, the first of step {gone[0]}")
    return faults


def missing_checkpoints(folder: RunFolder, log: Log) -> list[str]:
    """The error for a run that has saved checkpoints and has none left to resume from."""
    saved = [e for e in log.events if isinstance(e, Saved)]
    if saved and not list_checkpoints(folder.checkpoints):
        return ["checkpoints/ has no checkpoint any more: the run begins again at step 0"]
    return []
