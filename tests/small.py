"""Small models for tests: language models in folders, and tables."""

from __future__ import annotations

import torch

from guerdon.models import huggingface
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular
from guerdon.models.tokenizer import train_tokenizer

TEXTS = [
    "the sum of 12 and 345 is 357\nso the answer is 357",
    "sort the list [3, 1, 2]: first 1 then 2 then 3",
    "x + 4 = 9",
]


def small_config(**changes):
    return DecoderConfig(**{"vocab": 320, "hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ff": 48, **changes})


def small_lm(folder, seed=0, std=0.3, weights=True, **changes):
    """An lm whose weights are large enough that its choices differ."""
    config = small_config(**changes)
    huggingface.write(folder, Decoder(config).reset(seed, std), train_tokenizer(TEXTS, 320))
    if not weights:
        (folder / huggingface.WEIGHTS).unlink()
    return lm(source=str(folder))


def table(*odds):
    """A model that chooses 0 and 1 with these odds, whatever it was shown."""
    made = tabular(vocab="01", length=2)
    made.start(0, {})
    with torch.no_grad():
        made.net.logits.copy_(torch.tensor(odds, dtype=torch.float32).log().expand_as(made.net.logits))
    return made
