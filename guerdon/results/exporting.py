"""A run's trained model in a folder that other libraries load, with a card that says where it comes from.

Leaves out: the files of a model (`models/exports.py`), the words of the card (`model_card.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from guerdon.core.errors import UserError, unknown
from guerdon.models.exports import Exported, as_stored, export_adapter, export_language_model, export_scorer
from guerdon.models.hub_models import is_hub_id
from guerdon.models.model_loading import load
from guerdon.models.text import TextModel
from guerdon.models.value_head import head_of
from guerdon.results.model_card import model_card
from guerdon.runs.folder import resume_command
from guerdon.runs.run import Run
from guerdon.runs.whole_files import absolute, atomic, disk_errors, remove

CARD = "README.md"
WEIGHTS = (
    "model*.safetensors",
    "model.safetensors.index.json",
    "adapter_*",
    "config.json",
)  # of an export before this one


class Export(NamedTuple):
    """What `export` wrote: where, of which model of the run, as which class, how many weights in which type, in which files,
    and what to know about it."""

    folder: Path
    model: str
    architecture: str
    parameters: int
    dtype: str
    files: list[str]
    size: int  # bytes
    notes: tuple[str, ...]


def export(
    run: str | Path | Run, folder: str | Path, *, name: str | None = None, adapter: bool = False, force: bool = False
) -> Export:
    """Write a finished run's trained model as a folder that `transformers` and vLLM load, with a model card.

    `name` is one of the run's models: by default the policy, or the only one there is. A language model is written whole, an
    adapter merged into it; with `adapter` the adapter alone, for peft. A scorer (a reward model) is written as a sequence
    classifier. A folder that is not empty is refused, unless `force` is given: then what an export wrote there is replaced.

    Args:
        run: a finished run or its folder.
        folder: where to write.
        name: which model of the run; the policy by default.
        adapter: write the adapter alone, for peft.
        force: replace an earlier export in the folder.

    >>> import tempfile
    >>> import guerdon as gd
    >>> with tempfile.TemporaryDirectory() as here:
    ...     options = gd.Options(eval_tasks=0)
    ...     run = gd.train("grpo", task="parity", model="sprig", steps=0, out=f"{here}/run", options=options)
    ...     written = gd.export(run, f"{here}/out")
    ...     written.architecture, written.dtype, "README.md" in written.files
    ('LlamaForCausalLM', 'float32', True)
    """
    run = run if isinstance(run, Run) else Run(run)
    named = _model_of(run, name)
    place = run.folder.models / named
    target = absolute(folder)
    _refuse_target(run, target, str(folder), force)
    model = as_stored(load(str(place)), place)
    write = _way(run, model, named, adapter)

    def fill(scratch: Path) -> Exported:
        scratch.mkdir()
        written = write(scratch)
        card = scratch / CARD
        card.write_text(model_card(run, named, written, str(folder)), encoding="utf-8")
        for path in scratch.iterdir():  # safetensors writes for this user alone; who serves the model may be another
            path.chmod(card.stat().st_mode)
        return written

    written = _put(target, fill)
    files = sorted(path for path in target.iterdir() if path.is_file())
    dtype = str(next(model.weights.parameters()).dtype).removeprefix("torch.")
    size = sum(path.stat().st_size for path in files)
    names = [path.name for path in files]
    return Export(target, named, written.architecture, written.parameters, dtype, names, size, written.notes)


def _model_of(run: Run, name: str | None) -> str:
    """Which of a run's trained models is meant."""
    if run.config["kind"] == "study":
        raise UserError(f"{run.folder.named} is a study: name one of the runs in {run.folder.shown(run.folder.inner)}")
    if run.status != "complete":
        raise UserError(f"{run.folder.named} is {run.status}: finish the run first, {resume_command(run.folder)}")
    models = run.folder.models
    there = sorted(path.name for path in models.iterdir() if path.is_dir()) if models.is_dir() else []
    if not there:
        raise UserError(f"{run.folder.named} has no self-contained trained model to export")
    if name is None:
        name = there[0] if len(there) == 1 else "policy"
    if name not in there:
        raise unknown(f"model of {run.folder.named}", name, there)
    return name


def _refuse_target(run: Run, target: Path, named: str, force: bool) -> None:
    if target.is_relative_to(run.path):
        raise UserError(f"{named} is inside the exported run: choose a folder outside of it")
    if target.exists() and not target.is_dir():
        raise UserError(f"{named} is a file, not a folder: choose another name")
    if not force and target.is_dir() and any(target.iterdir()):
        raise UserError(f"{named} is not empty: choose another folder, or --force to replace the export in it")


def _way(run: Run, model: TextModel, name: str, adapter: bool) -> Callable[[Path], Exported]:
    """How the model is written: one that speaks in the run as a language model, one that only has a head as a scorer."""
    speaks = name in _seats(run.config).values()
    if adapter:
        base = str((run.config.get("wish") or {}).get("model") or "")
        below = base if base and is_hub_id(base) else str(getattr(model, "source", ""))
        return lambda folder: export_adapter(model, folder, below)
    if head_of(model.weights) is not None and not speaks:
        return lambda folder: export_scorer(model, folder)
    return lambda folder: export_language_model(model, folder)


def _seats(config: dict[str, Any]) -> dict[str, Any]:
    """Which model plays which role."""
    try:
        seats = config["parts"]["knobs"]["seats"]
    except (KeyError, TypeError):
        return {"policy": "policy"}
    return seats if isinstance(seats, dict) else {}


def _put(target: Path, fill: Callable[[Path], Exported]) -> Exported:
    """The whole folder in one step; into one that has other files, file by file, without what an earlier export left."""
    if not target.exists() or not any(target.iterdir()):
        with atomic(target) as scratch:
            return fill(scratch)
    with atomic(target / ".export") as scratch:
        written = fill(scratch)
    with disk_errors(target):
        for pattern in WEIGHTS:
            for old in [*target.glob(pattern)]:
                remove(old)
        for path in [*(target / ".export").iterdir()]:
            path.replace(target / path.name)
        remove(target / ".export")
    return written
