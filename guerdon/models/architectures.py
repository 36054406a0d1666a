"""config.json of a model family as a `DecoderConfig`, and back: Llama, Mistral, Qwen 2, Qwen 3, Gemma 3 (text).

Keys are read in the old spelling (`rope_theta`, `rope_scaling`) and in that of transformers 5 (`rope_parameters`).
They are written in the old one, which both it and vLLM load.
What the decoder cannot do is refused by name.
Leaves out: the files themselves (`huggingface.py`, `gguf.py`).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from guerdon.core.errors import UserError
from guerdon.models.config import DecoderConfig, Rope

SIZES = {  # our name: theirs
    "vocab": "vocab_size",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "ff": "intermediate_size",
    "max_positions": "max_position_embeddings",
    "head_width": "head_dim",
}
LARGEST = 1e18  # of a number in config.json
MOST_LAYERS = 2000  # the deepest models have some hundred
GATES = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
FULL, SLIDING = "full_attention", "sliding_attention"
ROPES = ("default", "linear", "llama3", "yarn")
REFUSED = {  # what a config.json may ask for that the decoder does not do: the value that asks for nothing
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "use_bidirectional_attention": False,
    "partial_rotary_factor": 1.0,
    "quantization_config": None,
}


@dataclass(frozen=True)
class Architecture:
    """What is the same in all models of a family. `defaults` hold where config.json is silent: its config class's."""

    architecture: str
    model_type: str
    defaults: Mapping[str, Any]
    gate_key: str = "hidden_act"
    shape: Mapping[str, Any] = field(default_factory=dict)  # fields of a DecoderConfig


COMMON = {"rms_norm_eps": 1e-6, "tie_word_embeddings": False, "rope_theta": 10000.0, "hidden_act": "silu"}
QWEN = {**COMMON, "num_key_value_heads": 32, "max_position_embeddings": 32768, "sliding_window": 4096}
ARCHITECTURES = {
    "llama": Architecture("LlamaForCausalLM", "llama", {**COMMON, "max_position_embeddings": 2048}),
    "mistral": Architecture(
        "MistralForCausalLM",
        "mistral",
        {**COMMON, "num_key_value_heads": 8, "max_position_embeddings": 131072, "sliding_window": 4096},
    ),
    "qwen2": Architecture("Qwen2ForCausalLM", "qwen2", QWEN, shape={"qkv_bias": True}),
    "qwen3": Architecture("Qwen3ForCausalLM", "qwen3", {**QWEN, "head_dim": 128}, shape={"qk_norm": True}),
    "gemma3": Architecture(
        "Gemma3ForCausalLM",
        "gemma3_text",
        {
            "rms_norm_eps": 1e-6,
            "tie_word_embeddings": True,
            "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0,
            "hidden_activation": "gelu_pytorch_tanh",
            "num_key_value_heads": 4,
            "head_dim": 256,
            "max_position_embeddings": 131072,
            "sliding_window": 4096,
            "sliding_window_pattern": 6,
            "query_pre_attn_scalar": 256,
        },
        gate_key="hidden_activation",
        shape={"qk_norm": True, "after_norms": True, "norm_plus_one": True},
    ),
}


def shown(value: Any) -> str:
    """A value of the file in a message."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Given:
    """A config.json with its family's defaults behind it. A value of the wrong kind is one clear line."""

    def __init__(self, fields: Mapping[str, Any], family: Architecture, where: str) -> None:
        self.fields, self.family, self.where = fields, family, where

    def get(self, key: str) -> Any:
        """A key with the value null counts as missing, but for a window, where null is 'none'."""
        if key == "sliding_window" and key in self.fields:
            return self.fields[key]
        value = self.fields.get(key)
        return self.family.defaults.get(key) if value is None else value

    def number(self, key: str) -> float:
        value = self.get(key)
        if value is None:
            raise UserError(f"{self.where} does not say {key}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            raise UserError(f"{self.where}: {key} must be a number, not {shown(value)}")
        return float(value)

    def positive(self, key: str) -> float:
        value = self.number(key)
        if value <= 0:
            raise UserError(f"{self.where}: {key} must be greater than 0, not {value!r}")
        return value

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool | None):
            raise UserError(f"{self.where}: {key} must be true or false, not {shown(value)}")
        return bool(value)

    def count(self, key: str) -> int:
        value = self.number(key)
        most = MOST_LAYERS if key == "num_hidden_layers" else 2**31 - 1
        if value != int(value) or not 1 <= value <= most:
            raise UserError(f"{self.where}: {key} must be a whole number from 1 to {most}, not {shown(self.get(key))}")
        return int(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.fields.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise UserError(f"{self.where}: {key} must be a dictionary, not {shown(value)}")
        return value or {}


# --- reading ----------------------------------------------------------------------------------------------------------


def config_from(fields: Mapping[str, Any], where: str = "config.json") -> DecoderConfig:
    """Read the dictionary of a config.json."""
    name = family_of(fields, where)
    given = Given(fields, ARCHITECTURES[name], where)
    for key, harmless in REFUSED.items():
        if fields.get(key) not in (None, harmless):
            raise UserError(
                f"{where}: {key} {shown(fields[key])} is not supported; leave it out or use a model without it"
            )
    heads = given.count("num_attention_heads")
    rope, window_rope = _ropes(given)
    window, windowed = _windows(given)
    config = DecoderConfig(
        vocab=given.count("vocab_size"),
        hidden=given.count("hidden_size"),
        layers=given.count("num_hidden_layers"),
        heads=heads,
        kv_heads=heads if given.get("num_key_value_heads") is None else given.count("num_key_value_heads"),
        ff=given.count("intermediate_size"),
        max_positions=given.count("max_position_embeddings"),
        rope=rope,
        norm_eps=given.positive("rms_norm_eps"),
        tied=given.flag("tie_word_embeddings"),
        head_width=given.count("hidden_size") // heads if given.get("head_dim") is None else given.count("head_dim"),
        family=name,
        gate=_gate(given),
        window=window,
        windowed=windowed,
        window_rope=window_rope if windowed else None,
        **{**given.family.shape, **_own(name, given)},
    )
    if config.heads % config.kv_heads or config.head_dim % 2:
        raise UserError(
            f"{where}: {config.heads} heads of width {config.head_dim} do not go with {config.kv_heads} key heads"
        )
    return config


def family_of(fields: Mapping[str, Any], where: str) -> str:
    kind = architecture_of(fields, where)
    for name, family in ARCHITECTURES.items():
        if kind in (family.architecture, family.model_type):
            return name
    known = ", ".join(family.architecture for family in ARCHITECTURES.values())
    raise UserError(f"{where}: {kind} models are not supported; {known} are")


def architecture_of(fields: Mapping[str, Any], where: str) -> str:
    """The name of the model's class, or of its type where config.json is silent about the class."""
    kinds = fields.get("architectures") or [fields.get("model_type")]
    if not isinstance(kinds, list) or not kinds or not isinstance(kinds[0], str):
        raise UserError(f"{where} does not say what kind of model it is: it needs architectures or model_type")
    if re.fullmatch(r"[\w.-]{1,100}", kinds[0], re.ASCII) is None:
        raise UserError(f"{where}: {shown(kinds[0])} is no name of an architecture")
    return kinds[0]


def known_architectures() -> set[str]:
    """The entries of a config.json of our families."""
    return {name for family in ARCHITECTURES.values() for name in (family.architecture, family.model_type)}


def _own(name: str, given: Given) -> dict[str, Any]:
    """Fields that only some families' files speak of."""
    if name == "gemma3":
        scale = torch.tensor(given.count("hidden_size") ** 0.5).item()  # a float32 there
        own: dict[str, Any] = {
            "embed_scale": scale,
            "attention_scale": given.positive("query_pre_attn_scalar") ** -0.5,
        }
    else:
        own = {}
    if name in ("llama", "qwen3", "gemma3") and given.get("attention_bias"):
        own |= {"qkv_bias": True, "out_bias": True}
    if name == "llama" and given.get("mlp_bias"):
        own["mlp_bias"] = True
    return own


def _gate(given: Given) -> Any:
    key = given.family.gate_key
    gate = given.fields.get(key) or given.fields.get("hidden_act") or given.get(key)
    if not isinstance(gate, str) or gate not in GATES:
        raise UserError(f"{given.where}: {key} {gate!r} is not supported; {', '.join(map(repr, GATES))} are")
    return GATES[gate]


def _windows(given: Given) -> tuple[int, tuple[bool, ...]]:
    """How far windowed layers see, and which layers are."""
    layers = given.count("num_hidden_layers")
    kinds = given.fields.get("layer_types")
    family = given.family.model_type
    if family == "llama":
        return 0, ()
    if family == "mistral":
        kinds = [SLIDING if given.get("sliding_window") is not None else FULL] * layers
    elif kinds is None and family == "gemma3_text":
        every = int(given.fields.get("_sliding_window_pattern") or given.count("sliding_window_pattern"))
        kinds = [SLIDING if (i + 1) % every else FULL for i in range(layers)]
    elif kinds is None:
        first = int(given.fields.get("max_window_layers", 28)) if given.get("use_sliding_window") else layers
        kinds = [SLIDING if i >= first else FULL for i in range(layers)]
    unknown = sorted({str(kind) for kind in kinds} - {FULL, SLIDING})
    if unknown:
        raise UserError(f"{given.where}: layers of type {unknown[0]!r} are not supported; {FULL}, {SLIDING} are")
    if len(kinds) != layers:
        raise UserError(f"{given.where}: layer_types names {len(kinds)} layers, num_hidden_layers {layers}")
    windowed = tuple(kind == SLIDING for kind in kinds)
    return (given.count("sliding_window"), windowed) if any(windowed) else (0, ())


def _ropes(given: Given) -> tuple[Rope, Rope | None]:
    """The positions of full layers and, where they have their own, of windowed ones."""
    new, old = given.mapping("rope_parameters"), given.mapping("rope_scaling")
    theta = given.positive("rope_theta")
    if given.family.model_type != "gemma3_text":
        return _rope(given, {**new, **old}, theta), None
    nested = any(isinstance(value, Mapping) for value in new.values())
    full, local = (new.get(kind) or {} for kind in (FULL, SLIDING)) if nested else (new, {})
    return (
        _rope(given, {**full, **old}, theta),
        _rope(given, local, given.positive("rope_local_base_freq")),
    )


def _rope(given: Given, fields: Mapping[str, Any], theta: float) -> Rope:
    """One set of rotary parameters. Missing entries are as in transformers."""
    kind = fields.get("rope_type", fields.get("type")) or "default"
    if kind not in ROPES:
        raise UserError(f"{given.where}: rope_type {kind!r} is not supported; {', '.join(map(repr, ROPES))} are")
    if fields.get("partial_rotary_factor", 1.0) != 1.0 or fields.get("truncate", True) is not True:
        odd = "truncate" if fields.get("truncate", True) is not True else "partial_rotary_factor"
        raise UserError(f"{given.where}: {odd} {fields[odd]!r} of its rotary positions is not supported; leave it out")
    theta = float(fields.get("rope_theta") or theta)
    if not 0 < theta < LARGEST:
        raise UserError(f"{given.where}: rope_theta must be greater than 0, not {theta!r}")
    if kind == "default":
        return Rope(theta)
    original = int(
        given.fields.get("original_max_position_embeddings")
        or fields.get("original_max_position_embeddings")
        or given.count("max_position_embeddings")
    )
    factor = fields.get("factor")
    if factor is None and kind == "yarn":
        factor = given.count("max_position_embeddings") / original
    if not isinstance(factor, int | float) or not 0 < factor < LARGEST:
        raise UserError(f"{given.where}: rotary positions of type {kind!r} need a factor, not {shown(factor)}")
    if kind == "linear":
        return Rope(theta, "linear", float(factor))
    if kind == "llama3":
        low, high = (
            float(fields.get(key) or usual) for key, usual in (("low_freq_factor", 1), ("high_freq_factor", 4))
        )
        return Rope(theta, "llama3", float(factor), original, low, high)
    slow, fast = (float(fields.get(key) or usual) for key, usual in (("beta_slow", 1), ("beta_fast", 32)))
    return Rope(theta, "yarn", float(factor), original, slow, fast, _yarn_gain(fields, float(factor)))


def _yarn_gain(fields: Mapping[str, Any], factor: float) -> float:
    """What cosine and sine are multiplied with (arXiv:2309.00071, eq. 22), or config.json's value in its place."""

    def usual(by: float = 1.0) -> float:
        return 1.0 if factor <= 1 else 0.1 * by * math.log(factor) + 1.0

    if fields.get("attention_factor") is not None:
        return float(fields["attention_factor"])
    if fields.get("mscale") and fields.get("mscale_all_dim"):
        return usual(fields["mscale"]) / usual(fields["mscale_all_dim"])
    return usual()


# --- writing ----------------------------------------------------------------------------------------------------------


def config_to(config: DecoderConfig, dtype: torch.dtype) -> dict[str, Any]:
    """The dictionary of a config.json, without token ids. What the family's file cannot express is refused."""
    family = ARCHITECTURES[config.family]
    gate = next(theirs for theirs, ours in GATES.items() if ours == config.gate)
    fields = {
        "architectures": [family.architecture],
        "model_type": family.model_type,
        **{theirs: getattr(config, ours) for ours, theirs in SIZES.items()},
        "head_dim": config.head_dim,
        "rms_norm_eps": config.norm_eps,
        "tie_word_embeddings": config.tied,
        family.gate_key: gate,
        **_bias_keys(config),
        **_window_keys(config),
        **_rope_keys(config),
        "torch_dtype": str(dtype).removeprefix("torch."),
    }
    if config.family == "gemma3":
        fields["query_pre_attn_scalar"] = round(config.scale**-2)
    back = dataclasses.asdict(config_from(fields, "its config.json"))
    for name, value in dataclasses.asdict(dataclasses.replace(config, head_width=config.head_dim)).items():
        if back[name] != value:
            raise UserError(
                f"{family.architecture} cannot have {name} {value!r}: it would be read back as {back[name]!r}"
            )
    return fields


def _bias_keys(config: DecoderConfig) -> dict[str, Any]:
    if config.family in ("mistral", "qwen2"):  # whose files have no such key
        return {}
    keys = {"attention_bias": config.qkv_bias}
    return {**keys, "mlp_bias": config.mlp_bias} if config.family == "llama" else keys


def _window_keys(config: DecoderConfig) -> dict[str, Any]:
    if config.family == "llama":
        return {}
    window = {"sliding_window": config.window or None}
    if config.family == "mistral":
        return window
    kinds = [SLIDING if config.window_of(layer) else FULL for layer in range(config.layers)]
    if config.family == "gemma3":
        return {
            "sliding_window": config.window or ARCHITECTURES["gemma3"].defaults["sliding_window"],
            "layer_types": kinds,
        }
    first = kinds.index(SLIDING) if SLIDING in kinds else config.layers
    return {**window, "use_sliding_window": bool(config.window), "max_window_layers": first, "layer_types": kinds}


def _rope_keys(config: DecoderConfig) -> dict[str, Any]:
    """The old spelling, as far as it goes: it cannot stretch the positions of windowed layers."""
    local = config.window_rope
    if local is not None and local.kind != "default":
        parts = {FULL: config.rope, SLIDING: local}
        plain = {"rope_type": "default"}
        return {"rope_parameters": {k: {**(_scaling(r) or plain), "rope_theta": r.theta} for k, r in parts.items()}}
    keys: dict[str, Any] = {"rope_theta": config.rope.theta, "rope_scaling": _scaling(config.rope)}
    if config.family == "gemma3":
        keys["rope_local_base_freq"] = (
            ARCHITECTURES["gemma3"].defaults["rope_local_base_freq"] if local is None else local.theta
        )
    return keys


def _scaling(rope: Rope) -> dict[str, Any] | None:
    if rope.kind == "default":
        return None
    scaling: dict[str, Any] = {"rope_type": rope.kind, "factor": rope.factor}
    if rope.kind == "linear":
        return scaling
    scaling["original_max_position_embeddings"] = rope.original
    if rope.kind == "llama3":
        return {**scaling, "low_freq_factor": rope.low, "high_freq_factor": rope.high}
    scaling |= {"beta_slow": rope.low, "beta_fast": rope.high}
    if rope.gain != _yarn_gain({}, rope.factor):  # vLLM does not know this key: only where it is needed
        scaling["attention_factor"] = rope.gain
    return scaling
