"""Reward models that runs trained, where they left them: found by their use, opened once.

A reward model is named by its run or by its own folder.
Leaves out: what is in a model's folder (`model_loading.py`), and all else of a run's (`runs/folder.py`).
"""

from __future__ import annotations

import functools
import threading
from pathlib import Path

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.models import value_head
from guerdon.models.model_loading import load
from guerdon.models.plain_files import is_there, read_object

SCORERS = ("rm", "prm")  # what the recipes of reward models call what they train
HOW_TO_GET_ONE = "train one with guerdon train reward_model, docs/reward_models.md"
_opening = threading.Lock()


def scorer_folder(place: str) -> Path:
    """Where the reward model lies that a finished run's folder, or a model's own, names."""
    folder = Path(place)
    if not folder.is_dir():
        raise UserError(f"{place} is not there: a trained reward model is the folder of its run, or its own")
    if is_there(folder / "run.json"):
        return _of_run(place, folder)
    if not (is_there(folder / "model.json") or is_there(folder / "config.json")):
        raise UserError(f"{place} is neither a run nor a model: there is no run.json, model.json or config.json in it")
    if not any(is_there(folder / within / value_head.FILE) for within in (".", "base", "adapter")):
        raise UserError(f"{place} is a model without a value head, so it gives text and no scores: {HOW_TO_GET_ONE}")
    return folder


def _of_run(place: str, folder: Path) -> Path:
    names = sorted(each.name for each in (folder / "models").glob("*") if (each / "model.json").is_file())
    scorer = next((name for name in SCORERS if name in names), None)
    if scorer is not None:
        return folder / "models" / scorer
    if not names:
        raise UserError(f"{place} has no trained model yet: finish the run first, guerdon train --resume {place}")
    recipe, trained = read_object(folder / "run.json").get("recipe", "?"), " and ".join(names)
    raise UserError(f"{place} is a run of {recipe}, which trained a {trained} and no reward model: {HOW_TO_GET_ONE}")


def opened_scorer(place: str) -> tuple[Model, str]:
    """A reward model, started, and what it is to a run's hash. Opened once, unless its files change."""
    folder = scorer_folder(place)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    stamp = tuple((str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in files)
    with _opening:  # a server asks from several threads
        return _opened(str(folder), stamp)


@functools.lru_cache(4)
def _opened(folder: str, stamp: tuple[tuple[str, int, int], ...]) -> tuple[Model, str]:
    model = load(folder)
    model.start(0, {})
    return model, str(model.identity())
