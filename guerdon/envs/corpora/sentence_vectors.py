"""Ranking by meaning: texts as vectors of a sentence encoder, and two rankings made one.

Leaves out: approximate search (every document is compared, which is quick up to some hundred thousand) and training encoders.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from guerdon.core.errors import UserError, require_extra

Encode = Callable[[list[str]], Any]
AT_ONCE = 64  # texts that are encoded together
LONGEST = 256  # tokens of a text that are read
FUSED = 60  # the constant of reciprocal rank fusion, as its authors have it
LOOKED_AT = 100  # of each ranking, where two are made one


class VectorIndex:
    """Documents as unit vectors. A query's score is its cosine with them.

    >>> index = VectorIndex(["a", "bbb"], lambda texts: [[len(text), 1.0] for text in texts])
    >>> [number for number, _ in index.best("cccc", 2)]
    [1, 0]
    """

    def __init__(self, texts: Sequence[str], encode: Encode) -> None:
        self.encode = encode
        parts = [self._unit(list(texts[at : at + AT_ONCE])) for at in range(0, len(texts), AT_ONCE)]
        self.vectors = np.concatenate(parts)
        self.vectors.flags.writeable = False

    def _unit(self, texts: list[str]) -> np.ndarray:
        rows = np.asarray(self.encode(texts), np.float32)
        if rows.ndim != 2 or len(rows) != len(texts):
            raise UserError(f"an encoder gives a row of numbers for each text, not {rows.shape} for {len(texts)} texts")
        unit: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return unit

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        score = self.vectors @ self._unit([query])[0]
        order = np.argsort(-score, kind="stable")[:k]
        return [(int(number), float(score[number])) for number in order]


def fused(rankings: Sequence[Sequence[int]], k: int) -> list[tuple[int, float]]:
    r"""Reciprocal rank fusion, $\sum_r 1 / (60 + \text{rank}_r(d))$ (Cormack, Clarke & Büttcher, SIGIR 2009); equal ones in
    the order of their numbers.

    >>> [number for number, _ in fused([[7, 3, 5], [3, 5]], 2)]
    [3, 5]
    """
    score: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, start=1):
            score[number] = score.get(number, 0.0) + 1 / (FUSED + rank)
    return sorted(score.items(), key=lambda item: (-item[1], item[0]))[:k]


def encoder_of(given: Any) -> Encode:
    """A function as it is; the name or folder of a sentence encoder as one: the mean of its last states over the tokens."""
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not isinstance(given, str):
        raise UserError(f"an encoder is a function of texts, or the name or folder of a model, not {given!r}")
    if importlib.util.find_spec("transformers") is None:
        raise require_extra("transformers", "hub")
    import torch
    from transformers import AutoModel, AutoTokenizer

    try:
        model, tokenizer = AutoModel.from_pretrained(given).eval(), AutoTokenizer.from_pretrained(given)
    except (OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UserError(f"cannot read the encoder {given}: {first}") from error

    def encode(texts: list[str]) -> np.ndarray:
        with torch.inference_mode():
            said = tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
            states = model(**said).last_hidden_state.float()
            there = said["attention_mask"].unsqueeze(-1).float()
            mean: np.ndarray = ((states * there).sum(1) / there.sum(1)).numpy()
        return mean

    return encode
