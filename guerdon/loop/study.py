"""Running a Study: plain Python over inner runs that are remembered by their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.events import Ended, Started, Stopped
from guerdon.core.model import Model, weights_hash
from guerdon.core.part import fingerprint
from guerdon.core.recipe import Recipe, Study
from guerdon.core.task import Ask, Sampling, TaskSource
from guerdon.envs.simple import single_turn
from guerdon.loop.build import Built, Wish, card_of
from guerdon.loop.evaluate import evaluate
from guerdon.loop.record import Options
from guerdon.loop.train import run_recipe, start
from guerdon.loop.trained import Trained
from guerdon.store.events import EventLog, Listener, next_attempt, read_events
from guerdon.store.files import write_json
from guerdon.store.folder import RunFolder
from guerdon.store.report import write_report


class Interrupted(Exception):
    """An inner run was interrupted: the study stops where it is."""


class StudyRun:
    """What a study's body is handed. Everything it does is remembered: running the body again repeats nothing."""

    def __init__(self, folder: RunFolder, options: Options, seed: int, listeners: Sequence[Listener]) -> None:
        self.folder, self.options, self.seed, self.listeners = folder, options, seed, listeners
        self.made: list[str] = []  # weights of the inner runs, in order

    def train(self, recipe: Recipe, *, seed: int | None = None, steps: int | None = None) -> Trained:
        """Train a recipe, or read the finished run of the same recipe and seed."""
        recipe = recipe.but(steps=steps) if steps is not None else recipe.but()
        recipe.check()
        seed = self.seed if seed is None else seed
        inner = RunFolder(self.folder.inner / fingerprint([recipe.hash, seed]))
        if not inner.exists():
            inner.create(card_of(Built("recipe", recipe), Wish(recipe), seed, recipe.steps, self.options))
        if not run_recipe(recipe, inner, self.options, seed, recipe.steps, self.listeners):
            raise Interrupted
        run = Trained(inner.path, recipe)
        self.made.append(str(run.weights))
        return run

    def eval(
        self, model: Model, task: TaskSource, *, tasks: int = 64, tries: int = 4, sampling: Sampling | None = None
    ) -> dict[str, Any]:
        """Held-out accuracy of a model, remembered by its weights."""
        how = sampling or Sampling()
        key = fingerprint([weights_hash(model.weights), task, how, tasks, tries, self.seed])
        path = self.folder.inner / f"eval-{key}.json"
        if not path.exists():
            found = evaluate(
                {"policy": model},
                {"policy": "policy"},
                single_turn(),
                task,
                how,
                tasks=tasks,
                tries=tries,
                seed=self.seed,
            )
            write_json(path, found)
        result: dict[str, Any] = json.loads(path.read_text())
        return result

    def play(self, recipe: Recipe, asks: Sequence[Ask]) -> list[Episode]:
        """Have a recipe's models play in its environment; nothing is learned, nothing is stored."""
        _, play = start(recipe, self.seed, recipe.steps)
        return play(asks)


def run_study(study: Study, folder: RunFolder, options: Options, seed: int, listeners: Sequence[Listener] = ()) -> Any:
    """Run a study's body to its end; None when it was interrupted."""
    with folder.lock():
        events = read_events(folder.events)
        if any(isinstance(e, Ended) for e in events):
            return _result(folder.path)
        with EventLog(folder.events, next_attempt(events)) as log:
            log.emit(Started(0))
            run = StudyRun(folder, options, seed, listeners)
            try:
                result = study.body(run, seed)
                write_json(folder.path / "result.json", result if isinstance(result, dict) else None)
                log.emit(Ended(0, weights=hashlib.sha256("".join(run.made).encode()).hexdigest()[:16]))
                log.sync()
                return result
            except Interrupted:
                log.emit(Stopped(0, why="interrupted"))
                return None
            except UserError as error:
                log.emit(Stopped(0, why=str(error)))
                raise
            finally:
                write_report(folder.path)


def _result(path: Path) -> Any:
    return json.loads((path / "result.json").read_text())
