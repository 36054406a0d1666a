"""Small GGUF files as llama.cpp's converter writes them, for tests."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from small import small_config
from tokenizers import Tokenizer, pre_tokenizers, trainers
from tokenizers import models as kinds

from guerdon.models.config import Rope
from guerdon.models.decoder import Decoder
from guerdon.models.gguf import GEMMA_PARTS, PARTS, WHOLE
from guerdon.models.names import to_hub

gguf = pytest.importorskip("gguf")

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def net_of(**shape):
    net = Decoder(small_config(**{"head_width": 8, **shape})).reset(3, 0.2)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in net.parameters():
            if weight.ndim == 1:
                weight += 0.2 * torch.randn(weight.shape, generator=generator)
    return net


def byte_level(texts=("user\nhello there 123", "it's  the 45 sum", "assistant\n")):
    made = Tokenizer(kinds.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts * 9, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    found = json.loads(made.to_str())["model"]
    return [*SPECIALS, *found["vocab"]], [" ".join(pair) for pair in found["merges"]]


def interleaved(values, heads):
    """As llama.cpp's converter turns the rows of a llama's queries and keys."""
    return values.reshape(heads, 2, len(values) // heads // 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def write(path, net, pre="smollm", quantise=None, drop=(), **more):
    """A file as llama.cpp's converter writes it. Keys of `more` are written as they are, None leaves one out."""
    c = net.config
    file = gguf.GGUFWriter(path, c.family)
    file.add_context_length(c.max_positions)
    file.add_embedding_length(c.hidden)
    file.add_block_count(c.layers)
    file.add_feed_forward_length(c.ff)
    file.add_head_count(c.heads)
    file.add_head_count_kv(c.kv_heads)
    file.add_key_length(c.head_dim)
    file.add_value_length(c.head_dim)
    file.add_layer_norm_rms_eps(c.norm_eps)
    file.add_rope_freq_base(c.rope.theta)
    if c.window:
        file.add_sliding_window(c.window)
    if c.rope.kind in ("linear", "yarn"):
        file.add_rope_scaling_type(gguf.RopeScalingType(c.rope.kind))
        file.add_rope_scaling_factor(c.rope.factor)
    if c.rope.kind == "yarn":
        file.add_rope_scaling_orig_ctx_len(c.rope.original)
    if c.rope.kind == "llama3":
        factors = Rope(c.rope.theta).frequencies(c.head_dim) / c.rope.frequencies(c.head_dim)
        file.add_tensor("rope_freqs.weight", factors.numpy())
    tokens, merges = byte_level()
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre(pre)
    file.add_token_list(tokens)
    file.add_token_types([3] * len(SPECIALS) + [1] * (len(tokens) - len(SPECIALS)))
    file.add_token_merges(merges)
    file.add_eos_token_id(2)
    file.add_bos_token_id(1)
    file.add_chat_template(TEMPLATE)
    for key, value in more.items():
        (file.add_uint32 if isinstance(value, int) else file.add_string)(key, value)
    for name, tensor in stored(net).items():
        if name not in drop:
            big = quantise is not None and tensor.ndim == 2
            file.add_tensor(
                name, gguf.quants.quantize(tensor, quantise) if big else tensor, raw_dtype=quantise if big else None
            )
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return str(path)


def stored(net):
    c = net.config
    names = GEMMA_PARTS if c.family == "gemma3" else PARTS
    found = {}
    for name, tensor in to_hub(net).items():
        values = tensor.numpy()
        if name in WHOLE:
            key = WHOLE[name]
        else:
            number, part = name.removeprefix("model.layers.").split(".", 1)
            base, kind = part.rsplit(".", 1)
            key = f"blk.{number}.{names[base]}.{kind}"
        if c.family == "llama" and ("attn_q." in key or "attn_k." in key):
            values = interleaved(values, c.heads if "attn_q." in key else c.kv_heads)
        if c.family == "gemma3" and key.endswith("norm.weight"):
            values = values + 1
        found[key] = np.ascontiguousarray(values)
    return found
