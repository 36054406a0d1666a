"""The token ids of a text, by a given tokenizer: for rewards that count tokens where no model sampled them.

Leaves out: what a model was shown and how its turn ends (`models/chat.py`). The ids are of the text alone, so a completion
that a run sampled to its end has one more, the token that ended it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from guerdon.core.errors import UserError, in_a_line
from guerdon.core.model import Model
from guerdon.core.part import label
from guerdon.models.hub_models import hub_folder, is_hub_id
from guerdon.models.huggingface import read_tokenizer
from guerdon.models.model_loading import load
from guerdon.models.model_names import place_of
from guerdon.models.plain_files import is_there
from guerdon.models.standin import behind
from guerdon.models.text import TextModel

Ids = Callable[[str], np.ndarray]
KINDS = (
    "a model's name or folder, a tokenizer.json, a language model, a tokenizer of `transformers` or `tokenizers`,"
    " or a function from a text to its ids"
)


def ids_by(tokenizer: str | Any) -> Ids:
    """What gives a text's token ids: a model's name or folder, a tokenizer.json, a model, a tokenizer, or a function.

    Of a folder its tokenizer.json alone is read, once. What looks like a special token in a text is plain characters.

    >>> from guerdon.rewards.asking.token_ids import ids_by
    >>> len(ids_by("sprig")("chain 5 -3 *4"))
    7
    >>> ids_by(lambda text: map(ord, text))("ab")
    array([97, 98])
    """
    if isinstance(tokenizer, str | Path):
        return _named(str(tokenizer))
    if isinstance(tokenizer, Model):
        return _of_model(tokenizer)
    if isinstance(tokenizer, Tokenizer):
        return _plain(tokenizer)
    for inner in ("backend_tokenizer", "tokenizer"):  # of a fast tokenizer; of a processor, for texts and pictures
        if getattr(tokenizer, inner, None) is not None:
            return ids_by(getattr(tokenizer, inner))
    if callable(getattr(tokenizer, "encode", None)):
        return lambda text: _array(tokenizer.encode, text, add_special_tokens=False)
    if callable(tokenizer):
        return lambda text: _array(tokenizer, text)
    raise UserError(f"a tokenizer is {KINDS}, not {tokenizer!r}")


def with_token_ids(samples: Sequence[Mapping[str, Any]], tokenizer: str | Any) -> list[dict[str, Any]]:
    """Samples with the `actions` that a run would know: the token ids of each completion, where none came with it.

    Args:
        samples: their fields by name.
        tokenizer: a name, a folder, a file, or a tokenizer.

    >>> import guerdon as gd
    >>> samples = gd.rewards.with_token_ids([{"completion": "4 5 6"}], "sprig")
    >>> gd.score_samples(gd.length(3, margin=4), samples).whole
    [0.5]
    """
    ids = ids_by(tokenizer)
    known = [sample if sample.get("actions") is not None else {"actions": ids(_said(sample))} for sample in samples]
    return [{**sample, **own} for sample, own in zip(samples, known, strict=True)]


def counts_tokens(leaf: Any) -> bool:
    """Whether a reward's leaf can not do without a sample's `actions`: it asks for nothing less, or measures in them."""
    return "actions" in leaf.wants.names and (
        "actions" not in leaf.wants.optional or getattr(leaf, "unit", "") == "actions"
    )


def _said(sample: Mapping[str, Any]) -> str:
    text = sample.get("completion")
    if not isinstance(text, str):
        raise UserError(f"a sample's completion is the text whose tokens are counted, not {text!r}")
    return text


@functools.lru_cache(maxsize=16)
def _named(name: str) -> Ids:
    place = hub_folder(name, weights=False) if is_hub_id(name) else place_of(name)
    path = place if place.suffix == ".json" else place / "tokenizer.json"
    if is_there(path):
        return _plain(read_tokenizer(path))
    return _of_model(load(name))  # a .gguf file; or nothing that exists, and then it reports that


def _of_model(model: Model) -> Ids:
    speaker = behind(model)
    if not isinstance(speaker, TextModel):
        raise UserError(f"a {label(speaker)} model has no tokenizer: name {KINDS}")
    return lambda text: np.array(speaker.chat.tokens(text), np.int64)


def _plain(tokenizer: Tokenizer) -> Ids:
    own = Tokenizer.from_str(tokenizer.to_str())  # it may be set to cut, pad or parse special tokens
    own.no_truncation()
    own.no_padding()
    own.encode_special_tokens = True
    return lambda text: _array(lambda text: own.encode(text, add_special_tokens=False).ids, text)


def _array(encode: Callable[..., Any], text: str, **how: Any) -> np.ndarray:
    try:
        ids = np.array(list(encode(text, **how)), np.int64)
    except Exception as error:  # a user's tokenizer may raise anything
        raise UserError(f"the tokenizer cannot read {text[:40]!a}: {in_a_line(error)}") from error
    if ids.ndim != 1:
        raise UserError(f"the tokenizer gave an array of shape {ids.shape} for a text, not a list of ids")
    return ids
