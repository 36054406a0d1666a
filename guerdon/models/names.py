"""The tensors of a decoder under the names Hugging Face gives them, and back.

There every projection stands alone, as [out, in]; here those with a common input are one, as [in, out].
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder, Layer, weight_shapes

THREADS = 8  # that fill a net


def parts_of(name: str, c: DecoderConfig) -> list[tuple[str, int]]:
    """What one of a layer's tensors is called there (below `model.layers.N.`), and how wide each part of it is."""
    D = c.head_dim
    mlp_norm = "pre_feedforward_layernorm" if c.after_norms else "post_attention_layernorm"
    plain = {
        "norm_attention": "input_layernorm",
        "norm_mlp": mlp_norm,
        "norm_attention_out": "post_attention_layernorm",
        "norm_mlp_out": "post_feedforward_layernorm",
        "q_norm": "self_attn.q_norm",
        "k_norm": "self_attn.k_norm",
        "out": "self_attn.o_proj",
        "down": "mlp.down_proj",
    }
    joined = {
        "qkv": [("self_attn.q_proj", c.heads * D), ("self_attn.k_proj", c.kv_heads * D), ("self_attn.v_proj", c.kv_heads * D)],
        "gate_up": [("mlp.gate_proj", c.ff), ("mlp.up_proj", c.ff)],
    }  # fmt: skip
    base, kind = (name.removesuffix("_bias"), "bias") if name.endswith("_bias") else (name, "weight")
    return [(f"{part}.{kind}", width) for part, width in joined.get(base, [(plain.get(base, base), 0)])]


def to_hub(net: Decoder) -> dict[str, Tensor]:
    """Copies of all tensors it multiplies with, an adapter merged in, named and laid out as Hugging Face does."""
    tensors = {"model.embed_tokens.weight": net.embed, "model.norm.weight": net.norm}
    if net.head is not None:
        tensors["lm_head.weight"] = net.head
    with torch.no_grad():
        layers = net.layer_weights()
    for number, weights in enumerate(layers):
        for name, tensor in weights._asdict().items():
            if tensor is None:
                continue
            parts = parts_of(name, net.config)
            pieces = tensor.split([width for _, width in parts], dim=-1) if len(parts) > 1 else [tensor]
            for (part, _), piece in zip(parts, pieces, strict=True):
                tensors[f"model.layers.{number}.{part}"] = piece.t() if piece.ndim == 2 else piece
    return {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }


def hub_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor such a model has there."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocab, config.hidden),
        "model.norm.weight": (config.hidden,),
    }
    if not config.tied:
        shapes["lm_head.weight"] = (config.vocab, config.hidden)
    for number in range(config.layers):
        for name, shape in weight_shapes(config).items():
            for part, width in parts_of(name, config):
                out = width or shape[-1]
                shapes[f"model.layers.{number}.{part}"] = (out, shape[0]) if len(shape) == 2 else (out,)
    return shapes


def from_hub(net: Decoder, tensors: Mapping[str, Tensor]) -> None:
    """Fill a net. Every tensor of `hub_shapes` must be there. One thread turns a matrix: layers are filled at the same time."""
    with ThreadPoolExecutor(min(THREADS, torch.get_num_threads()), "read") as threads:
        filled = [threads.submit(_fill, layer, tensors, net.config) for layer in net.blocks]
        with torch.no_grad():
            net.embed.copy_(tensors["model.embed_tokens.weight"])
            net.norm.copy_(tensors["model.norm.weight"])
            if net.head is not None:
                net.head.copy_(tensors["lm_head.weight"])
        for each in filled:
            each.result()


def _fill(layer: Layer, tensors: Mapping[str, Tensor], config: DecoderConfig) -> None:
    with torch.no_grad():
        for name, tensor in layer.named_parameters(recurse=False):
            parts = parts_of(name, config)
            places = torch.split(tensor, [width for _, width in parts], dim=-1) if len(parts) > 1 else [tensor]
            for (part, _), place in zip(parts, places, strict=True):
                piece = tensors[f"model.layers.{layer.number}.{part}"]
                place.copy_(piece.t() if piece.ndim == 2 else piece)
