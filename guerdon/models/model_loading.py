"""Models by name, and models in folders.

`load` is the one door for both.
"""

from __future__ import annotations

import importlib
import json
import warnings
from pathlib import Path
from typing import Any

import torch

from guerdon.core.errors import Notice, UserError, spelled
from guerdon.core.manifest import Damaged, manifest_fault
from guerdon.core.model import Model
from guerdon.core.part import describe, knobs, label
from guerdon.models.hub_models import hub_folder, is_hub_id
from guerdon.models.model_names import name_of_place, place_of, refuse_unknown
from guerdon.models.plain_files import is_there, read_object
from guerdon.models.shipped_models import CLASSES, NAMES

MODEL_SUMS = "checksums.json"  # in the folder of a trained model
PLACES = ("source", "adapter")  # knobs that name a place in the folder a model was saved to
INSIDE = (".", "base", "adapter")  # the places there are


def load(name: str, **settings: Any) -> Model:
    """A model by name (shipped or fresh weights), from a folder that `save` wrote, a Hugging Face folder, a GGUF file, the
    Hugging Face hub (ORG/NAME), or a run's folder: the policy that it trained. What a run trained is checked by the checksums
    beside it.

    Args:
        name: a name, a folder, a file, or ORG/NAME of the hub.
        settings: knobs of the model.

    >>> import guerdon as gd
    >>> gd.models.load("tabular", vocab="ab", length=1)
    tabular(vocab='ab', length=1)
    >>> gd.models.load("sprig").parameters  # the newest version; "sprig-1" and "sprig-1.1" are others
    6164736
    """
    refuse_unknown(name)
    folder = hub_folder(name) if is_hub_id(name) else place_of(name)
    if is_there(folder / "run.json"):
        return load(str(_policy_of(name, folder)), **settings)
    _check_sums(folder)
    if is_there(folder / "model.json"):
        return _load_folder(folder, settings)
    if folder.suffix == ".gguf":
        return _make("lm", {"source": str(folder), **settings})
    if is_there(folder / "config.json"):
        return _load_hub(folder, settings)
    if name not in NAMES and folder.exists():
        adapter = ", only an adapter" if is_there(folder / "adapter_config.json") else ""
        raise UserError(f"{name} holds no model: there is no model.json and no config.json in it{adapter}")
    return _make(spelled(name, NAMES), settings)


def _policy_of(name: str, run: Path) -> Path:
    """Where the policy lies that a run trained."""
    policy = run / "models" / "policy"
    if policy.is_dir():
        return policy
    others = sorted(str(each.parent) for each in run.glob("models/*/model.json"))
    fix = f"load {' or '.join(others)}" if others else f"finish the run first, guerdon train --resume {name}"
    raise UserError(f"{name} has no trained policy: {fix}")


def _check_sums(folder: Path) -> None:
    fault = manifest_fault(folder, MODEL_SUMS) if (folder / MODEL_SUMS).is_file() else None
    if fault is not None:
        raise Damaged(
            f"{folder} is damaged ({fault}): delete the run it is of and train it again; if you changed it yourself, delete its"
            f" {MODEL_SUMS}"
        )


def is_named(model: Model) -> bool:
    """Whether `save` can write it: models of the user's own classes live in checkpoints only."""
    return label(model) in CLASSES


def save(model: Model, folder: str | Path) -> None:
    """Write a model so that `load(folder)` gives it back: its knobs as JSON, its weights as safetensors.

    A model that knows a folder format of its own (`store`) is written in it; its knobs then name places in the folder. Of
    one with an adapter that is the adapter, with the place and hash of the weights below it; those that lie nowhere else too.

    Args:
        model: the model.
        folder: where to write.

    >>> import tempfile
    >>> import guerdon as gd
    >>> model = gd.models.tabular("ab", length=1, rows=8)
    >>> model.start(0, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.models.save(model, folder)
    ...     gd.models.load(folder)
    tabular(vocab='ab', length=1, rows=8)
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not is_named(model):
        raise UserError(f"a {label(model)} is not among guerdon's models and has no form on disk of its own")
    own, base = {k: describe(v) for k, v in knobs(model).items()}, {}
    if hasattr(model, "store"):
        own |= model.store(folder)
        if own["source"] not in INSIDE:
            base = {"base": _base_of(model)}
            own["source"] = name_of_place(own["source"])
    else:
        save_file({k: v.contiguous() for k, v in model.weights.state_dict().items()}, folder / "weights.safetensors")
    (folder / "model.json").write_text(json.dumps({"model": label(model), "knobs": own, **base}, indent=2) + "\n")


def _make(name: str, settings: dict[str, Any]) -> Model:
    model = getattr(importlib.import_module(CLASSES[name]), name)(**settings)
    assert isinstance(model, Model)
    return model


def _load_hub(folder: Path, settings: dict[str, Any]) -> Model:
    """A Hugging Face folder: in our own decoder if it knows the architecture, else through `transformers`."""
    from guerdon.models.architectures import known_architectures
    from guerdon.models.huggingface import architecture

    name = architecture(folder)
    is_ours = name in known_architectures()
    model = _make("lm" if is_ours else "foreign", {"source": str(folder), **settings})
    notices = [
        (not is_ours, f"{name} is not among guerdon's own decoders: it runs through transformers, more slowly"),
        (model.net is None, f"{folder} holds no weights: the model starts from random ones"),
    ]
    for is_so, message in notices:
        if is_so:
            warnings.warn(message, Notice, stacklevel=3)
    return model


def _revived(described: Any) -> Any:
    """A knob as it was before `describe`: the one part that a model has among its knobs is its head."""
    if not isinstance(described, dict):
        return described
    from guerdon.models.value_head import head

    return head(**described["knobs"])


def _load_folder(folder: Path, settings: dict[str, Any]) -> Model:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        config = read_object(folder / "model.json")
        if config["model"] not in CLASSES:
            raise UserError(f"{folder} does not hold a whole model: there is no model {config['model']!a}")
        own = {**{k: _revived(v) for k, v in config["knobs"].items()}, **settings}
        if "source" in own:  # it knows the folder's format itself
            model = load(config["model"], **{**own, **_places(folder, config, settings)})
            if model.net is None:
                raise UserError(f"{folder} does not hold a whole model: its weights are missing")
            if "base" in config:
                _check_base(model, config["base"], folder)
            return model
        model = _make(config["model"], own)
        is_there(folder / "weights.safetensors")
        net = model.build(0)
        net.load_state_dict(load_file(folder / "weights.safetensors"))
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OSError, SafetensorError) as error:
        raise UserError(
            f"{folder} does not hold a whole model: {(str(error).splitlines() or ['?'])[0][:200]}"
        ) from error
    model.net = net
    return model


def _places(folder: Path, config: dict[str, Any], settings: dict[str, Any]) -> dict[str, str]:
    """Where the parts of a saved model lie: in its own folder, for what lies elsewhere is not part of it. But the weights below
    an adapter may, for their hash is here."""
    places = {k: v for k in PLACES if k not in settings and (v := config["knobs"].get(k))}
    for name, place in places.items():
        if place not in INSIDE and not (name == "source" and "base" in config):
            raise UserError(f"{folder / 'model.json'}: {name} must be one of {', '.join(INSIDE)}, not {place!a}")
    return {name: str(folder / place if place in INSIDE else _outside(folder, place)) for name, place in places.items()}


def _outside(folder: Path, place: Any) -> Path:
    base = place_of(str(place))
    if not base.is_absolute() or not (is_there(base) if base.suffix == ".gguf" else is_there(base / "config.json")):
        raise UserError(f"{folder} holds an adapter of the model in {place!a}, which is not there: put it back")
    return base


def _base_of(model: Any) -> dict[str, str]:
    """What is to be the same of the weights below an adapter: their hash, in a type."""
    return {"hash": model.base_hash(), "dtype": str(model.decoder.dtype).removeprefix("torch.")}


def _check_base(model: Any, base: dict[str, str], folder: Path) -> None:
    """Refuse weights that the adapter was not trained over."""
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[base["dtype"]]
    if model.base_hash(dtype) == base["hash"]:
        return
    if dtype.itemsize > model.decoder.dtype.itemsize:  # weights that were rounded on reading are checked again
        whole: Any = load("lm", source=model.source, dtype=base["dtype"], lora=1)
        if whole.base_hash() == base["hash"]:
            return
    raise UserError(
        f"{folder} holds an adapter of other weights than those in {model.source}: restore the ones that it was trained on"
    )
