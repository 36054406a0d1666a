"""Adapters as peft's files: adapter_config.json and adapter_model.safetensors, read and written without peft.

Which projections are adapted, and with which rank, is read off the tensors; the config has their scale.
What an adapter may hold beside plain LoRA is refused in one line, never passed over.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from guerdon.core.errors import UserError
from guerdon.models import huggingface, lora
from guerdon.models.architectures import LARGEST, shown
from guerdon.models.decoder import Decoder
from guerdon.models.lora import LowRank
from guerdon.models.plain_files import is_there, read_object

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
START = "base_model.model."  # of every tensor's name: peft's own two wrappers
TENSOR = re.compile(re.escape(START) + r"(.+)\.lora_(A|B)\.weight")
MODULE = re.compile(r"(?:model\.|language_model\.)*layers\.(\d{1,9})\.(?:self_attn|mlp)\.(\w+)")
MOST_RANK = 65536  # of any model's projections
MERGE = "merge it into its model with peft (merge_and_unload) and load that"

REFUSED = {  # fields of the config that ask for more than plain LoRA when they are set, in words
    "use_dora": "DoRA",
    "modules_to_save": "whole modules beside the adapter",
    "lora_bias": "biases of its own",
    "trainable_token_indices": "trained token embeddings",
    "target_parameters": "adapters of single parameters",
    "layer_replication": "replicated layers",
    "alora_invocation_tokens": "activation by tokens",
    "fan_in_fan_out": "transposed weights",
    "use_qalora": "QALoRA",
    "use_bdlora": "block-diagonal LoRA",
    "arrow_config": "Arrow",
    "kasa_config": "KaSA",
    "monteclora_config": "MonteCLoRA",
}
CHANGES_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")  # ways to begin that also change the frozen weights


# --- reading ----------------------------------------------------------------------------------------------------------


def read(net: Decoder, folder: Path) -> None:
    """Fit the adapter in `folder` to a net."""
    config, path = _config(folder), folder / WEIGHTS
    places = {p.name: p for fused in lora.projections(net.config).values() for p in fused}
    changes: dict[int, dict[str, LowRank]] = {}
    for module, pair in _pairs(_tensors(folder), path).items():
        match = MODULE.fullmatch(module)
        if match is None or match[2] not in places:
            raise UserError(f"{path} adapts {module}; only attention and MLP projections can be: {MERGE}")
        layer, p = int(match[1]), places[match[2]]
        if layer >= net.config.layers:
            raise UserError(f"{path} adapts layer {layer}, the model has {net.config.layers}: it is of another model")
        A, B = (tuple(pair[name].get_shape()) for name in "AB")
        rank = A[0] if A else 0
        wanted = ((rank, p.inputs), (p.outputs, rank))
        if wanted != (A, B) or not 1 <= rank <= MOST_RANK:
            sizes = f"A {_shape(A)} and B {_shape(B)}"
            raise UserError(f"{path}: {module} has {sizes}, the model a projection of {p.inputs} to {p.outputs}")
        change = LowRank(pair["A"][:], pair["B"][:], _alpha(config, module, folder), bool(config.get("use_rslora")))
        changes.setdefault(layer, {})[p.name] = change
    lora.fit(net, changes)


def _pairs(tensors: Mapping[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    """A and B of every module that is adapted, not yet read."""
    pairs: dict[str, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        if tensor.get_dtype() not in huggingface.FLOATS:
            raise UserError(f"{path}: {key.removeprefix(START)} is stored as {tensor.get_dtype()}, which is no float")
        match = TENSOR.fullmatch(key)
        if match is None:
            raise UserError(
                f"{path} holds {key.removeprefix(START)} beside plain LoRA, which is not supported: {MERGE}"
            )
        pairs.setdefault(match[1], {})[match[2]] = tensor
    for module, pair in pairs.items():
        if len(pair) < 2:
            raise UserError(f"{path} is not whole: {module} has only one of lora_A and lora_B")
    return pairs


def digest(folder: Path) -> str:
    """A hash of what the adapter in a folder holds."""
    held = hashlib.sha256()
    for name in (CONFIG, WEIGHTS):
        held.update(_present(folder, name).read_bytes())
    return held.hexdigest()[:16]


def _config(folder: Path) -> dict[str, Any]:
    path = _present(folder, CONFIG)
    config = read_object(path)
    if config.get("peft_type") != "LORA":
        kind = shown(config.get("peft_type"))
        raise UserError(f"{path} describes no LoRA adapter: its peft_type is {kind}, not 'LORA'")
    for field, words in REFUSED.items():
        if config.get(field):
            raise UserError(f"{path} asks for {words} ({field}), which is not supported: {MERGE}")
    if config.get("bias") not in (None, "none"):
        raise UserError(f"{path} asks for trained biases (bias={config['bias']!r}), which is not supported: {MERGE}")
    begun = config.get("init_lora_weights")
    if isinstance(begun, str) and begun.lower().startswith(CHANGES_BASE):
        raise UserError(f"{path} began by changing the frozen weights (init_lora_weights={begun!r}): {MERGE}")
    return config


def _tensors(folder: Path) -> dict[str, Any]:
    """The tensors by name; each is read when it is asked for its values."""
    if not is_there(folder / WEIGHTS) and is_there(folder / "adapter_model.bin"):
        raise UserError(f"{folder / 'adapter_model.bin'} is not supported: save the adapter as {WEIGHTS}")
    path = _present(folder, WEIGHTS)
    opened = huggingface.open_tensors(path)
    tensors = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118
    if not tensors:
        raise UserError(f"{path} is empty: there is nothing to start from")
    return tensors


def _alpha(config: Mapping[str, Any], module: str, folder: Path) -> float:
    """Of one module; patterns are regular expressions for the end of its name, the first that fits counts."""
    patterns = config.get("alpha_pattern") or {}
    if not isinstance(patterns, dict):
        raise UserError(f"{folder / CONFIG}: alpha_pattern must be a dictionary, not {shown(patterns)}")
    fits = next((key for key in patterns if _fits(key, module, folder)), None)
    alpha = config.get("lora_alpha") if fits is None else patterns[fits]
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not abs(alpha) < LARGEST:
        raise UserError(f"{folder / CONFIG}: lora_alpha must be a number, not {shown(alpha)}")
    return float(alpha)


def _fits(pattern: str, module: str, folder: Path) -> bool:
    """Repeated groups are refused: a pattern made of them can take for ever to fit nothing."""
    try:
        if re.search(r"\)[*+{]", pattern) or len(pattern) > 1000:
            raise UserError(
                f"{folder / CONFIG}: the pattern {shown(pattern)} is not supported: write it without repeated groups"
            )
        return re.fullmatch(rf"(.*\.)?({pattern})", module) is not None
    except re.error as error:
        raise UserError(f"{folder / CONFIG}: the pattern {shown(pattern)} is none: {error}") from error


def _present(folder: Path, name: str) -> Path:
    if not is_there(folder / name):
        raise UserError(f"{folder} holds no adapter: there is no {name} in it")
    return folder / name


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


# --- writing ----------------------------------------------------------------------------------------------------------


def write(folder: Path, net: Decoder, source: str) -> None:
    """A folder that peft loads over the model in `source`, a folder or an id on the hub."""
    folder.mkdir(parents=True, exist_ok=True)
    changes = {f"model.layers.{layer}.{p.path}": change for layer, p, change in lora.changes(net)}
    tensors = {
        f"{START}{k}.lora_{n}.weight": getattr(c, n).detach().cpu().contiguous()
        for k, c in changes.items()
        for n in "AB"
    }
    rank, alpha = _usual(c.rank for c in changes.values()), _usual(_number(c.alpha) for c in changes.values())
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": source,
        "r": rank,
        "lora_alpha": alpha,
        "target_modules": _targets(net, changes),
        "rank_pattern": {key: c.rank for key, c in changes.items() if c.rank != rank},
        "alpha_pattern": {key: _number(c.alpha) for key, c in changes.items() if c.alpha != alpha},
        "use_rslora": any(c.rslora for c in changes.values()),
        "lora_dropout": 0.0,
        "bias": "none",
        "inference_mode": True,
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def _targets(net: Decoder, changes: Mapping[str, LowRank]) -> list[str]:
    """Short names where every layer is adapted alike, whole ones otherwise."""
    names = sorted({key.rpartition(".")[2] for key in changes})
    return names if len(changes) == len(names) * net.config.layers else sorted(changes)


def _usual(values: Iterable[float]) -> float:
    return Counter(values).most_common(1)[0][0]


def _number(alpha: float) -> float:
    """A whole number where it is one: peft declares it so."""
    return int(alpha) if alpha == int(alpha) else alpha
