"""A trained model as other libraries take it: a language model, its adapter alone, or a scorer, in a folder of its own.

A scorer is what `transformers` calls a sequence classifier: the model without its word head, and a linear `score` on the last
token's hidden state. Our head's bias has no place there, a hidden layer has none either.
Leaves out: what a run is (`results/exporting.py`), the files of a language model (`huggingface.py`, `foreign_files.py`).
"""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import label
from guerdon.models import foreign_files, huggingface, lora, lora_files
from guerdon.models.architectures import ARCHITECTURES, config_to
from guerdon.models.chat import Chat
from guerdon.models.foreign_model import foreign
from guerdon.models.language_model import lm
from guerdon.models.names import to_hub
from guerdon.models.plain_files import read_object
from guerdon.models.text import TextModel
from guerdon.models.value_head import ValueHead, head_of

LABEL = "score"  # what a scorer's number is called in its config.json


class Exported(NamedTuple):
    """What was written: as which class it is loaded, how many weights it has, and what to know about it."""

    architecture: str
    parameters: int
    notes: tuple[str, ...] = ()


def as_stored(model: Model, folder: Path) -> TextModel:
    """A language model ready to be written, its weights in the type they have in `folder`; any other is refused."""
    if not isinstance(model, lm | foreign):
        raise UserError(f"a {label(model)} model is not a language model, so transformers cannot load it")
    fields = read_object(folder / "model.json").get("base") or read_object(Path(model.source) / "config.json")
    stored = fields.get("torch_dtype") or fields.get("dtype")  # what older and newer files call it
    model.on = "cpu"
    if stored in ("float32", "bfloat16"):
        model.dtype = stored
    model.start(0, {})
    return model


def export_language_model(model: TextModel, folder: Path) -> Exported:
    """As AutoModelForCausalLM loads it, an adapter merged in."""
    if isinstance(model, lm):
        huggingface.write(folder, model.decoder, model.tokenizer, model.chat.format)
        return Exported(ARCHITECTURES[model.config.family].architecture, model.parameters, _without_head(model))
    foreign_files.write(folder, model.weights, model.chat)
    return Exported(type(model.weights).__name__, model.parameters, _without_head(model))


def _without_head(model: TextModel) -> tuple[str, ...]:
    return () if head_of(model.weights) is None else ("its value head is not exported: it is not needed for text",)


def export_adapter(model: TextModel, folder: Path, base: str) -> Exported:
    """As peft loads it over the model called `base`, with the tokenizer beside it."""
    if not isinstance(model, lm) or not model.decoder.has_adapter:
        raise UserError("the model has no adapter, all of its weights were trained: remove --adapter")
    if head_of(model.decoder) is not None:
        raise UserError("a scorer's head is no part of its adapter: remove --adapter to merge it")
    lora_files.write(folder, model.decoder, base)
    huggingface.write_chat(folder, model.chat, model.max_positions)
    return Exported(
        "PeftModel", sum(change.A.numel() + change.B.numel() for _, _, change in lora.changes(model.decoder))
    )


def export_scorer(model: TextModel, folder: Path) -> Exported:
    """As AutoModelForSequenceClassification loads it."""
    head = head_of(model.weights)
    assert head is not None, "a scorer has a head"
    if head.form[1]:
        raise UserError(
            "the head has a hidden layer, which no sequence classifier of transformers has: train one without (head.width=0)"
        )
    chat, notes = _padded(model.chat)
    bias = [round(x, 6) for x in head.bias.detach().reshape(-1).tolist()]
    if any(bias):
        shift = ", ".join(f"{x:g}" for x in bias)
        notes += (
            f"its scores are lower there by the head's bias, {shift}, for which transformers has no place: add it",
        )
    write = _write_own if isinstance(model, lm) else _write_foreign
    return Exported(write(folder, model, head, chat), model.parameters, notes)


def _padded(chat: Chat) -> tuple[Chat, tuple[str, ...]]:
    """With a padding token that ends no turn: a sequence classifier reads its score at the last token that is none."""
    pad = chat.format.names.get("pad_token")
    if pad is not None and chat.tokenizer.token_to_id(pad) not in chat.ends:
        return chat, ()
    free = [text for text, number in chat.special.items() if number not in chat.ends]
    if not free:
        names = {key: text for key, text in chat.format.names.items() if key != "pad_token"}
        own = dataclasses.replace(chat.format, names=names)
        return Chat(chat.tokenizer, own), ("it has no token to pad with, so transformers scores one text at a time",)
    return Chat(chat.tokenizer, dataclasses.replace(chat.format, names={**chat.format.names, "pad_token": free[0]})), ()


def _score(head: ValueHead, like: Tensor) -> Tensor:
    """[O, E] the matrix of a linear head."""
    weight = head.weight.detach()
    return (weight[None] if weight.dim() == 1 else weight).to("cpu", like.dtype).contiguous()


def _labels(head: ValueHead) -> dict[str, Any]:
    names = [LABEL] if head.form[0] == 1 else [f"{LABEL}_{n}" for n in range(head.form[0])]
    return {"id2label": dict(enumerate(names)), "label2id": {name: n for n, name in enumerate(names)}}


def _write_own(folder: Path, model: Any, head: ValueHead, chat: Chat) -> str:
    net = model.decoder
    architecture = _classifier(ARCHITECTURES[net.config.family])
    numbers = huggingface.write_chat(folder, chat, model.max_positions)
    fields = {**config_to(net.config, net.dtype), "bos_token_id": None, "pad_token_id": None, **numbers}
    huggingface.write_json(folder / "config.json", fields | {"architectures": [architecture]} | _labels(head))
    tensors = {name: tensor for name, tensor in to_hub(net).items() if name != "lm_head.weight"}
    huggingface.write_tensors(folder, tensors | {"score.weight": _score(head, net.embed)})
    return architecture


def _classifier(family: Any) -> str:
    """What transformers calls the sequence classifier of a family."""
    stem = "Gemma3Text" if family.model_type == "gemma3_text" else family.architecture.removesuffix("ForCausalLM")
    return f"{stem}ForSequenceClassification"


def _write_foreign(folder: Path, model: Any, head: ValueHead, chat: Chat) -> str:
    """Through transformers, which has such a class for some architectures."""
    net = model.weights
    transformers = foreign_files.library(type(net).__name__)
    known = importlib.import_module(
        "transformers.models.auto.modeling_auto"
    ).MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES
    config = type(net.config).from_dict({**net.config.to_dict(), **_labels(head)})
    pad = chat.format.names.get("pad_token")
    config.pad_token_id = None if pad is None else chat.tokenizer.token_to_id(pad)
    scorer = None
    if config.model_type in known:
        scorer = transformers.AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    if scorer is None or getattr(getattr(scorer, LABEL, None), "bias", 0) is not None:
        raise UserError(
            f"transformers {transformers.__version__} has no sequence classifier for {config.model_type}: a scorer of this kind"
            " stays with guerdon, where the run's folder is its name"
        )
    scorer.to(next(net.parameters()).dtype)
    scorer.base_model.load_state_dict(net.base_model.state_dict())
    scorer.score.weight.data.copy_(_score(head, scorer.score.weight))
    foreign_files.write(folder, scorer, chat)
    return type(scorer).__name__
