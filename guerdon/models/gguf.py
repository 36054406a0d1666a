"""A language model in a GGUF file, llama.cpp's format: Llama, Qwen 2, Qwen 3, Gemma 3.

Every tensor is made float32.
The file's numbers are put under the names of a config.json and read by `architectures.py`,
its tensors under Hugging Face's names, so that all that follows is the same as for a folder.
Leaves out: its tokenizer (`gguf_tokenizer.py`), and writing.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from guerdon.core.errors import UserError, require_extra
from guerdon.models.architectures import ARCHITECTURES, FULL, SLIDING, config_from, shown
from guerdon.models.chat import Chat
from guerdon.models.config import DecoderConfig, Rope
from guerdon.models.gguf_header import check_header
from guerdon.models.gguf_tokenizer import chat_from
from guerdon.models.names import hub_shapes
from guerdon.models.plain_files import check_memory, is_there, understanding

SUPPORTED = ("llama", "qwen2", "qwen3", "gemma3")
WHOLE = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
PARTS = {  # of a layer: Hugging Face's name, the file's
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
GEMMA_PARTS = {
    **PARTS,
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
FREQUENCIES = "rope_freqs.weight"  # what each angle is divided by: `llama3` positions in such a file
LLAMA3 = {"low": 1.0, "high": 4.0, "original": 8192}  # of Llama 3.1 to 3.3; not in the file


def read(path: Path) -> tuple[DecoderConfig, Chat, Mapping[str, Tensor]]:
    """The shape, the conversation format and the weights."""
    if not is_there(path):
        raise UserError(f"{path} is not there")
    try:
        package = importlib.import_module("gguf")
    except ImportError as error:
        raise require_extra("gguf", "gguf") from error
    check_header(path)
    with understanding(path):
        file = package.GGUFReader(path)
        metadata = {name: field.contents() for name, field in file.fields.items()}
        stored = {tensor.name: tensor for tensor in file.tensors}
        config = _config(metadata, stored, str(path), package.quants.dequantize)
        tensors = Tensors(config, stored, package.quants.dequantize, str(path))
        check_memory(sum(map(math.prod, hub_shapes(config).values())), str(path))
        return config, chat_from(metadata, config, str(path)), tensors


class Tensors(Mapping[str, Tensor]):
    """The file's tensors under Hugging Face's names, dequantised when they are asked for."""

    def __init__(self, config: DecoderConfig, stored: Mapping[str, Any], dequantize: Any, where: str) -> None:
        self.config, self.stored, self.dequantize, self.where = config, stored, dequantize, where
        self.names = {name: _stored_name(name, config.family) for name in hub_shapes(config)}
        for name, shape in hub_shapes(config).items():
            its = self.names[name]
            if its not in stored:
                raise UserError(f"{where} has no tensor {its}")
            stored_shape = tuple(int(n) for n in reversed(stored[its].shape))
            if stored_shape != shape:
                raise UserError(f"{where}: {its} is {stored_shape}, its metadata ask for {shape}")
        extra = sorted(set(stored) - set(self.names.values()) - {FREQUENCIES})
        if extra:
            raise UserError(f"{where} has a tensor that a {config.family} knows nothing of: {extra[0]}")

    def __getitem__(self, name: str) -> Tensor:
        tensor = self.stored[self.names[name]]
        with understanding(f"{self.where}: its tensor {tensor.name}"):
            values = np.array(self.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        if self.config.family == "llama" and ".self_attn.q_proj" in name:
            values = _halves(values, self.config.heads)
        if self.config.family == "llama" and ".self_attn.k_proj" in name:
            values = _halves(values, self.config.kv_heads)
        if self.config.norm_plus_one and name.endswith("norm.weight"):
            values = values - 1  # the file holds what is multiplied with
        return torch.from_numpy(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _stored_name(name: str, family: str) -> str:
    if name in WHOLE:
        return WHOLE[name]
    number, part = name.removeprefix("model.layers.").split(".", 1)
    base, kind = part.rsplit(".", 1)
    return f"blk.{number}.{(GEMMA_PARTS if family == 'gemma3' else PARTS)[base]}.{kind}"


def _halves(values: np.ndarray, heads: int) -> np.ndarray:
    """Llama files turn neighbours against each other, Hugging Face the first half of a head against the second."""
    width = len(values) // heads // 2
    return values.reshape(heads, width, 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


# --- metadata -----------------------------------------------------------------------------------------------------------


def _config(metadata: Mapping[str, Any], stored: Mapping[str, Any], where: str, dequantize: Any) -> DecoderConfig:
    """The metadata under the names of a config.json."""
    kind = metadata.get("general.architecture")
    if kind not in SUPPORTED:
        raise UserError(f"{where}: GGUF files of {_name(kind)} models are not supported; {', '.join(SUPPORTED)} are")
    if "token_embd.weight" not in stored:
        raise UserError(f"{where} has no tensor token_embd.weight")

    def get(key: str) -> Any:
        value = metadata.get(f"{kind}.{key}")
        if isinstance(value, list) and len(set(value)) == 1:
            value = value[0]  # one for each layer
        if isinstance(value, list):
            raise UserError(f"{where}: {key} differs from layer to layer, which is not supported")
        return float(f"{value:.7g}") if isinstance(value, float) else value  # a float32 there: 1e-5, not 9.99999975e-6

    if get("expert_count"):
        raise UserError(f"{where}: mixtures of experts are not supported; dense models are")
    heads, hidden = get("attention.head_count"), get("embedding_length")
    width = get("attention.key_length") or (get("rope.dimension_count") if kind == "llama" else None)
    width = width or (hidden // heads if hidden and heads else None)
    if (get("attention.value_length") or width) != width or (get("rope.dimension_count") or width) != width:
        raise UserError(f"{where}: heads whose keys, values and rotation differ in width are not supported")
    fields = {
        "architectures": [ARCHITECTURES[kind].architecture],
        "vocab_size": int(stored["token_embd.weight"].shape[1]),
        "hidden_size": hidden,
        "num_hidden_layers": get("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": get("attention.head_count_kv") or heads,
        "head_dim": width,
        "intermediate_size": get("feed_forward_length"),
        "max_position_embeddings": get("context_length"),
        "rms_norm_eps": get("attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in stored,
        "attention_bias": "blk.0.attn_q.bias" in stored,
        "mlp_bias": "blk.0.ffn_gate.bias" in stored,
        "rope_theta": get("rope.freq_base"),
        "rope_scaling": _scaling(get, where),
        "final_logit_softcapping": get("final_logit_softcapping"),
    }
    if FREQUENCIES in stored:
        factors = torch.from_numpy(np.array(dequantize(stored[FREQUENCIES].data, stored[FREQUENCIES].tensor_type)))
        fields["rope_scaling"] = _llama3(factors, float(fields["rope_theta"] or 10000.0), where)
    if kind == "gemma3":
        fields |= _gemma(metadata, fields, get)
    return config_from(fields, where)


def _name(kind: Any) -> str:
    return kind if isinstance(kind, str) and kind.isidentifier() and len(kind) < 50 else shown(kind)


def _scaling(get: Any, where: str) -> dict[str, Any] | None:
    kind, factor = get("rope.scaling.type"), get("rope.scaling.factor") or get("rope.scale_linear")
    if kind in (None, "none") and (factor in (None, 1) or kind == "none"):
        return None
    scaling = {"rope_type": kind or "linear", "factor": factor, "attention_factor": get("rope.scaling.attn_factor")}
    return {**scaling, "original_max_position_embeddings": get("rope.scaling.original_context_length")}


def _llama3(factors: Tensor, theta: float, where: str) -> dict[str, Any]:
    """Which `llama3` positions divide the angles by these factors."""
    factor = round(float(factors.max()), 4)
    rope = Rope(theta, "llama3", factor, int(LLAMA3["original"]), LLAMA3["low"], LLAMA3["high"])
    width = 2 * len(factors)
    if not torch.allclose(Rope(theta).frequencies(width) / factors, rope.frequencies(width), rtol=1e-4, atol=0):
        raise UserError(f"{where}: its {FREQUENCIES} are not those of Llama 3, and no others are supported")
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": rope.low,
        "high_freq_factor": rope.high,
        "original_max_position_embeddings": rope.original,
    }


def _gemma(metadata: Mapping[str, Any], fields: Mapping[str, Any], get: Any) -> dict[str, Any]:
    """What llama.cpp assumes for Gemma 3 without metadata: every sixth layer is full, and how 27B scales its queries."""
    layers = fields["num_hidden_layers"] or 0
    pattern = metadata.get("gemma3.attention.sliding_window_pattern", 6)
    if not isinstance(pattern, list):
        pattern = [(i + 1) % int(pattern) != 0 for i in range(layers)]
    is_27b = layers == 62
    return {
        "sliding_window": get("attention.sliding_window"),
        "layer_types": [SLIDING if windowed else FULL for windowed in pattern[:layers]],
        "rope_local_base_freq": get("rope.freq_base_swa"),
        "query_pre_attn_scalar": fields["hidden_size"] // fields["num_attention_heads"]
        if is_27b
        else fields["head_dim"],
    }
