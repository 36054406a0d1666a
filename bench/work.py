"""How much work a step is at the least: the bytes that decoding moves and the operations that learning takes.

Counted for a Llama shape, as if every rollout were read on its own and padding cost nothing. Left out: norms, rotations,
the look-up of embeddings, the softmax, the optimiser. Light on purpose, as `configs.py` is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bench.configs import Config

ITEM_BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class Shape:
    """Of a decoder: `layers`, and the widths of its matrices."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    vocab: int

    @classmethod
    def of(cls, folder: Path) -> Shape:
        found = json.loads((folder / "config.json").read_text())
        heads, hidden = found["num_attention_heads"], found["hidden_size"]
        return cls(
            layers=found["num_hidden_layers"],
            hidden=hidden,
            heads=heads,
            kv_heads=found["num_key_value_heads"],
            head_dim=found.get("head_dim") or hidden // heads,
            ff=found["intermediate_size"],
            vocab=found["vocab_size"],
        )

    @property
    def trunk(self) -> int:
        """Weights that every token is multiplied with."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.ff)

    @property
    def head(self) -> int:
        """Weights that only those tokens meet whose successor is predicted."""
        return self.hidden * self.vocab

    @property
    def attended(self) -> int:
        """Operations of attention for one query on one key, all heads and layers: a product and a sum, twice."""
        return 4 * self.layers * self.heads * self.head_dim


def decode_bytes(shape: Shape, config: Config, prompt_tokens: float) -> float:
    """Bytes read to decode all rollouts of a step together: the weights once a token, and all keys and values so far."""
    row = 2 * shape.layers * shape.kv_heads * shape.head_dim * _mean_length(config, prompt_tokens)
    return config.new_tokens * ITEM_BYTES[config.dtype] * (shape.trunk + shape.head + config.rollouts * row)


def decode_operations(shape: Shape, config: Config, prompt_tokens: float) -> float:
    """Operations to decode all rollouts of a step, once their prompts have been read."""
    dense = 2 * (shape.trunk + shape.head)
    return config.tokens * (dense + shape.attended * _mean_length(config, prompt_tokens))


def learn_operations(shape: Shape, config: Config, prompt_tokens: float) -> float:
    """Operations of one forward and one backward pass, which is twice a forward, over all rollouts of a step."""
    length = prompt_tokens + config.new_tokens
    dense = 2 * (shape.trunk * length + shape.head * config.new_tokens)
    causal = shape.attended * length**2 / 2
    return 3 * config.rollouts * (dense + causal)


def _mean_length(config: Config, prompt_tokens: float) -> float:
    return prompt_tokens + config.new_tokens / 2
