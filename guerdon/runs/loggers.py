"""Loggers: listeners that send a run's events to TensorBoard, Weights & Biases or Trackio, live or afterwards.

The run folder stays the truth, and `export` rebuilds a dashboard from it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import require_extra, unknown
from guerdon.runs.event_types import Ended, Evaluated, Event, Started, StepDone, Stopped
from guerdon.runs.events import latest, read_events
from guerdon.runs.folder import RunFolder
from guerdon.runs.listeners import Dashboard, Listener


def check_loggers(names: Sequence[str]) -> None:
    """Refuse a logger that is unknown or not installed, before anything runs."""
    for name in names:
        if name not in LOGGERS:
            raise unknown("logger", name, LOGGERS)
        if importlib.util.find_spec(name) is None:
            raise require_extra(name, name)


def open_loggers(names: Sequence[str], folder: RunFolder) -> tuple[Listener, ...]:
    check_loggers(names)
    return tuple(Dashboard(name, LOGGERS[name](folder)) for name in names)


def export(run: str | Path, name: str) -> None:
    """Send a run that is on disk to a logger, the last attempt of each step."""
    folder = RunFolder(run)
    folder.read_config()
    (listener,) = open_loggers([name], folder)
    events = latest(read_events(folder.events))
    listener(Started(0))
    for event in events:
        if not isinstance(event, Started | Stopped | Ended):
            listener(event)
    listener(Ended(max((e.step for e in events), default=0)))


def _scalars(event: Event) -> dict[str, float]:
    """The numbers of an event, by their usual names."""
    if isinstance(event, StepDone):
        speed = event.tokens / event.seconds if event.seconds else 0.0
        counts = {name: float(getattr(event, name)) for name in ("tokens", "read", "updates")}
        if event.env_steps:
            counts["env_steps"] = float(event.env_steps)
        return {**event.metrics, **counts, "tokens_per_second": speed}
    if isinstance(event, Evaluated):
        return {f"held_out/{k}": float(v) for k, v in event.result.items() if isinstance(v, int | float)}
    return {}


def tensorboard(folder: RunFolder) -> Listener:
    """Scalars into RUN/tensorboard. A resumed run purges the steps it is about to do again."""
    writer: Any = None

    def listen(event: Event) -> None:
        nonlocal writer
        if writer is None:
            from torch.utils.tensorboard import SummaryWriter

            first = event.step if isinstance(event, Started) and event.step > 0 else None
            writer = SummaryWriter(str(folder.path / "tensorboard"), purge_step=first)
        for name, value in _scalars(event).items():
            writer.add_scalar(name, value, event.step + 1)
        if isinstance(event, Stopped | Ended):
            writer.close()
            writer = None

    return listen


def wandb(folder: RunFolder) -> Listener:
    """A run in the project `guerdon`; where it goes (online, offline, disabled) is decided by wandb's own WANDB_MODE."""

    def begin(config: dict[str, Any]) -> Any:
        import wandb

        name = f"{config['hash']}-{config['seed']}-{folder.path.name}"
        return wandb.init(
            project="guerdon", name=folder.path.name, id=name, resume="allow", dir=str(folder.path), config=config
        )

    return _tracked(folder, begin)


def trackio(folder: RunFolder) -> Listener:
    """A run in the project `guerdon` of Trackio's own folder, TRACKIO_DIR; `trackio show` opens its dashboard."""

    def begin(config: dict[str, Any]) -> Any:
        import trackio

        name = f"{folder.path.name}-{config['hash']}-{config['seed']}"
        quiet = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        return trackio.init(project="guerdon", name=name, resume="allow", config=config, **quiet)

    return _tracked(folder, begin)


def _tracked(folder: RunFolder, begin: Callable[[dict[str, Any]], Any]) -> Listener:
    """A listener that logs to a tracker's run, begun with the config at the first event and finished with the last."""
    run: Any = None

    def listen(event: Event) -> None:
        nonlocal run
        if run is None:
            run = begin(folder.read_config())
        numbers = _scalars(event)
        if numbers:
            run.log(numbers, step=event.step + 1)
        if isinstance(event, Stopped | Ended):
            run.finish()
            run = None

    return listen


LOGGERS: dict[str, Callable[[RunFolder], Listener]] = {"tensorboard": tensorboard, "trackio": trackio, "wandb": wandb}
