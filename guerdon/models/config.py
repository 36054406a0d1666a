"""The shape of a decoder: everything in which Llama, Qwen 2, Qwen 3 and Gemma 3 differ, as plain values.

Leaves out: how the files of those families spell it (`architectures.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rope:
    """Rotary positions (arXiv:2104.09864) and the ways to stretch them beyond the length a model was trained at."""

    theta: float = 10000.0
    kind: Literal["default", "linear", "llama3", "yarn"] = "default"
    factor: float = 1.0  # how many times longer
    original: int = 0  # positions the model was first trained with
    low: float = 1.0  # llama3: rotations over `original` below which a frequency is divided; yarn: beta_slow
    high: float = 4.0  # llama3: rotations above which it is kept; yarn: beta_fast
    gain: float = 1.0  # yarn: what cosine and sine are multiplied with

    def frequencies(self, width: int) -> Tensor:
        """[D / 2] angle of one position, in float32 as Hugging Face computes it."""
        even = torch.arange(0, width, 2, dtype=torch.float32)
        plain = 1.0 / self.theta ** (even / width)
        if self.kind == "linear":
            return plain / self.factor
        if self.kind == "llama3":
            turns = self.original * plain / (2 * math.pi)
            smooth = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
            return (1 - smooth) * plain / self.factor + smooth * plain
        if self.kind == "yarn":
            ramp = self._yarn_ramp(width)
            return plain / self.factor * ramp + plain * (1 - ramp)
        return plain

    def _yarn_ramp(self, width: int) -> Tensor:
        """[D / 2] 0: turns often enough to be kept; 1: turns so slowly that it is divided (arXiv:2309.00071)."""

        def dimension(turns: float) -> float:
            return width * math.log(self.original / (turns * 2 * math.pi)) / (2 * math.log(self.theta))

        low = max(math.floor(dimension(self.high)), 0)
        high = min(math.ceil(dimension(self.low)), width - 1)
        return ((torch.arange(width // 2, dtype=torch.float32) - low) / max(high - low, 0.001)).clamp(0, 1)


@dataclass(frozen=True)
class DecoderConfig:
    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ff: int
    max_positions: int = 2048
    rope: Rope = Rope()
    norm_eps: float = 1e-5  # this and the two lines above: LlamaConfig's defaults, but for Llama 2's eps
    tied: bool = True  # one matrix reads tokens in and writes them out
    head_width: int = 0  # 0: hidden / heads
    family: str = "llama"  # whose file format it is written in
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False  # queries and keys are normalised head by head
    gate: Literal["silu", "gelu_tanh"] = "silu"
    after_norms: bool = False  # what attention and MLP give is normalised too, before it is added
    norm_plus_one: bool = False  # norms multiply by 1 + weight
    embed_scale: float = 1.0
    attention_scale: float = 0.0  # 0: 1 / sqrt(width of a head)
    window: int = 0  # tokens a windowed layer sees, itself included
    windowed: tuple[bool, ...] = ()  # which layers are; empty: none
    window_rope: Rope | None = None  # the positions of windowed layers, where they have their own

    @property
    def head_dim(self) -> int:
        return self.head_width or self.hidden // self.heads

    @property
    def scale(self) -> float:
        return self.attention_scale or self.head_dim**-0.5

    @property
    def kept_numbers(self) -> int:
        """Of each token, for the gradient: the stream and its norm twice a layer, queries, keys, values and what was seen,
        the gate's two inputs and its result."""
        attention = 2 * (self.heads + self.kv_heads) * self.head_dim
        return self.layers * (4 * self.hidden + attention + 3 * self.ff)

    def window_of(self, layer: int) -> int:
        """How many tokens a layer sees back; 0: all."""
        return self.window if self.windowed and self.windowed[layer] else 0

    def rope_of(self, layer: int) -> Rope:
        return self.window_rope if self.window_rope is not None and self.window_of(layer) else self.rope
