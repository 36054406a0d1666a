"""One decoder for training and for sampling: Llama, Qwen 2, Qwen 3, Gemma 3.

What they differ in is in `config.py`.
It runs over a flat row of tokens, without padding; who sees whom is the business of the memory it is given
(`attention.py`).
Matrices with a common input are one, stored as they are multiplied with, [in, out]:
the learner and the sampler use the same tensors.
Leaves out: text (`language_model.py`), files (`architectures.py`, `huggingface.py`), sampling (`engine/`).

Axes: F tokens, h heads, kv key-value heads, D width of a head, E width of the residual stream, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from guerdon.models.attention import Memory, Turn
from guerdon.models.config import DecoderConfig, Rope
from guerdon.models.ops import Rotation, add_rms_norm, gated_times, rms_norm, rotation, times


class LayerWeights(NamedTuple):
    """What a layer multiplies with."""

    norm_attention: Tensor  # [E]
    qkv: Tensor  # [E, (h + 2 kv) D]
    out: Tensor  # [h D, E]
    norm_mlp: Tensor  # [E]
    gate_up: Tensor  # [E, 2 ff]
    down: Tensor  # [ff, E]
    qkv_bias: Tensor | None = None
    out_bias: Tensor | None = None
    gate_up_bias: Tensor | None = None
    down_bias: Tensor | None = None
    q_norm: Tensor | None = None  # [D]
    k_norm: Tensor | None = None
    norm_attention_out: Tensor | None = None  # [E]
    norm_mlp_out: Tensor | None = None


def weight_shapes(c: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """The tensors a layer of this shape has, by their names in `LayerWeights`."""
    E, D, qkv = c.hidden, c.head_dim, (c.heads + 2 * c.kv_heads) * c.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "norm_attention": (E,),
        "qkv": (E, qkv),
        "out": (c.heads * D, E),
        "norm_mlp": (E,),
        "gate_up": (E, 2 * c.ff),
        "down": (c.ff, E),
    }
    if c.qkv_bias:
        shapes["qkv_bias"] = (qkv,)
    if c.out_bias:
        shapes["out_bias"] = (E,)
    if c.mlp_bias:
        shapes |= {"gate_up_bias": (2 * c.ff,), "down_bias": (E,)}
    if c.qk_norm:
        shapes |= {"q_norm": (D,), "k_norm": (D,)}
    if c.after_norms:
        shapes |= {"norm_attention_out": (E,), "norm_mlp_out": (E,)}
    return shapes


class Layer(nn.Module):
    """One block."""

    def __init__(self, config: DecoderConfig, number: int, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.config, self.number = config, number
        self.window = config.window_of(number)
        for name, shape in weight_shapes(config).items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape, dtype=dtype)))
        self.adapter: nn.Module | None = None  # `lora.Adapter`: what it multiplies with, changed

    def weights(self, adapted: bool = True) -> LayerWeights:
        own = LayerWeights(**dict(self.named_parameters(recurse=False)))
        return self.adapter(own) if adapted and self.adapter is not None else own

    def forward(self, x: Tensor, more: Tensor, w: LayerWeights, at: Rotation, memory: Memory) -> tuple[Tensor, Tensor]:
        """The stream [F, E] and what is still to be added to it, [F, E], after this block."""
        c = self.config
        x, normed = add_rms_norm(x, more, w.norm_attention, c.norm_eps, c.norm_plus_one)
        qkv = times(normed, w.qkv, w.qkv_bias).view(len(x), -1, c.head_dim)
        turn = Turn(c.heads, c.kv_heads, at, w.q_norm, w.k_norm, c.norm_eps, c.norm_plus_one)
        seen = memory.attend(self.number, qkv, turn, c.scale, self.window).reshape(len(x), -1)
        more = self._after(times(seen, w.out, w.out_bias), w.norm_attention_out)
        x, normed = add_rms_norm(x, more, w.norm_mlp, c.norm_eps, c.norm_plus_one)
        inner = gated_times(normed, w.gate_up, w.gate_up_bias, c.gate)
        return x, self._after(times(inner, w.down, w.down_bias), w.norm_mlp_out)

    def _after(self, x: Tensor, weight: Tensor | None) -> Tensor:
        return x if weight is None else rms_norm(x, weight, self.config.norm_eps, self.config.norm_plus_one)


class Decoder(nn.Module):
    def __init__(self, config: DecoderConfig, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Parameter(torch.empty(config.vocab, config.hidden, dtype=dtype))
        self.layers = nn.ModuleList(Layer(config, number, dtype) for number in range(config.layers))
        self.norm = nn.Parameter(torch.empty(config.hidden, dtype=dtype))
        self.head = None if config.tied else nn.Parameter(torch.empty(config.vocab, config.hidden, dtype=dtype))
        self._frequencies: dict[tuple[Rope, torch.device], Tensor] = {}
        self.recompute = False  # activations of a layer are computed again for its gradient instead of being kept
        self.adapted = True  # whether an adapter, where there is one, is in use

    def reset(self, seed: int, std: float = 0.02) -> Decoder:
        """Fresh weights: normal matrices (0.02 is LlamaConfig's initializer_range), biases at zero, norms at one."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if weight.ndim == 2:
                    weight.copy_(torch.randn(weight.shape, generator=generator) * std)
                else:
                    weight.fill_(0.0 if name.endswith("bias") or self.config.norm_plus_one else 1.0)
        return self

    @property
    def device(self) -> torch.device:
        return self.embed.device

    @property
    def dtype(self) -> torch.dtype:
        return self.embed.dtype

    @property
    def blocks(self) -> list[Layer]:
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    @property
    def has_adapter(self) -> bool:
        return any(layer.adapter is not None for layer in self.blocks)

    def layer_weights(self) -> list[LayerWeights]:
        return [layer.weights(self.adapted) for layer in self.blocks]

    def forward(self, tokens: Tensor, memory: Memory, weights: Sequence[LayerWeights] | None = None) -> Tensor:
        """[F, E] what stands at each of the tokens [F] in the end."""
        c = self.config
        at = memory.rotations(self)
        x = F.embedding(tokens, self.embed)
        if c.embed_scale != 1.0:
            x = x * torch.tensor(c.embed_scale, dtype=x.dtype)
        again = self.recompute and torch.is_grad_enabled()
        more = torch.zeros_like(x)
        for layer, w in zip(self.blocks, weights or self.layer_weights(), strict=True):
            given = (x, more, w, at[c.rope_of(layer.number)], memory)
            x, more = checkpoint(layer, *given, use_reentrant=False) if again else layer(*given)
        return add_rms_norm(x, more, self.norm, c.norm_eps, c.norm_plus_one)[1]

    def rotations(self, position: Tensor) -> dict[Rope, Rotation]:
        """The angles of tokens at these places, for every kind of layer there is."""
        rotations = {}
        for rope in dict.fromkeys(map(self.config.rope_of, range(self.config.layers))):
            key = (rope, position.device)
            if key not in self._frequencies:
                self._frequencies[key] = rope.frequencies(self.config.head_dim).to(position.device)
            rotations[rope] = rotation(position, self._frequencies[key], rope.gain, self.dtype)
        return rotations

    @property
    def head_weight(self) -> Tensor:
        """[V, E]"""
        return self.embed if self.head is None else self.head

    def logits(self, hidden: Tensor) -> Tensor:
        """[F, E] to [F, V]."""
        return times(hidden, self.head_weight.t())
