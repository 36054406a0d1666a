"""A Llama-style decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU. One net for training and sampling.

Parameters are named as in Hugging Face's LlamaForCausalLM, so `state_dict()` written as safetensors is such a checkpoint.
Batches are padded on the right, which causal attention needs no mask for. Left out: text (`lm.py`), the memory of past
tokens (`cache.py`), files (`huggingface.py`), other families of decoders.

Axes: B rows, T tokens, h heads, D width of a head, E width of the residual stream, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from guerdon.models.cache import KVCache, Memory, causal_attention


@dataclass(frozen=True)
class DecoderConfig:
    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ff: int
    max_positions: int = 2048
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5  # this and the line above: LlamaConfig's defaults, but for Llama 2's eps
    tied: bool = True  # one matrix reads tokens in and writes them out
    head_width: int = 0  # 0: hidden / heads

    @property
    def head_dim(self) -> int:
        return self.head_width or self.hidden // self.heads


class LayerWeights(NamedTuple):
    """A layer's matrices as they are multiplied with, [in, out]; those with a common input are one."""

    norm_attention: Tensor  # [E]
    qkv: Tensor  # [E, (h + 2 kv_h) D]
    out: Tensor  # [h D, E]
    norm_mlp: Tensor  # [E]
    gate_up: Tensor  # [E, 2 ff]
    down: Tensor  # [ff, E]


class Rotation(NamedTuple):
    """Cosine and sine of every position's angles, [B or 1, T, 1, D / 2]."""

    cos: Tensor
    sin: Tensor


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))


class Attention(nn.Module):
    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        width = config.head_dim
        self.q_proj = nn.Linear(config.hidden, config.heads * width, bias=False)
        self.k_proj = nn.Linear(config.hidden, config.kv_heads * width, bias=False)
        self.v_proj = nn.Linear(config.hidden, config.kv_heads * width, bias=False)
        self.o_proj = nn.Linear(config.heads * width, config.hidden, bias=False)


class MLP(nn.Module):
    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden, config.ff, bias=False)
        self.up_proj = nn.Linear(config.hidden, config.ff, bias=False)
        self.down_proj = nn.Linear(config.ff, config.hidden, bias=False)


class Layer(nn.Module):
    """One block. Its modules only hold the weights under their names; the arithmetic is in `forward`."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.input_layernorm = Norm(config.hidden)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = Norm(config.hidden)
        self.mlp = MLP(config)

    def weights(self) -> LayerWeights:
        attention, mlp = self.self_attn, self.mlp
        return LayerWeights(
            self.input_layernorm.weight,
            torch.cat([attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]).t(),
            attention.o_proj.weight.t(),
            self.post_attention_layernorm.weight,
            torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]).t(),
            mlp.down_proj.weight.t(),
        )

    def forward(self, x: Tensor, w: LayerWeights, at: Rotation, memory: Memory | None, number: int) -> Tensor:
        """[B, T, E] to [B, T, E]."""
        config = self.config
        B, T, _ = x.shape
        h, kv, D = config.heads, config.kv_heads, config.head_dim
        qkv = (rms_norm(x, w.norm_attention, config.norm_eps) @ w.qkv).view(B, T, h + 2 * kv, D)
        qk = rotate(qkv[:, :, : h + kv], at).transpose(1, 2)  # [B, h + kv, T, D]
        q, k, v = qk[:, :h], qk[:, h:], qkv[:, :, h + kv :].transpose(1, 2)
        seen = causal_attention(q, k, v) if memory is None else memory.attend(number, q, k, v)
        x = x + seen.transpose(1, 2).reshape(B, T, h * D) @ w.out
        gate, up = (rms_norm(x, w.norm_mlp, config.norm_eps) @ w.gate_up).chunk(2, dim=-1)
        return x + (F.silu(gate) * up) @ w.down


class Trunk(nn.Module):
    """What Hugging Face calls `model`: everything but the head."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab, config.hidden)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = Norm(config.hidden)


class Decoder(nn.Module):
    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Trunk(config)
        self.lm_head = None if config.tied else nn.Linear(config.hidden, config.vocab, bias=False)

    def reset(self, seed: int, std: float = 0.02) -> Decoder:
        """Fresh weights: normal matrices (0.02 is LlamaConfig's initializer_range), norms at one."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in self.parameters():
                if weight.ndim == 1:
                    weight.fill_(1.0)
                else:
                    weight.copy_(torch.randn(weight.shape, generator=generator) * std)
        return self

    @property
    def device(self) -> torch.device:
        return self.model.embed_tokens.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.embed_tokens.weight.dtype

    def layer_weights(self, *, packed: bool = False) -> list[LayerWeights]:
        """Every layer's matrices for `forward`. `packed` lays them out anew, which pays when they are used many times."""
        found = [layer.weights() for layer in self._layers]
        return [LayerWeights(*(t.contiguous() for t in w)) for w in found] if packed else found

    @property
    def _layers(self) -> list[Layer]:
        return [layer for layer in self.model.layers if isinstance(layer, Layer)]

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor | None = None,
        cache: Memory | None = None,
        weights: Sequence[LayerWeights] | None = None,
    ) -> Tensor:
        """Hidden states [B, T, E] of tokens [B, T], whose positions ([T] or [B, T]) follow those in the cache."""
        begin = torch.arange(tokens.shape[1], device=tokens.device) if cache is None else cache.begin(tokens.shape[1])
        at = rotation(begin if positions is None else positions, self.config, self.dtype)
        x: Tensor = self.model.embed_tokens(tokens)
        for number, (layer, w) in enumerate(zip(self._layers, weights or self.layer_weights(), strict=True)):
            x = layer(x, w, at, cache, number)
        return rms_norm(x, self.model.norm.weight, self.config.norm_eps)

    def cache(self, rows: int, capacity: int) -> KVCache:
        """An empty memory for rows of at most `capacity` tokens."""
        c = self.config
        return KVCache(c.layers, rows, c.kv_heads, capacity, c.head_dim, self.dtype, self.device)

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., E] to [..., V]."""
        head = self.model.embed_tokens if self.lm_head is None else self.lm_head
        return F.linear(hidden, head.weight)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The mean square in at least float32, whatever the weights' type."""
    wide = x if x.dtype == torch.float64 else x.float()
    return weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


def rotation(positions: Tensor, config: DecoderConfig, dtype: torch.dtype) -> Rotation:
    """Angles in float32, as in Hugging Face's code: position times theta ** (-2 i / D)."""
    even = torch.arange(0, config.head_dim, 2, device=positions.device, dtype=torch.float32)
    angle = positions.float()[..., None] * (1.0 / config.rope_theta ** (even / config.head_dim))  # [(B,) T, D / 2]
    angle = angle.view(-1, positions.shape[-1], 1, len(even))
    return Rotation(angle.cos().to(dtype), angle.sin().to(dtype))


def rotate(x: Tensor, at: Rotation) -> Tensor:
    """[B, T, h, D]: turn the first half of each head against its second (Hugging Face's order; Meta's interleaves)."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * at.cos - b * at.sin, b * at.cos + a * at.sin], dim=-1)
