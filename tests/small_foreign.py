"""Small random models of other architectures in folders, as `transformers` writes them, for tests."""

from __future__ import annotations

import importlib

import pytest
import torch
from small import TEXTS

from guerdon.models import huggingface
from guerdon.models.chat import Chat
from guerdon.models.tokenizer import train_tokenizer

transformers = pytest.importorskip("transformers")
importlib.import_module(
    "transformers.models.llama.modeling_llama"
)  # three seconds, spent once, before tests are forked

SIZES = {"vocab_size": 320, "initializer_range": 0.3, "hidden_size": 32, "num_hidden_layers": 2}
HEADS = {**SIZES, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 256}
SHAPES = {  # by what is different about them
    "gpt_neox": HEADS,
    "gpt2": {"vocab_size": 320, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.3},
    "phi": HEADS,  # a head with a bias
    "granite": {**HEADS, "num_key_value_heads": 2, "logits_scaling": 2.0},  # divides its logits
    "mamba": {**SIZES, "state_size": 8},  # no keys and values, and no limit of its context
    "rwkv": {**SIZES, "attention_hidden_size": 32, "context_length": 256},  # cannot pad in front
}


def made(folder, kind, seed=0, **changes):
    """A small random model in a folder, as `transformers` writes it."""
    config = transformers.AutoConfig.for_model(
        kind, **{**SHAPES[kind], "bos_token_id": 1, "eos_token_id": 3, "pad_token_id": 0, **changes}
    )
    torch.manual_seed(seed)
    net = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weight in net.parameters():
            if weight.ndim == 1:  # biases begin at zero, where they cannot be seen
                weight += 0.2 * torch.randn(weight.shape)
    net.save_pretrained(folder)
    huggingface.write_chat(folder, Chat(train_tokenizer(TEXTS, 320), huggingface.OWN), 256)
    return str(folder)
