"""What is compared: one row a configuration, the same for both arms. And the settings of the optimiser, which never change.

Light on purpose: the parent process reads this table and must not import torch (see `grpo_step.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEARNING_RATE = 1e-5  # constant
GRADIENT_CLIP = 1.0
RATIO_CLIP = 0.2
SEED = 1
COUNTDOWN = "countdown:8"  # the problems shown to sprig: 18 to 25 tokens, 22 on average
LLAMA_135M = {  # the shape of SmolLM-135M, with random weights: a speed needs no knowledge
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "intermediate_size": 1536,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
}
SHAPES = {  # of sprig-2, SmolLM-135M, Llama-3.2-1B and Llama-3.1-8B
    "6M": {
        "hidden_size": 256, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4,
        "intermediate_size": 704, "vocab_size": 1024, "max_position_embeddings": 1024,
    },
    "135M": LLAMA_135M,
    "1B": {
        "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 8192, "vocab_size": 128256, "max_position_embeddings": 8192,
    },
    "8B": {
        "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": False,
    },
}  # fmt: skip
SIZES = {"llama-135m": "135M", "llama-1b": "1B"}  # of the models with random weights


@dataclass(frozen=True)
class Config:
    """A step of `prompts` x `tries` rollouts of exactly `new_tokens` tokens, then one update on all of them.

    `prompt_tokens` is the exact length of made-up prompts; 0 takes problems of the countdown family. `trl_rows` is how
    many rollouts TRL's learner takes a forward pass (0: all); the whole batch is one update in any case.
    """

    model: Literal["sprig", "llama-135m", "llama-1b"]
    device: Literal["cpu", "cuda"]
    dtype: Literal["float32", "bfloat16"]
    prompts: int
    tries: int
    prompt_tokens: int
    new_tokens: int
    trl_rows: int = 0

    @property
    def rollouts(self) -> int:
        return self.prompts * self.tries

    @property
    def tokens(self) -> int:
        """Generated tokens of a step."""
        return self.rollouts * self.new_tokens


# fmt: off
CONFIGS = {
    #                     model         device  dtype       prompts tries prompt new
    "tiny":       Config("sprig",      "cpu",  "float32",   2,     4,    0,     8),
    "cpu":        Config("sprig",      "cpu",  "float32",  16,     8,    0,    64),
    "cpu-bf16":   Config("sprig",      "cpu",  "bfloat16", 16,     8,    0,    64),  # for processors that have such products
    "gpu-sprig":  Config("sprig",      "cuda", "bfloat16", 64,     8,    0,    64),
    "gpu-short":  Config("llama-135m", "cuda", "bfloat16", 32,     8,   64,   128),
    "gpu-long":   Config("llama-135m", "cuda", "bfloat16", 32,     8,   64,  1024, trl_rows=64),
    "gpu-1b":     Config("llama-1b",   "cuda", "bfloat16", 32,     8,   64,   256, trl_rows=32),
    "gpu-1b-long": Config("llama-1b",  "cuda", "bfloat16", 16,     8,   64,  2048, trl_rows=4),
}
# fmt: on
