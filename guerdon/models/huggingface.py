"""A language model as a Hugging Face folder: config.json, safetensors, tokenizer.json and what stands around them.

What is read here is checked here: a file that is missing, broken or not ours to read is one clear line,
never a half-loaded model.
Leaves out: what config.json means (`architectures.py`), what the text files mean (`chat.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer
from torch import Tensor

from guerdon.core.errors import UserError
from guerdon.core.shown_text import cut
from guerdon.models.architectures import architecture_of, config_from, config_to
from guerdon.models.chat import Chat, Format
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder
from guerdon.models.names import hub_shapes, to_hub
from guerdon.models.plain_files import INDEX, TOKENIZER, WEIGHTS, is_there, read_object, read_text, understanding
from guerdon.models.tokenizer import ASSISTANT, END, PAD, USER

SHARD = 5 * 10**9  # bytes of one file of weights, as the hub and transformers have it
OTHER_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
MENDS = {  # what to do about a file that is often missing
    "tokenizer.json": "; transformers makes it: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
}
FLOATS = ("F64", "F32", "F16", "BF16")
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

# `<|user|>` text `<|assistant|>` text `<|end|>`: the format of models that are trained from nothing here
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '" + USER + "' + message['content'] }}"
    "{% elif message['role'] == 'assistant' %}{{ '" + ASSISTANT + "' + message['content'] + '" + END + "' }}"
    "{% else %}{{ raise_exception('the roles are user and assistant') }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '" + ASSISTANT + "' }}{% endif %}"
)
OWN = Format(CHAT_TEMPLATE, {"eos_token": END, "pad_token": PAD}, extra=(USER, ASSISTANT))


# --- reading ----------------------------------------------------------------------------------------------------------


def read_config(folder: Path) -> DecoderConfig:
    path = _present(folder, "config.json")
    with understanding(path):
        return config_from(read_object(path), str(path))


def architecture(folder: Path) -> str:
    """The model's architecture in config.json."""
    path = _present(folder, "config.json")
    return architecture_of(read_object(path), str(path))


def read_tokenizer(path: Path) -> Tokenizer:
    """What a tokenizer.json describes."""
    try:
        return Tokenizer.from_str(read_text(path, TOKENIZER))
    except UserError:
        raise
    except BaseException as error:  # `tokenizers` has no narrower kind for a file it cannot parse, and panics at some
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise UserError(f"{path} cannot be read: {cut((str(error).splitlines() or ['it is broken'])[0])}") from error


def read_chat(folder: Path, vocab: int) -> Chat:
    """The tokenizer, the chat template and the tokens that end a turn. `vocab` is how many tokens the model has."""
    path = _present(folder, "tokenizer.json")
    tokenizer = read_tokenizer(path)
    size = max(tokenizer.get_vocab_size(), 1 + max(tokenizer.get_vocab().values(), default=-1))
    if size > vocab:
        raise UserError(
            f"{path} has {size} tokens, the model only {vocab}: they do not fit;"
            " take the tokenizer.json that came with the model"
        )
    fields = {**_if_present(folder / "special_tokens_map.json"), **_if_present(folder / "tokenizer_config.json")}
    names = {key: text for key in NAMED if (text := _text(fields.get(key))) and tokenizer.token_to_id(text) is not None}
    extra = fields.get("additional_special_tokens") or fields.get("extra_special_tokens") or []
    if not isinstance(extra, list | dict):
        raise UserError(f"{folder / 'tokenizer_config.json'}: additional_special_tokens must be a list, not {extra!r}")
    extra = [_text(item) for item in (extra.values() if isinstance(extra, dict) else extra)]
    known = tuple(text for text in extra if text and tokenizer.token_to_id(text) is not None)
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in (*names.values(), *known)])
    ends = _ends(folder, tokenizer, names)
    for number in ends:
        if number < 0 or tokenizer.id_to_token(number) is None:
            raise UserError(
                f"{folder}: the text ends with token {number}, which its tokenizer.json does not have;"
                " correct eos_token_id in generation_config.json"
            )
    with understanding(path):
        starts = fields.get("add_bos_token")
        if starts is None and "bos_token" in names:
            starts = tokenizer.encode("a").ids[:1] == [tokenizer.token_to_id(names["bos_token"])]
        template = _template(folder, fields)
        return Chat(tokenizer, Format(template, names, known, ends, bool(starts) and "bos_token" in names))


def _ends(folder: Path, tokenizer: Tokenizer, names: Mapping[str, str]) -> tuple[int, ...]:
    for name in ("generation_config.json", "config.json"):
        value = _if_present(folder / name).get("eos_token_id")
        if value is not None:
            numbers = value if isinstance(value, list) else [value]
            if not all(isinstance(n, int) and abs(n) < 2**31 for n in numbers):
                raise UserError(f"{folder / name}: eos_token_id must be a number or a list of them, not {value!r}")
            return tuple(numbers)
    end = tokenizer.token_to_id(names["eos_token"]) if "eos_token" in names else None
    return () if end is None else (end,)


def _template(folder: Path, fields: Mapping[str, Any]) -> str | None:
    """In a file of its own or in tokenizer_config.json, where there may be several by name."""
    path = folder / "chat_template.jinja"
    template = read_text(path) if is_there(path) else fields.get("chat_template")
    if isinstance(template, list) and all(
        isinstance(item, dict) and {"name", "template"} <= set(item) for item in template
    ):
        template = {str(item["name"]): item["template"] for item in template}.get("default")
    if template is not None and not isinstance(template, str):
        raise UserError(
            f"{folder / 'tokenizer_config.json'}: chat_template must be text, not {type(template).__name__}"
        )
    return template


def has_weights(folder: Path) -> bool:
    """Whether the folder brings weights; those in a form we do not read are refused rather than passed over."""
    if is_there(folder / WEIGHTS) or is_there(folder / INDEX):
        return True
    for name in OTHER_WEIGHTS:
        if is_there(folder / name):
            raise UserError(f"{folder / name} is not supported: save the weights as one {WEIGHTS}")
    return False


def open_tensors(path: Path) -> Any:
    """A safetensors file whose header is in order; what is in it is read when it is asked for."""
    try:
        return safe_open(path, "pt")
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read, fetch it again: {cut(str(error).splitlines()[0])}") from error


class Stored(Mapping[str, Tensor]):
    """The tensors of one or several safetensors files, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / (WEIGHTS if is_there(folder / WEIGHTS) else INDEX)
        names = [WEIGHTS]
        if self.path.name == INDEX:
            named = read_object(self.path).get("weight_map")
            if not isinstance(named, dict) or not all(isinstance(n, str) and Path(n).name == n for n in named.values()):
                raise UserError(f"{self.path} cannot be read: its weight_map must name a file for each tensor")
            names = sorted(set(named.values()))
        self.files: dict[str, Any] = {}
        for name in names:
            path = _present(folder, name)
            opened = open_tensors(path)
            for tensor in opened.keys():  # noqa: SIM118
                if tensor in self.files:
                    raise UserError(f"{path} has the tensor {tensor}, which another file has too")
                self.files[tensor] = opened

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self.files[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    @property
    def numbers(self) -> int:
        """How many there are in all tensors together."""
        return sum(math.prod(opened.get_slice(name).get_shape()) for name, opened in self.files.items())

    @property
    def is_half(self) -> bool:
        """Whether all of them are bfloat16."""
        return all(opened.get_slice(name).get_dtype() == "BF16" for name, opened in self.files.items())

    def shape(self, name: str) -> tuple[int, ...]:
        piece = self.files[name].get_slice(name)
        if piece.get_dtype() not in FLOATS:
            raise UserError(f"{self.path}: {name} is stored as {piece.get_dtype()}; save the weights as bfloat16")
        return tuple(piece.get_shape())


def check_weights(stored: Stored, config: DecoderConfig) -> None:
    """Refuse weights that are not those of such a model: every tensor must be there and fit."""
    wanted = hub_shapes(config)
    for name, shape in wanted.items():
        if name not in stored:
            raise UserError(f"{stored.path} has no tensor {name}")
        if stored.shape(name) != shape:
            raise UserError(
                f"{stored.path}: {name} is {_shape(stored.shape(name))}, config.json asks for {_shape(shape)}"
            )
    spare = {"lm_head.weight"} if config.tied else set()  # some write the tied matrix twice
    extra = [n for n in stored if n not in wanted and n not in spare and not n.endswith("rotary_emb.inv_freq")]
    if extra:
        raise UserError(f"{stored.path} has a tensor that config.json does not describe: {extra[0]}")


def refuse_adapter(folder: Path) -> None:
    """A model that is to be changed by what lies beside it is another one than its weights alone."""
    if is_there(folder / "adapter_config.json"):
        raise UserError(
            f"{folder} holds an adapter beside its config.json: put it into a folder of its own, for lm.adapter, or merge it"
            " with peft (merge_and_unload)"
        )


# --- writing ----------------------------------------------------------------------------------------------------------


def write(folder: Path, net: Decoder, tokenizer: Tokenizer, format: Format = OWN) -> None:
    """A folder that `transformers` loads, chat format and all."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = write_chat(folder, Chat(tokenizer, format), net.config.max_positions)
    write_json(folder / "config.json", {**config_to(net.config, net.dtype), "bos_token_id": None, **numbers})
    write_tensors(folder, to_hub(net))


def write_tensors(folder: Path, tensors: Mapping[str, Tensor], most: int = SHARD) -> None:
    """Weights as one file, or as several of at most so many bytes with an index of which holds what."""
    shards: list[dict[str, Tensor]] = [{}]
    room = most
    for name, tensor in tensors.items():
        if shards[-1] and tensor.nbytes > room:
            shards.append({})
            room = most
        shards[-1][name] = tensor
        room -= tensor.nbytes
    names = [f"model-{n:05d}-of-{len(shards):05d}.safetensors" for n in range(1, len(shards) + 1)]
    for file, shard in zip(names if len(shards) > 1 else [WEIGHTS], shards, strict=True):
        save_file(shard, folder / file, metadata={"format": "pt"})
    if len(shards) > 1:
        total = sum(tensor.nbytes for tensor in tensors.values())
        places = {name: file for file, shard in zip(names, shards, strict=True) for name in shard}
        write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": places})


def write_chat(folder: Path, chat: Chat, max_positions: int | None, **generation: Any) -> dict[str, Any]:
    """All but config.json and the weights; `generation` is the rest of generation_config.json. Returns token ids."""
    tokenizer, format, ends = chat.tokenizer, chat.format, chat.ends
    numbers: dict[str, Any] = {"eos_token_id": ends[0] if len(ends) == 1 else list(ends)}
    for key in sorted({"bos_token", "pad_token"} & set(format.names)):
        numbers[f"{key}_id"] = tokenizer.token_to_id(format.names[key])
    specials = {**format.names, "additional_special_tokens": list(format.extra)}
    words = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **({"model_max_length": max_positions} if max_positions is not None else {}),
        "clean_up_tokenization_spaces": False,
        **({"chat_template": format.template} if format.template is not None else {}),
        **specials,
    }
    write_json(folder / "generation_config.json", {**generation, **numbers})
    write_json(folder / "special_tokens_map.json", specials)
    write_json(folder / "tokenizer_config.json", words)
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=True) + "\n", encoding="utf-8")
    return numbers


# --- files --------------------------------------------------------------------------------------------------------------


def _present(folder: Path, name: str) -> Path:
    if not is_there(folder / name):
        raise UserError(f"{folder} holds no language model: there is no {name} in it{MENDS.get(name, '')}")
    return folder / name


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def _if_present(path: Path) -> dict[str, Any]:
    return read_object(path) if is_there(path) else {}


def _text(value: Any) -> str | None:
    """A token is named by its text, or by a dictionary around it."""
    text = value.get("content") if isinstance(value, Mapping) else value
    return text if isinstance(text, str) else None


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
