"""A decoder as a Hugging Face folder: config.json, model.safetensors, tokenizer.json and what stands around them.

What is read here is checked here: a file that is missing, broken or not ours to read is one clear line, never a
half-loaded model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from guerdon.core.errors import UserError
from guerdon.models.decoder import Decoder, DecoderConfig
from guerdon.models.tokenizer import ASSISTANT, END, PAD, SPECIALS, USER

ARCHITECTURE = "LlamaForCausalLM"
WEIGHTS = "model.safetensors"
OTHER_WEIGHTS = ("model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
SIZES = {  # our name: theirs
    "vocab": "vocab_size",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "ff": "intermediate_size",
    "max_positions": "max_position_embeddings",
    "norm_eps": "rms_norm_eps",
    "tied": "tie_word_embeddings",
    "head_width": "head_dim",
}
THEIR_DEFAULTS = {"max_positions": 2048, "norm_eps": 1e-6, "tied": False, "head_width": 0}  # of LlamaConfig
PLAIN = {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False}  # what else a llama may be is not supported

# `<|user|>` text `<|assistant|>` text `<|end|>`, as `lm.encode` writes it
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '" + USER + "' + message['content'] }}"
    "{% elif message['role'] == 'assistant' %}{{ '" + ASSISTANT + "' + message['content'] + '" + END + "' }}"
    "{% else %}{{ raise_exception('the roles are user and assistant') }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '" + ASSISTANT + "' }}{% endif %}"
)


def config_from(found: Mapping[str, Any], where: str = "config.json") -> DecoderConfig:
    """Read the dictionary of a config.json."""
    kinds = found.get("architectures") or [found.get("model_type")]
    if kinds[0] not in (ARCHITECTURE, "llama"):
        raise UserError(f"{where}: {kinds[0]} models are not supported; {ARCHITECTURE} is")
    rope = found.get("rope_parameters") or found.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise UserError(f"{where}: rope_type {kind!r} is not supported; 'default' is")
    for name, plain in PLAIN.items():
        if found.get(name, plain) != plain:
            raise UserError(f"{where}: {name} {found[name]!r} is not supported; {plain!r} is")
    own = {ours: found[theirs] for ours, theirs in SIZES.items() if found.get(theirs) is not None}
    own = {**THEIR_DEFAULTS, "kv_heads": own.get("heads"), **own}
    missing = [theirs for ours, theirs in SIZES.items() if own.get(ours) is None]
    if missing:
        raise UserError(f"{where} does not say {missing[0]}")
    made = DecoderConfig(rope_theta=float(rope.get("rope_theta", found.get("rope_theta", 10000.0))), **own)
    if made.heads % made.kv_heads or made.head_dim % 2:
        raise UserError(
            f"{where}: {made.heads} heads of width {made.head_dim} do not go with {made.kv_heads} key heads"
        )
    return made


def config_to(config: DecoderConfig, tokenizer: Tokenizer, dtype: torch.dtype) -> dict[str, Any]:
    """The dictionary of a config.json."""
    own = {theirs: getattr(config, ours) for ours, theirs in SIZES.items()}
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "llama",
        **own,
        "head_dim": config.head_dim,
        **PLAIN,
        "rope_theta": config.rope_theta,
        "rope_scaling": None,
        "torch_dtype": str(dtype).removeprefix("torch."),
        "bos_token_id": None,
        "eos_token_id": tokenizer.token_to_id(END),
        "pad_token_id": tokenizer.token_to_id(PAD),
    }


def read_config(folder: Path) -> DecoderConfig:
    path = _present(folder, "config.json")
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise UserError(f"{path} cannot be read: it is not a dictionary")
    return config_from(found, str(path))


def read_tokenizer(folder: Path, config: DecoderConfig) -> Tokenizer:
    path = _present(folder, "tokenizer.json")
    try:
        found = Tokenizer.from_str(path.read_text())
    except Exception as error:  # `tokenizers` has no narrower kind for a file it cannot parse
        raise UserError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    for special in SPECIALS:
        if found.token_to_id(special) is None:
            raise UserError(f"{path} has no token {special!r}, which marks the turns of a conversation here")
    if found.get_vocab_size() > config.vocab:
        raise UserError(f"{path} has {found.get_vocab_size()} tokens, the model only {config.vocab}: they do not fit")
    return found


def has_weights(folder: Path) -> bool:
    """Whether the folder brings weights; those in a form we do not read are refused rather than passed over."""
    if (folder / WEIGHTS).is_file():
        return True
    for name in OTHER_WEIGHTS:
        if (folder / name).is_file():
            raise UserError(f"{folder / name} is not supported: save the weights as one {WEIGHTS}")
    return False


def load_weights(net: Decoder, folder: Path) -> None:
    """Fill a net from model.safetensors, whatever float type it is stored in; every tensor must be there and fit."""
    path = _present(folder, WEIGHTS)
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    wanted = net.state_dict()
    for name, tensor in wanted.items():
        if name not in found:
            raise UserError(f"{path} has no tensor {name}")
        if found[name].shape != tensor.shape:
            raise UserError(f"{path}: {name} is {_shape(found[name])}, config.json asks for {_shape(tensor)}")
    spare = {"lm_head.weight"} if net.config.tied else set()  # some write the tied matrix twice
    extra = [n for n in found if n not in wanted and n not in spare and not n.endswith("rotary_emb.inv_freq")]
    if extra:
        raise UserError(f"{path} has a tensor that config.json knows nothing of: {extra[0]}")
    net.load_state_dict({name: found[name] for name in wanted})


def write(folder: Path, net: Decoder, tokenizer: Tokenizer) -> None:
    """A folder that `transformers` loads, chat format and all."""
    folder.mkdir(parents=True, exist_ok=True)
    end, pad = tokenizer.token_to_id(END), tokenizer.token_to_id(PAD)
    specials = {"eos_token": END, "pad_token": PAD, "additional_special_tokens": [USER, ASSISTANT]}
    texts = {
        "config.json": config_to(net.config, tokenizer, net.dtype),
        "generation_config.json": {"eos_token_id": end, "pad_token_id": pad},
        "special_tokens_map.json": specials,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": net.config.max_positions,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
            **specials,
        },
    }
    for name, content in texts.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n")
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=True) + "\n")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def _present(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise UserError(f"{folder} holds no language model: there is no {name} in it")
    return folder / name


def _shape(tensor: Tensor) -> str:
    return "x".join(map(str, tensor.shape))
