"""Models by name, and models in folders. `load` is the one door for both."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.model import Model
from guerdon.core.part import describe, knobs, label

NAMES = {"tabular": "guerdon.models.tabular"}  # name: the module whose class of that name it is


def load(name: str, **settings: Any) -> Model:
    """A model by name (fresh weights) or from a folder that `save` wrote."""
    if (Path(name) / "model.json").is_file():
        return _load_folder(Path(name), settings)
    if name not in NAMES:
        if Path(name).exists():
            raise UserError(f"{name} holds no model: there is no model.json in it")
        raise unknown("model", name, NAMES)
    made = getattr(importlib.import_module(NAMES[name]), name)(**settings)
    assert isinstance(made, Model)
    return made


def save(model: Model, folder: str | Path) -> None:
    """Write a model so that `load(folder)` gives it back: its knobs as JSON, its weights as safetensors."""
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if label(model) not in NAMES:
        raise UserError(f"a {label(model)} cannot be saved on its own; save the model it was made from")
    save_file({k: v.contiguous() for k, v in model.weights.state_dict().items()}, folder / "weights.safetensors")
    card = {"model": label(model), "knobs": {k: describe(v) for k, v in knobs(model).items()}}
    (folder / "model.json").write_text(json.dumps(card, indent=2) + "\n")


def _load_folder(folder: Path, settings: dict[str, Any]) -> Model:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        card = json.loads((folder / "model.json").read_text())
        made = load(card["model"], **{**card["knobs"], **settings})
        net = made.build(0)
        net.load_state_dict(load_file(folder / "weights.safetensors"))
    except (KeyError, ValueError, RuntimeError, OSError, SafetensorError) as error:
        raise UserError(f"{folder} does not hold a whole model: {str(error).splitlines()[0]}") from error
    made.net = net
    return made
